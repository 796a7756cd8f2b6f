package manifests_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
)

// knowsEverySetting: the program refuses variables that it does not know, and values
// that are none.
func knowsEverySetting(t *testing.T, bin string) {
	for name, components := range everything(t) {
		base, _, _ := strings.Cut(name, ", ")
		b := build(t, name, overlay(t, base, components))
		for _, w := range b.workloads(t) {
			if !w.ours() {
				continue
			}
			show := exec.CommandContext(t.Context(), filepath.Join(bin, "api"), "--print-config")
			show.Env = environment(t, b, w.pod.Spec.Containers[0])
			out, err := show.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %s: %s", name, w, out)
			}
			if strings.Contains(string(out), "\nTIDINGS_ADMIN=127.") {
				t.Errorf("%s: %s: no probe reaches the admin port", name, w)
			}
		}
	}
}

// environment is what a container gets, without its secrets.
func environment(t *testing.T, b built, c core.Container) []string {
	t.Helper()
	var list []string
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			continue
		}
		var m core.ConfigMap
		b.find(t, "ConfigMap", "settings").into(t, &m)
		for name, value := range m.Data {
			list = append(list, name+"="+value)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			list = append(list, e.Name+"="+e.Value)
		}
	}
	return list
}
