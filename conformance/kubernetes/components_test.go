//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// components lets the API server judge what each component makes of the overlay:
// strictly, with what it sets and refuses itself, and without a warning, that of pod
// security among them. Kinds of operators are known by their stored schemas.
func components(t *testing.T) {
	kinds, err := operatorKinds("../../deploy/k8s/schemas")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryWith(kinds, "apply", "--server-side", "--filename", "-"); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "wait", "crd", "--selector", "tidings-rig=stub", "--for=condition=Established", "--timeout", time.Minute.String())
	dirs, err := filepath.Glob("../../deploy/k8s/components/*/kustomization.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, file := range dirs {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) { accepted(t, name) })
	}
}

// accepted holds the overlay with one component, and what that needs, against the
// API server, which keeps nothing of it.
func accepted(t *testing.T, name string) {
	with := []string{name}
	if name == "ingress-envoy" { // it treats the route of this one
		with = []string{"gateway", name}
	}
	dir := t.TempDir()
	to := func(path string) string {
		at, err := filepath.Abs(path)
		if err == nil {
			at, err = filepath.Rel(dir, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	k := map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": namespace,
		"resources": []string{to("overlay")},
	}
	var paths []string
	for _, c := range with {
		paths = append(paths, to("../../deploy/k8s/components/"+c))
	}
	k["components"] = paths
	text, err := json.Marshal(k)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := try("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "--kustomize", dir)
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(out, "serverside-applied (server dry run)") {
		t.Errorf("nothing was applied: %s", out)
	}
}

// operatorKinds makes a CustomResourceDefinition of each stored schema of a kind
// that Kubernetes does not have itself.
func operatorKinds(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return "", err
	}
	var list []any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		var s struct {
			Properties struct {
				APIVersion, Kind struct{ Enum []string }
			}
		}
		var schema map[string]any
		if err := json.Unmarshal(text, &s); err != nil {
			return "", err
		}
		if err := json.Unmarshal(text, &schema); err != nil {
			return "", err
		}
		apiVersion, kind := s.Properties.APIVersion.Enum, s.Properties.Kind.Enum
		if len(apiVersion) == 0 || len(kind) == 0 {
			continue
		}
		group, version, _ := strings.Cut(apiVersion[0], "/")
		if own := []string{"v1", "apps", "batch", "policy", "autoscaling", "networking.k8s.io", "scheduling.k8s.io"}; slices.Contains(own, group) {
			continue
		}
		list = append(list, definition(group, version, kind[0], schema))
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
	return string(text), err
}

func definition(group, version, kind string, schema map[string]any) any {
	singular := strings.ToLower(kind)
	plural := singular + "s"
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": plural + "." + group, "labels": map[string]string{"tidings-rig": "stub"},
			"annotations": map[string]string{"api-approved.kubernetes.io": "unapproved, for tests"},
		},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]string{"kind": kind, "singular": singular, "plural": plural},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": structural(schema)},
			}},
		},
	}
}

// structural is a schema as a definition may have it: each part has a type, or
// anything fits. That nothing else fits is what such definitions mean anyway.
func structural(schema map[string]any) map[string]any {
	if _, one := schema["type"].(string); !one {
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	}
	out := map[string]any{}
	for key, v := range schema {
		switch key {
		case "type", "enum", "pattern", "format", "required", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "default", "nullable":
			out[key] = v
		case "items":
			if of, ok := v.(map[string]any); ok {
				out[key] = structural(of)
			}
		case "additionalProperties":
			if of, ok := v.(map[string]any); ok {
				out[key] = structural(of)
			}
		case "properties":
			of := map[string]any{}
			for name, p := range v.(map[string]any) {
				of[name] = structural(p.(map[string]any))
			}
			out[key] = of
		}
	}
	if out["properties"] != nil {
		delete(out, "additionalProperties")
	}
	return out
}
