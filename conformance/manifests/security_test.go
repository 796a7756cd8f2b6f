package manifests_test

import (
	"os"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// isRestricted judges each pod as a namespace does that enforces the level
// restricted, and asks for what that level leaves open.
func isRestricted(t *testing.T, b built) {
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, w := range b.workloads(t) {
		for _, result := range judge.EvaluatePod(level, &w.pod.ObjectMeta, &w.pod.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", w, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		spec := w.pod.Spec
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("%s has a token for the API server", w)
		}
		if spec.ServiceAccountName == "" || spec.ServiceAccountName == "default" {
			t.Errorf("%s has no account of its own", w)
		}
		if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
			t.Errorf("%s gets a variable for each Service of the namespace", w)
		}
		if spec.SecurityContext == nil || spec.SecurityContext.RunAsUser == nil || *spec.SecurityContext.RunAsUser != 65532 {
			t.Errorf("%s does not run as 65532", w)
		}
		for _, c := range w.containers() {
			if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s: %s may write to its image", w, c.Name)
			}
		}
		for _, v := range spec.Volumes {
			secretsArePrivate(t, w, v)
			if v.EmptyDir != nil && v.EmptyDir.SizeLimit.IsZero() {
				t.Errorf("%s: volume %s has no limit", w, v.Name)
			}
		}
	}
	for _, o := range b.pick("ServiceAccount") {
		var account core.ServiceAccount
		o.into(t, &account)
		if account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
			t.Errorf("%s gives its pods a token", o)
		}
	}
	if secrets := b.pick("Secret"); len(secrets) > 0 {
		t.Errorf("secrets lie in the tree: %v", secrets)
	}
}

// secretsArePrivate holds the mode against what the program accepts: docs/nats.md.
func secretsArePrivate(t *testing.T, w workload, v core.Volume) {
	t.Helper()
	if v.Secret == nil {
		return
	}
	if mode := v.Secret.DefaultMode; mode == nil || *mode != 0o440 {
		t.Errorf("%s: secret volume %s is not 0440", w, v.Name)
	}
	if w.pod.Spec.SecurityContext.FSGroup == nil {
		t.Errorf("%s reads secret volume %s by a group that it does not have", w, v.Name)
	}
}

// hasNoFloatingImages refuses images that are another one tomorrow.
func hasNoFloatingImages(t *testing.T, b built) {
	for _, w := range b.workloads(t) {
		for _, c := range w.containers() {
			name, tag, tagged := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
			if name == "nats" && tag != natsVersion(t)+"-alpine" {
				t.Errorf("%s: %s is not of the version that the tests are of", w, c.Image)
			}
			if !tagged && !strings.Contains(c.Image, "@sha256:") || tag == "latest" {
				t.Errorf("%s: image %s of %s has no tag of its own", w, name, c.Name)
			}
		}
	}
}

// natsVersion is that of the server which the product embeds and is tested with.
func natsVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "github.com/nats-io/nats-server/v2 v")
	version, _, _ := strings.Cut(rest, "\n")
	return version
}
