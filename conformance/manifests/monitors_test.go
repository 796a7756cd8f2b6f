package manifests_test

import "testing"

// The ServiceMonitor takes the place of the PodMonitor: with both, everything would be
// read twice.
func TestAServiceMonitorTakesThePlaceOfThePodMonitor(t *testing.T) {
	t.Parallel()
	b := build(t, "service-monitor", overlay(t, "overlays/ha", []string{"monitoring", "service-monitor"}))
	if n := len(b.pick("PodMonitor")); n != 0 {
		t.Errorf("%d PodMonitors are left", n)
	}
	b.find(t, "ServiceMonitor", "tidings")
	labels := b.find(t, "Service", "metrics").Metadata.Labels
	if labels["app.kubernetes.io/name"] != "tidings" || labels["app.kubernetes.io/component"] != "metrics" {
		t.Errorf("the ServiceMonitor does not find the Service, whose labels are %v", labels)
	}
}
