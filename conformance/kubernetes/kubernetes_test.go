//go:build kubernetes

package kubernetes

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	subscribers = flag.Int("subscribers", 300, "how many clients listen")
	writes      = flag.Int("writes", 20, "how many writes a second clients make")
)

// The parts build on one another: the first deploys everything on a cluster that
// has nothing, each other one can be repeated by its name while the cluster is up.
func TestOnRealNodes(t *testing.T) {
	t.Run("Apply", apply)
	t.Run("Components", components)
	t.Run("RollApi", rollAPI)
	t.Run("RollWorker", rollWorker)
	t.Run("Drain", drain)
	t.Run("LoseNode", loseNode)
	t.Run("CutNode", cutNode)
	t.Run("UpgradeNATS", upgradeNATS)
	t.Run("NoWorkers", noWorkers)
	t.Run("NoNATS", noNATS)
	t.Run("Scale", scale)
	t.Run("Memory", memory)
}

// apply deploys overlay ha from nothing; three pods of each are ready, and pods
// that may do more than they need are refused.
func apply(t *testing.T) {
	began := time.Now()
	kubectl(t, "apply", "--filename", "../../deploy/k8s/overlays/ha/namespace.yaml")
	if _, err := try("apply", "--server-side", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "--kustomize", "overlay"); err != nil {
		t.Error(err)
	}
	secrets, err := run("", "../../deploy/k8s/secrets.sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := try("get", "secret", "tidings"); err != nil {
		if _, err := tryWith(secrets, "apply", "--filename", "-"); err != nil {
			t.Fatal(err)
		}
	}
	kubectl(t, "apply", "--server-side", "--kustomize", "overlay")
	if _, err := try("get", "job", "bus-setup-1"); err != nil {
		kubectl(t, "create", "job", "--from=cronjob/bus-setup", "bus-setup-1")
	}
	rolledOut(t, "statefulset/nats", 5*time.Minute)
	bus := time.Since(began)
	rolledOut(t, "deployment/worker", 5*time.Minute)
	rolledOut(t, "deployment/api", 5*time.Minute)
	t.Logf("FIGURES NATS rolled out after %s, everything after %s", round(bus), round(time.Since(began)))
	spread(t)
	for _, flag := range []string{"--privileged", "--restart=Never"} { // the other asks for nothing, and is not restricted
		_, err = try("run", "refused", "--image=localhost/rig-pause:1", flag)
		if err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted`) {
			t.Errorf("a pod with %s: %v", flag, err)
		}
	}
}

// spread demands that each kind runs on each node.
func spread(t *testing.T) {
	t.Helper()
	for _, component := range []string{"bus", "worker", "api"} {
		nodes := map[string]int{}
		for _, p := range pods(t, component) {
			nodes[p.Spec.NodeName]++
		}
		t.Logf("FIGURES %s on nodes %v, restarted %d times", component, nodes, restarts(t, component))
		if len(nodes) != 3 {
			t.Errorf("%s runs on %d nodes", component, len(nodes))
		}
	}
}

// underLoad lets something happen while clients write and listen, and judges.
func underLoad(t *testing.T, what func(l *load)) report {
	t.Helper()
	before := restarts(t, "api") + restarts(t, "worker")
	l := begin(t, public(t), *subscribers, *writes)
	pause(t.Context(), 5*time.Second)
	what(l)
	pause(t.Context(), 5*time.Second)
	r := l.end(t)
	r.show(t, *subscribers)
	if n := restarts(t, "api") + restarts(t, "worker") - before; n > 0 {
		t.Logf("FIGURES containers of api and worker restarted %d times", n)
	}
	return r
}

// A rolling restart of all apis: no request fails, and clients come back spread
// over the windows.
func rollAPI(t *testing.T) {
	var began time.Time
	r := underLoad(t, func(*load) {
		began = time.Now()
		kubectl(t, "rollout", "restart", "deployment/api")
		t.Logf("FIGURES rolled out in %s", round(rolledOut(t, "deployment/api", 10*time.Minute)))
		allReady(t, "api", 3, 3*time.Minute) // the old ones have gone
		eventually(t, 2*time.Minute, "the old pods are gone", func() error { return terminated("api") })
		t.Logf("FIGURES the old pods were gone after %s", round(time.Since(began)))
	})
	t.Logf("FIGURES connections ended in each 5 s since: %v", r.spread(began, 5*time.Second))
	noneFailed(t, r)
	busiest := 0
	for _, n := range r.spread(began, time.Second) {
		busiest = max(busiest, n)
	}
	t.Logf("FIGURES most of them in one second: %d", busiest)
	if busiest > max(10, *subscribers/4) {
		t.Errorf("%d of %d subscribers were sent away in one second", busiest, *subscribers)
	}
}

// terminated says which pods of a component are still about to go.
func terminated(component string) error {
	out, err := try("get", "pods", "--selector", "app.kubernetes.io/component="+component, "--output",
		`jsonpath={range .items[*]}{.metadata.name}={.metadata.deletionTimestamp} {end}`)
	if err != nil {
		return err
	}
	for _, p := range strings.Fields(out) {
		if name, at, _ := strings.Cut(p, "="); at != "" {
			return fmt.Errorf("%s is not", name)
		}
	}
	return nil
}

func noneFailed(t *testing.T, r report) {
	t.Helper()
	if n := sum(r.failures) + sum(r.readFailures); n > 0 {
		t.Errorf("%d requests failed: writes %v, reads %v", n, r.failures, r.readFailures)
	}
}

// A rolling restart of all workers: no request fails, and no client is sent away.
func rollWorker(t *testing.T) {
	r := underLoad(t, func(*load) {
		kubectl(t, "rollout", "restart", "deployment/worker")
		t.Logf("FIGURES rolled out in %s", round(rolledOut(t, "deployment/worker", 5*time.Minute)))
		eventually(t, 2*time.Minute, "the old pods are gone", func() error { return terminated("worker") })
	})
	noneFailed(t, r)
	if r.reconnects > 0 {
		t.Errorf("%d connections ended", r.reconnects)
	}
}

// A node is drained, as before its kernel is changed: its budgets let one pod of
// each go at a time, and no request fails. It stays empty until pods are made anew.
func drain(t *testing.T) {
	t.Cleanup(func() { kubectl(t, "uncordon", "n2") })
	r := underLoad(t, func(*load) {
		began := time.Now()
		kubectl(t, "drain", "n2", "--delete-emptydir-data", "--ignore-daemonsets", "--timeout", "5m")
		t.Logf("FIGURES drained in %s", round(time.Since(began)))
		kubectl(t, "uncordon", "n2")
		t.Logf("FIGURES nats is whole again after %s", round(allReady(t, "bus", 3, 3*time.Minute)))
		allReady(t, "api", 3, 3*time.Minute)
		allReady(t, "worker", 3, 3*time.Minute)
	})
	noneFailed(t, r)
	kubectl(t, "rollout", "restart", "deployment/worker", "deployment/api")
	for _, component := range []string{"worker", "api"} {
		rolledOut(t, "deployment/"+component, 5*time.Minute)
		eventually(t, 2*time.Minute, "the old pods are gone", func() error { return terminated(component) })
	}
	spread(t)
}

// A node crashes with everything on it, and boots again.
func loseNode(t *testing.T) {
	underLoad(t, func(*load) {
		rig(t, "kill", "n3")
		t.Logf("FIGURES the node is known to be gone after %s", round(nodeReady(t, "n3", false, 2*time.Minute)))
		pause(t.Context(), 20*time.Second)
		began := time.Now()
		rig(t, "start", "n3")
		t.Logf("FIGURES it is Ready again %s after it was started", round(time.Since(began)))
		whole(t, began)
	})
}

// whole waits until all pods are ready.
func whole(t *testing.T, since time.Time) {
	t.Helper()
	for _, component := range []string{"bus", "worker", "api"} {
		allReady(t, component, 3, 5*time.Minute)
	}
	t.Logf("FIGURES all pods are ready %s after that", round(time.Since(since)))
}

// A node hears nothing and is not heard for a minute, and knows nothing of it.
func cutNode(t *testing.T) {
	t.Cleanup(func() { _, _ = run("", "rig/rig.sh", "heal", "n1") })
	underLoad(t, func(*load) {
		rig(t, "cut", "n1")
		t.Logf("FIGURES the node is known to be away after %s", round(nodeReady(t, "n1", false, 2*time.Minute)))
		pause(t.Context(), 20*time.Second)
		healed := time.Now()
		rig(t, "heal", "n1")
		nodeReady(t, "n1", true, time.Minute)
		whole(t, healed)
	})
}

// The NATS servers are replaced by those of a newer minor version, one after the
// other; events come all the time.
func upgradeNATS(t *testing.T) {
	image := kubectl(t, "get", "statefulset", "nats", "--output", "jsonpath={.spec.template.spec.containers[0].image}")
	r := underLoad(t, func(*load) {
		if strings.HasSuffix(image, ":old") {
			kubectl(t, "set", "image", "statefulset/nats", "nats=localhost/nats:new")
		} else {
			kubectl(t, "rollout", "restart", "statefulset/nats")
		}
		t.Logf("FIGURES %s is replaced in %s", image, round(rolledOut(t, "statefulset/nats", 10*time.Minute)))
	})
	if r.gap > 10*time.Second {
		t.Errorf("a subscriber heard nothing for %s", r.gap)
	}
	if r.reconnects > 0 {
		t.Errorf("%d connections of clients ended", r.reconnects)
	}
}

// There are no workers for a minute. Who writes is told so, who reads and listens
// is not disturbed, and nothing is lost.
func noWorkers(t *testing.T) {
	t.Cleanup(func() { kubectl(t, "scale", "deployment/worker", "--replicas=3") })
	r := underLoad(t, func(*load) {
		kubectl(t, "scale", "deployment/worker", "--replicas=0")
		eventually(t, 2*time.Minute, "no worker runs", func() error { return none(pods(t, "worker"), terminated("worker")) })
		pause(t.Context(), time.Minute)
		kubectl(t, "scale", "deployment/worker", "--replicas=3")
		allReady(t, "worker", 3, 3*time.Minute)
	})
	for code := range r.failures {
		if code != "UNAVAILABLE" && code != "TIMEOUT" {
			t.Errorf("writers were told %s", code)
		}
	}
	if sum(r.readFailures) > 0 {
		t.Errorf("reads failed: %v", r.readFailures)
	}
	if r.reconnects > 0 {
		t.Errorf("%d connections ended", r.reconnects)
	}
}

func none(left []pod, err error) error {
	if len(left) > 0 {
		return fmt.Errorf("%d pods are left", len(left))
	}
	return err
}

// NATS is away altogether for two minutes: no pod is restarted, all say that they
// are not ready after their grace, and go on by themselves when it is back.
func noNATS(t *testing.T) {
	t.Cleanup(func() { kubectl(t, "scale", "statefulset/nats", "--replicas=3") })
	before := restarts(t, "api") + restarts(t, "worker")
	underLoad(t, func(*load) {
		kubectl(t, "scale", "statefulset/nats", "--replicas=0")
		eventually(t, 2*time.Minute, "no server runs", func() error { return none(pods(t, "bus"), terminated("bus")) })
		gone := time.Now()
		took := eventually(t, time.Minute, "no api is ready", func() error { return noneReady(t, "api") })
		t.Logf("FIGURES no api was ready %s after the last server had ended", round(took))
		pause(t.Context(), time.Until(gone.Add(2*time.Minute)))
		kubectl(t, "scale", "statefulset/nats", "--replicas=3")
		back := time.Now()
		allReady(t, "bus", 3, 3*time.Minute)
		t.Logf("FIGURES NATS is back after %s", round(time.Since(back)))
		whole(t, back)
	})
	if n := restarts(t, "api") + restarts(t, "worker") - before; n != 0 {
		t.Errorf("containers were restarted %d times", n)
	}
}

func noneReady(t *testing.T, component string) error {
	for _, p := range pods(t, component) {
		if p.ready() {
			return fmt.Errorf("%s is", p.Metadata.Name)
		}
	}
	return nil
}
