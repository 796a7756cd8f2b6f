package manifests_test

import (
	"slices"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	budget "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// matched returns the pods that a selector picks.
func matched(t *testing.T, b built, s *meta.LabelSelector) []workload {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(b.workloads(t), func(w workload) bool { return !selector.Matches(labels.Set(w.pod.Labels)) })
}

// selectsItsPods: what selects pods by labels picks those that it means, and no
// others.
func selectsItsPods(t *testing.T, b built) {
	for _, w := range b.workloads(t) {
		if w.selector != nil {
			if got := matched(t, b, w.selector); len(got) != 1 || got[0].object.String() != w.object.String() {
				t.Errorf("%s selects %v", w, got)
			}
		}
		for _, c := range w.pod.Spec.TopologySpreadConstraints {
			if got := matched(t, b, c.LabelSelector); len(got) != 1 || got[0].object.String() != w.object.String() {
				t.Errorf("%s is spread with %v", w, got)
			}
			if w.Kind == "Deployment" && !slices.Equal(c.MatchLabelKeys, []string{apps.DefaultDeploymentUniqueLabelKey}) {
				t.Errorf("%s is spread with what it replaces", w)
			}
		}
		for _, label := range []string{"app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/part-of"} {
			if w.pod.Labels[label] == "" || w.Metadata.Labels[label] != w.pod.Labels[label] {
				t.Errorf("%s has %s %q, and its pods %q", w, label, w.Metadata.Labels[label], w.pod.Labels[label])
			}
		}
	}
	for _, o := range b.pick("PodDisruptionBudget") {
		var p budget.PodDisruptionBudget
		o.into(t, &p)
		if got := matched(t, b, p.Spec.Selector); len(got) != 1 || got[0].Metadata.Name != o.Metadata.Name {
			t.Errorf("%s is about %v", o, got)
		}
		if p.Spec.MaxUnavailable == nil || p.Spec.MaxUnavailable.IntValue() < 1 {
			t.Errorf("%s blocks the drain of a node for ever", o)
		}
	}
	for _, o := range b.pick("NetworkPolicy") {
		var p network.NetworkPolicy
		o.into(t, &p)
		if got := matched(t, b, &p.Spec.PodSelector); len(got) == 0 {
			t.Errorf("%s is about no pod", o)
		}
	}
}

// hasThePortsItNames: Services, probes and policies name ports that are there, and
// the admin port is reachable through no address of a Service: a headless one only
// lists pods.
func hasThePortsItNames(t *testing.T, b built) {
	for _, w := range b.workloads(t) {
		for _, c := range w.containers() {
			for _, probe := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
				if probe == nil {
					continue
				}
				if probe.HTTPGet == nil {
					t.Errorf("%s: a probe is no request", w)
				} else if !hasPort([]workload{w}, probe.HTTPGet.Port) {
					t.Errorf("%s: a probe asks port %s", w, &probe.HTTPGet.Port)
				}
			}
		}
	}
	for _, o := range b.pick("Service") {
		var s core.Service
		o.into(t, &s)
		pods := matched(t, b, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
		for _, p := range s.Spec.Ports {
			if !hasPort(pods, p.TargetPort) {
				t.Errorf("%s leads to port %s of %v", o, &p.TargetPort, pods)
			}
			if (p.TargetPort.String() == "admin" || p.TargetPort.IntValue() == 9090) && s.Spec.ClusterIP != core.ClusterIPNone {
				t.Errorf("%s shows the admin port", o)
			}
		}
	}
	for _, o := range b.pick("NetworkPolicy") {
		var policy network.NetworkPolicy
		o.into(t, &policy)
		pods := matched(t, b, &policy.Spec.PodSelector)
		for _, rule := range policy.Spec.Ingress {
			for _, p := range rule.Ports {
				if !hasPort(pods, *p.Port) {
					t.Errorf("%s lets in to port %s of %v", o, p.Port, pods)
				}
			}
		}
	}
}

// hasPort says whether one of the pods has a port, by name or by number.
func hasPort(pods []workload, port intstr.IntOrString) bool {
	return slices.ContainsFunc(pods, func(w workload) bool {
		return slices.ContainsFunc(w.containers(), func(c core.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool {
				return p.Name == port.String() || p.ContainerPort == int32(port.IntValue())
			})
		})
	})
}

// secrets are those that docs/kubernetes.md tells how to make.
var secrets = []string{
	"tidings", "api-tls", "api-view", "worker-view", "nats-tls", "nats-routes",
	"api-bus", "worker-bus", "admin-bus", "system-bus",
}

// hasWhatItRefersTo: ConfigMaps, accounts, classes and claims are there, secrets
// are those of the pages, and each mount has its volume.
func hasWhatItRefersTo(t *testing.T, b built) {
	there := map[string]bool{}
	for _, o := range b.objects {
		there[o.String()] = true
	}
	for _, w := range b.workloads(t) {
		need := func(what string) {
			if !there[what] {
				t.Errorf("%s refers to %s, which is not there", w, what)
			}
		}
		secret := func(name string) {
			if !slices.Contains(secrets, name) {
				t.Errorf("%s refers to the secret %s, which no page tells of", w, name)
			}
		}
		need("ServiceAccount " + w.pod.Spec.ServiceAccountName)
		if class := w.pod.Spec.PriorityClassName; class != "" {
			need("PriorityClass " + class)
		}
		volumes := map[string]bool{}
		for _, claim := range w.claims {
			volumes[claim.Name] = true
		}
		for _, v := range w.pod.Spec.Volumes {
			volumes[v.Name] = true
			switch {
			case v.ConfigMap != nil:
				need("ConfigMap " + v.ConfigMap.Name)
			case v.Secret != nil:
				secret(v.Secret.SecretName)
			case v.PersistentVolumeClaim != nil:
				need("PersistentVolumeClaim " + v.PersistentVolumeClaim.ClaimName)
			case v.Projected != nil:
				for _, source := range v.Projected.Sources {
					need("ConfigMap " + source.ConfigMap.Name)
				}
			}
		}
		mounted := map[string]bool{}
		for _, c := range w.containers() {
			for _, from := range c.EnvFrom {
				if from.ConfigMapRef != nil {
					need("ConfigMap " + from.ConfigMapRef.Name)
				} else {
					secret(from.SecretRef.Name)
				}
			}
			for _, e := range c.Env {
				if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
					secret(e.ValueFrom.SecretKeyRef.Name)
				}
			}
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("%s: %s mounts %s, which is no volume", w, c.Name, m.Name)
				}
				mounted[m.Name] = true
			}
		}
		for name := range volumes {
			if !mounted[name] {
				t.Errorf("%s: nothing mounts %s", w, name)
			}
		}
	}
}
