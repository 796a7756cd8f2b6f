package manifests_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

// probesAsPromised: a start may take minutes, readiness is quick to see, and
// nothing is killed because of what it depends on.
func probesAsPromised(t *testing.T, b built) {
	for _, w := range b.workloads(t) {
		if !w.serves() {
			continue
		}
		c := w.pod.Spec.Containers[0]
		if c.StartupProbe == nil || c.ReadinessProbe == nil || c.LivenessProbe == nil {
			t.Errorf("%s lacks a probe", w)
			continue
		}
		if got := patience(c.StartupProbe); got < 10*time.Minute {
			t.Errorf("%s is killed %s after its start", w, got)
		}
		if got := patience(c.ReadinessProbe); got > 15*time.Second {
			t.Errorf("%s gets clients for %s after it said no", w, got)
		}
		if got := patience(c.LivenessProbe); got < time.Minute {
			t.Errorf("%s is killed after %s of silence", w, got)
		}
		paths := [3]string{c.StartupProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path}
		want := [3]string{"/startupz", "/readyz", "/livez"}
		if !w.ours() {
			want = [3]string{"/healthz", "/healthz?js-server-only=true", "/healthz?js-enabled-only=true"}
		}
		if paths != want {
			t.Errorf("%s is asked %v", w, paths)
		}
	}
}

// patience is how long a probe may fail before something happens.
func patience(p *core.Probe) time.Duration {
	return time.Duration(p.PeriodSeconds*p.FailureThreshold) * time.Second
}

// spare is what must be left of the time to stop when all parts of it took as long
// as they may: a node that is busy, or starts many pods, is late by seconds.
const spare = 10 * time.Second

// givesTimeToStop: what is killed before it has drained loses what it had.
func givesTimeToStop(t *testing.T, b built) {
	for _, w := range b.workloads(t) {
		if !w.serves() {
			continue
		}
		grace := time.Duration(*w.pod.Spec.TerminationGracePeriodSeconds) * time.Second
		var needs time.Duration
		hooks := w.pod.Spec.Containers[0].Lifecycle
		switch {
		case !w.ours():
			needs = lameDuck(t) + 10*time.Second // it ends then
			if hooks == nil || hooks.PreStop == nil || hooks.PreStop.Exec == nil || strings.Join(hooks.PreStop.Exec.Command, " ") != "nats-server --signal ldm=/run/nats/nats.pid" {
				t.Errorf("%s is not stopped as a lame duck", w)
			}
		case w.Metadata.Name == "api":
			settings := settingsOf(t, b)
			needs = 25*time.Second + duration(t, settings, "TIDINGS_DRAIN_DELAY", 5*time.Second) + duration(t, settings, "TIDINGS_DRAIN_WINDOW", 30*time.Second)
			if hooks != nil && hooks.PreStop != nil {
				needs += time.Duration(hooks.PreStop.Sleep.Seconds) * time.Second
			}
		default:
			needs = 30 * time.Second
		}
		if grace < needs+spare {
			t.Errorf("%s has %s to stop, and needs %s, and %s to spare", w, grace, needs, spare)
		}
	}
}

// lameDuck is for how long a NATS server sends its clients away.
func lameDuck(t *testing.T) time.Duration {
	t.Helper()
	found := regexp.MustCompile(`(?m)^lame_duck_duration: "(\w+)"$`).FindStringSubmatch(text(t, filepath.Join(deployment, "nats/nats.conf")))
	if found == nil {
		t.Fatal("nats.conf does not say how long a lame duck lives")
	}
	d, err := time.ParseDuration(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// believesNobody: whose X-Forwarded-For is believed may say that he is anybody, so
// the adopter names them, and the tree nobody.
func believesNobody(t *testing.T, b built) {
	settings := settingsOf(t, b)
	for _, name := range []string{"TIDINGS_TRUSTED_PROXIES", "TIDINGS_CLIENT_CERT_HEADER"} {
		if value, set := settings[name]; set {
			t.Errorf("%s is %q: that is for the adopter to say", name, value)
		}
	}
}

// settingsOf are those of the ConfigMap.
func settingsOf(t *testing.T, b built) map[string]string {
	t.Helper()
	var m core.ConfigMap
	b.find(t, "ConfigMap", "settings").into(t, &m)
	return m.Data
}

func duration(t *testing.T, settings map[string]string, name string, fallback time.Duration) time.Duration {
	t.Helper()
	if settings["TIDINGS_DEV"] == "true" {
		fallback = 0
	}
	text, given := settings[name]
	if !given {
		return fallback
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return d
}

// boundsMemory: what is promised is what may be used, so that no node runs out of
// it, and Go knows of the bound.
func boundsMemory(t *testing.T, b built) {
	for _, w := range b.workloads(t) {
		for _, c := range w.containers() {
			limit, request := c.Resources.Limits.Memory(), c.Resources.Requests.Memory()
			if limit.IsZero() || request.IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s: %s lacks a request or a limit", w, c.Name)
			}
			for _, e := range c.Env {
				if e.Name == "GOMEMLIMIT" {
					soft := mebibytes(t, e.Value)
					if share := float64(soft) / float64(limit.Value()); share < 0.8 || share > 0.95 {
						t.Errorf("%s: GOMEMLIMIT is %.0f %% of the limit", w, 100*share)
					}
				}
			}
		}
	}
}

// An api has the memory that its connections take by docs/SCALING.md, How many.
func TestAnAPIHasTheMemoryOfItsConnections(t *testing.T) {
	t.Parallel()
	const mebi = 1 << 20
	b := build(t, "overlays/ha", overlay(t, "overlays/ha", nil))
	needs := (150*mebi + 11<<10*maxConnections(t, b) + 64*mebi + 100*mebi) * 100 / 76
	for _, w := range b.workloads(t) {
		if w.Metadata.Name != "api" {
			continue
		}
		if limit := w.pod.Spec.Containers[0].Resources.Limits.Memory().Value(); limit < needs || limit > 2*needs {
			t.Errorf("an api may have %d MiB, and its connections take %d", limit/mebi, needs/mebi)
		}
	}
}

func mebibytes(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "MiB"), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n << 20
}
