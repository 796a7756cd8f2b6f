package manifests_test

import (
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is an object that makes pods.
type workload struct {
	object
	selector *meta.LabelSelector // nil: it makes one of its own
	pod      core.PodTemplateSpec
	claims   []core.PersistentVolumeClaim
}

// workloads returns all that make pods.
func (b built) workloads(t *testing.T) []workload {
	t.Helper()
	var list []workload
	for _, o := range b.objects {
		switch o.Kind {
		case "Deployment":
			var d apps.Deployment
			o.into(t, &d)
			list = append(list, workload{object: o, selector: d.Spec.Selector, pod: d.Spec.Template})
		case "StatefulSet":
			var s apps.StatefulSet
			o.into(t, &s)
			list = append(list, workload{object: o, selector: s.Spec.Selector, pod: s.Spec.Template, claims: s.Spec.VolumeClaimTemplates})
		case "CronJob":
			var c batch.CronJob
			o.into(t, &c)
			list = append(list, workload{object: o, pod: c.Spec.JobTemplate.Spec.Template})
		case "DaemonSet", "ReplicaSet", "Job", "Pod":
			t.Errorf("%s: the checks do not know what makes pods like this", o)
		}
	}
	return list
}

// serves says whether it runs until it is told to stop.
func (w workload) serves() bool { return w.Kind != "CronJob" }

// containers returns all, those of the start too.
func (w workload) containers() []core.Container {
	return append(w.pod.Spec.InitContainers[:len(w.pod.Spec.InitContainers):len(w.pod.Spec.InitContainers)], w.pod.Spec.Containers...)
}

// ours says whether it is the program, and not NATS.
func (w workload) ours() bool { return w.pod.Labels["app.kubernetes.io/name"] == "tidings" }
