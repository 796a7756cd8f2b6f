// Command schemas writes deploy/k8s/schemas: what Kubernetes and the operators
// that the components are for take, as JSON Schemas that know every field. They
// come from modules of the proxy, in the versions below:
//
//	cd conformance/manifests && go run ./schemas
//
// Descriptions are left out, and so are the kinds that deploy/k8s does not use.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const target = "../../deploy/k8s/schemas"

// kubernetes is where the API of Kubernetes is described, and builtin are the
// definitions of the kinds that are taken from it.
const kubernetes = "k8s.io/kubernetes@v1.35.4"

var builtin = []string{
	"io.k8s.api.core.v1.ConfigMap",
	"io.k8s.api.core.v1.Namespace",
	"io.k8s.api.core.v1.PersistentVolumeClaim",
	"io.k8s.api.core.v1.Secret",
	"io.k8s.api.core.v1.Service",
	"io.k8s.api.core.v1.ServiceAccount",
	"io.k8s.api.apps.v1.Deployment",
	"io.k8s.api.apps.v1.StatefulSet",
	"io.k8s.api.batch.v1.CronJob",
	"io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
	"io.k8s.api.networking.v1.Ingress",
	"io.k8s.api.networking.v1.NetworkPolicy",
	"io.k8s.api.policy.v1.PodDisruptionBudget",
	"io.k8s.api.scheduling.v1.PriorityClass",
}

// custom are files of CustomResourceDefinitions, by their modules.
var custom = map[string][]string{
	"sigs.k8s.io/gateway-api@v1.4.0": {
		"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
	},
	"github.com/envoyproxy/gateway@v1.6.0": {
		"charts/gateway-helm/crds/generated/gateway.envoyproxy.io_backendtrafficpolicies.yaml",
	},
	"github.com/prometheus-operator/prometheus-operator@v0.85.0": {
		"example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	},
	"github.com/kedacore/keda/v2@v2.18.0": {
		"config/crd/bases/keda.sh_scaledobjects.yaml",
	},
	"github.com/cert-manager/cert-manager@v1.18.2": {
		"deploy/crds/crd-certificates.yaml",
		"deploy/crds/crd-issuers.yaml",
	},
}

func main() {
	if err := run(); err != nil {
		slog.Error("schemas", "error", err)
		os.Exit(1)
	}
}

func run() error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	dir, err := module(kubernetes)
	if err != nil {
		return err
	}
	if err := fromSwagger(filepath.Join(dir, "api/openapi-spec/swagger.json")); err != nil {
		return err
	}
	for name, files := range custom {
		if dir, err = module(name); err != nil {
			return err
		}
		for _, file := range files {
			if err := fromDefinition(filepath.Join(dir, file)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// module returns the folder of a module, which is fetched if need be.
func module(name string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", name).Output()
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", name, err)
	}
	var m struct{ Dir string }
	return m.Dir, json.Unmarshal(out, &m)
}

// fromSwagger writes the built-in kinds, each with the definitions that it needs.
func fromSwagger(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var api struct{ Definitions map[string]map[string]any }
	if err := json.Unmarshal(text, &api); err != nil {
		return err
	}
	for _, name := range builtin {
		definition := api.Definitions[name]
		if definition == nil {
			return fmt.Errorf("%s has no %s", kubernetes, name)
		}
		used := map[string]any{}
		collect(api.Definitions, definition, used)
		root := strict(definition).(map[string]any)
		for n, d := range used {
			used[n] = strict(special(n, d))
		}
		root["definitions"] = used
		kinds := definition["x-kubernetes-group-version-kind"].([]any)[0].(map[string]any)
		if err := write(kinds["group"].(string), kinds["version"].(string), kinds["kind"].(string), root); err != nil {
			return err
		}
	}
	return nil
}

// special replaces the definitions of what is written in several ways.
func special(name string, definition any) any {
	switch name {
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return map[string]any{"type": []any{"string", "integer"}}
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return map[string]any{"type": []any{"string", "number"}}
	}
	return definition
}

// collect adds to used what a definition refers to.
func collect(all map[string]map[string]any, v any, used map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/definitions/")
			if used[name] == nil {
				used[name] = all[name]
				collect(all, all[name], used)
			}
		}
		for _, member := range v {
			collect(all, member, used)
		}
	case []any:
		for _, item := range v {
			collect(all, item, used)
		}
	}
}

// fromDefinition writes the newest version of a CustomResourceDefinition.
func fromDefinition(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name    string
				Storage bool
				Schema  struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return write(crd.Spec.Group, v.Name, crd.Spec.Names.Kind, strict(v.Schema.OpenAPIV3Schema).(map[string]any))
		}
	}
	return fmt.Errorf("%s stores no version", crd.Spec.Names.Kind)
}

// kept are the keywords that a check needs.
var kept = map[string]bool{
	"type": true, "properties": true, "additionalProperties": true, "items": true, "required": true, "$ref": true,
	"enum": true, "pattern": true, "minimum": true, "maximum": true, "minLength": true, "maxLength": true,
	"minItems": true, "maxItems": true, "maxProperties": true, "anyOf": true, "oneOf": true, "allOf": true, "not": true,
}

// strict leaves out what no check needs, and refuses fields that are not named.
func strict(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = strict(item)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for keyword, value := range v {
			switch {
			case keyword == "properties":
				out[keyword] = members(value.(map[string]any))
			case kept[keyword]:
				out[keyword] = strict(value)
			}
		}
		if v["x-kubernetes-int-or-string"] == true {
			delete(out, "anyOf")
			out["type"] = []any{"string", "integer"}
		}
		_, named := out["properties"]
		_, open := out["additionalProperties"]
		if named && !open && out["type"] == "object" && v["x-kubernetes-preserve-unknown-fields"] != true {
			out["additionalProperties"] = false
		}
		return out
	}
	return v
}

func members(properties map[string]any) map[string]any {
	out := map[string]any{}
	for name, schema := range properties {
		out[name] = strict(schema)
	}
	return out
}

// write names the file as kubeconform looks for it.
func write(group, version, kind string, schema map[string]any) error {
	properties := schema["properties"].(map[string]any)
	for member, value := range map[string]string{"apiVersion": strings.TrimPrefix(group+"/"+version, "/"), "kind": kind} {
		properties[member] = map[string]any{"type": "string", "enum": []any{value}}
	}
	schema["required"] = []any{"apiVersion", "kind", "metadata"}
	if _, described := properties["metadata"].(map[string]any)["$ref"]; !described {
		properties["metadata"] = map[string]any{"type": "object"} // a custom kind leaves it to Kubernetes
	}
	delete(properties, "status")
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	name := strings.ToLower(kind)
	if group != "" {
		first, _, _ := strings.Cut(group, ".")
		name += "-" + first
	}
	return os.WriteFile(filepath.Join(target, name+"-"+version+".json"), append(text, '\n'), 0o644)
}
