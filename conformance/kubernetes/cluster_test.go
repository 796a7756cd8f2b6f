//go:build kubernetes

package kubernetes

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// namespace is where deploy/k8s puts everything.
const namespace = "tidings"

// try runs kubectl in the namespace.
func try(args ...string) (string, error) { return tryWith("", args...) }

// tryWith gives it something to read.
func tryWith(input string, args ...string) (string, error) {
	return run(input, "kubectl", append([]string{"--namespace", namespace}, args...)...)
}

// run returns what a command prints.
func run(input, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// kubectl is try where nothing may go wrong.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := try(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rig runs a verb of the rig.
func rig(t *testing.T, args ...string) {
	t.Helper()
	if out, err := run("", "rig/rig.sh", args...); err != nil {
		t.Fatal(out, err)
	}
}

// eventually asks until the condition holds, and fails the test when it does not
// within the time. It returns how long it took.
func eventually(t *testing.T, within time.Duration, what string, condition func() error) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := condition()
		took := time.Since(began)
		if err == nil {
			return took
		}
		if took > within {
			t.Fatalf("not within %s: %s: %v", within, what, err)
		}
		<-tick.C
	}
}

// rolledOut waits until a Deployment or StatefulSet is as it is to be.
func rolledOut(t *testing.T, what string, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	kubectl(t, "rollout", "status", what, "--timeout", within.String())
	return time.Since(began)
}

// pod is what Kubernetes says of one.
type pod struct {
	Metadata struct {
		Name              string
		DeletionTimestamp string
		Labels            map[string]string
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase             string
		Conditions        []struct{ Type, Status string }
		ContainerStatuses []struct {
			RestartCount int
			LastState    struct {
				Terminated *struct {
					Reason   string
					ExitCode int
				}
			}
		}
	}
}

func (p pod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// pods lists those of a component (api, worker, bus) that are not being deleted.
func pods(t *testing.T, component string) []pod {
	t.Helper()
	var list struct{ Items []pod }
	out := kubectl(t, "get", "pods", "--selector", "app.kubernetes.io/component="+component, "--output", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	var live []pod
	for _, p := range list.Items {
		if p.Metadata.DeletionTimestamp == "" {
			live = append(live, p)
		}
	}
	return live
}

// restarts is how often containers of a component have ended and were begun again.
func restarts(t *testing.T, component string) int {
	t.Helper()
	n := 0
	for _, p := range pods(t, component) {
		for _, c := range p.Status.ContainerStatuses {
			n += c.RestartCount
		}
	}
	return n
}

// allReady waits until there are n pods of a component, all of them ready.
func allReady(t *testing.T, component string, n int, within time.Duration) time.Duration {
	t.Helper()
	return eventually(t, within, fmt.Sprintf("%d pods of %s are ready", n, component), func() error {
		list, ready := pods(t, component), 0
		for _, p := range list {
			if p.ready() {
				ready++
			}
		}
		if len(list) != n || ready != n {
			return fmt.Errorf("%d of %d are", ready, len(list))
		}
		return nil
	})
}

// nodeReady waits for a node to be Ready, or not to be.
func nodeReady(t *testing.T, node string, want bool, within time.Duration) time.Duration {
	t.Helper()
	return eventually(t, within, fmt.Sprintf("%s is ready: %v", node, want), func() error {
		out, err := try("get", "node", node, "--output", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && (out == "True") != want {
			err = errors.New(out)
		}
		return err
	})
}

// public finds the Service of the api, and the secret that its tokens are signed with.
func public(t *testing.T) service {
	t.Helper()
	ip := kubectl(t, "get", "service", "api", "--output", "jsonpath={.spec.clusterIP}")
	secret, err := base64.StdEncoding.DecodeString(kubectl(t, "get", "secret", "tidings", "--output", "jsonpath={.data.TIDINGS_JWT_SECRET}"))
	if err != nil {
		t.Fatal(err)
	}
	return service{url: "http://" + ip + ":8080", secret: string(secret)}
}
