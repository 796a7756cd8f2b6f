//go:build kubernetes

package kubernetes

import (
	"fmt"
	"testing"
	"time"
)

// smallHPA makes component hpa fit for a trial: few clients, two to five pods, and
// down as fast as one looks. Pods of the trial reserve next to no processor.
const smallHPA = `
spec:
  minReplicas: 2
  maxReplicas: 5
  metrics:
    - {type: Pods, pods: {metric: {name: tidings_connections}, target: {type: AverageValue, averageValue: "60"}}}
    - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 10000}}}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 30, policies: [{type: Pods, value: 1, periodSeconds: 15}]}
`

// The autoscaler follows the connections that Prometheus counts: up when clients
// come, down one by one when they have left, and the clients that are there hear
// everything.
func scale(t *testing.T) {
	rig(t, "addons")
	small := kubectl(t, "patch", "--local", "--filename", "../../deploy/k8s/components/hpa/api.yaml", "--patch", smallHPA, "--output", "yaml")
	if _, err := tryWith(small, "apply", "--filename", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kubectl(t, "delete", "hpa", "api")
		kubectl(t, "scale", "deployment/api", "--replicas=3")
		allReady(t, "api", 3, 3*time.Minute)
	})
	replicas := func(n int) error {
		if have := kubectl(t, "get", "deployment", "api", "--output", "jsonpath={.status.readyReplicas}"); have != fmt.Sprint(n) {
			return fmt.Errorf("%s: %s", have, kubectl(t, "get", "hpa", "api", "--output", "jsonpath={.status.conditions[*].message}"))
		}
		return nil
	}
	eventually(t, 5*time.Minute, "two apis are enough for nobody", func() error { return replicas(2) })
	came := time.Now()
	underLoad(t, func(l *load) {
		eventually(t, 5*time.Minute, "five apis are ready", func() error { return replicas(5) })
		t.Logf("FIGURES %d clients: from 2 to 5 pods in %s since the first came", *subscribers, round(time.Since(came)))
	})
	left := time.Now()
	few := begin(t, public(t), 20, *writes)
	eventually(t, 10*time.Minute, "two apis are left", func() error { return replicas(2) })
	t.Logf("FIGURES back to 2 pods in %s since they left", round(time.Since(left)))
	eventually(t, 3*time.Minute, "the others are gone", func() error { return terminated("api") })
	r := few.end(t)
	r.show(t, 20)
	noneFailed(t, r)
}
