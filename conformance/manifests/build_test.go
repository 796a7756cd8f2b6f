package manifests_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// deployment is where the manifests are.
const deployment = "../../deploy/k8s"

// built is what kustomize makes of one kustomization.
type built struct {
	name    string
	text    []byte // YAML, documents apart
	objects []object
}

// object is one of them, as far as all have it in common.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`

	text []byte
}

func (o object) String() string { return o.Kind + " " + o.Metadata.Name }

// into reads the object as what it is.
func (o object) into(t *testing.T, v any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(o.text, v); err != nil {
		t.Fatalf("%s: %v", o, err)
	}
}

// read reads those of its fields that v has.
func (o object) read(t *testing.T, v any) {
	t.Helper()
	if err := yaml.Unmarshal(o.text, v); err != nil {
		t.Fatalf("%s: %v", o, err)
	}
}

// pick returns those of a kind.
func (b built) pick(kind string) []object {
	return slices.DeleteFunc(slices.Clone(b.objects), func(o object) bool { return o.Kind != kind })
}

// find returns the one of a kind with a name; generated names have a digest after it.
func (b built) find(t *testing.T, kind, name string) object {
	t.Helper()
	for _, o := range b.pick(kind) {
		if o.Metadata.Name == name || strings.HasPrefix(o.Metadata.Name, name+"-") && kind == "ConfigMap" {
			return o
		}
	}
	t.Fatalf("%s: there is no %s %s", b.name, kind, name)
	return object{}
}

// build runs kustomize as `kubectl apply -k` does: no file from outside of a
// kustomization's folder.
func build(t *testing.T, name, dir string) built {
	t.Helper()
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	b := built{name: name}
	if b.text, err = result.AsYaml(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, r := range result.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o := object{text: text}
		if err := yaml.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b.objects = append(b.objects, o)
	}
	return b
}

// everything names all that the pages tell an operator to build, and of which
// components besides: the base, the overlays, overlay ha with each component, and
// with all at once.
func everything(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"base": nil, "overlays/dev": nil, "overlays/ha": nil}
	dirs, err := filepath.Glob(filepath.Join(deployment, "components", "*", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var components []string
	for _, file := range dirs {
		name := filepath.Base(filepath.Dir(file))
		components = append(components, name)
		all["overlays/ha, "+name] = []string{name}
	}
	all["overlays/ha, everything"] = components
	return all
}

// overlay writes a kustomization as an adopter has it: what to build upon, and the
// components. It returns its folder.
func overlay(t *testing.T, base string, components []string) string {
	t.Helper()
	dir := t.TempDir()
	to := func(path string) string {
		absolute, err := filepath.Abs(filepath.Join(deployment, path))
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(dir, absolute)
		if err != nil {
			t.Fatal(err)
		}
		return relative
	}
	k := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{to(base)}}
	var paths []string
	for _, name := range components {
		paths = append(paths, to("components/"+name))
	}
	if len(paths) > 0 {
		k["components"] = paths
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checks is what holds for everything that is built.
var checks = map[string]func(t *testing.T, b built){
	"schemas":   fitsTheSchemas,
	"security":  isRestricted,
	"images":    hasNoFloatingImages,
	"selectors": selectsItsPods,
	"ports":     hasThePortsItNames,
	"wiring":    hasWhatItRefersTo,
	"probes":    probesAsPromised,
	"time":      givesTimeToStop,
	"memory":    boundsMemory,
	"proxies":   believesNobody,
}

func TestManifests(t *testing.T) {
	t.Parallel()
	for name, components := range everything(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, _, _ := strings.Cut(name, ", ")
			b := build(t, name, overlay(t, base, components))
			for what, check := range checks {
				t.Run(what, func(t *testing.T) { check(t, b) })
			}
		})
	}
}

// An adopter's namespace takes all along, the Namespace with its labels too.
func TestAnotherNamespaceTakesAllAlong(t *testing.T) {
	t.Parallel()
	dir := overlay(t, "overlays/ha", nil)
	file := filepath.Join(dir, "kustomization.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "namespace: elsewhere\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range build(t, "elsewhere", dir).objects {
		switch {
		case o.Kind == "PriorityClass":
		case o.Kind == "Namespace" && o.Metadata.Name == "elsewhere":
		case o.Metadata.Namespace != "elsewhere":
			t.Errorf("%s is in %q", o, o.Metadata.Namespace)
		}
	}
}
