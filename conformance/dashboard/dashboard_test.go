//go:build conformance

package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A panel whose name is right and whose labels do not match is empty for ever, and
// says nothing. Each query gives a number within the time of a few scrapes, of a
// service that is asked for everything.
func TestEveryPanelShowsSomething(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := s.load(t, ctx)
	defer stop()
	ask := prometheus(t, s.admin)
	left := queries(t)
	if len(left) < 80 {
		t.Fatalf("the dashboard has %d queries", len(left))
	}
	for len(left) > 0 && ctx.Err() == nil {
		for name, expr := range left {
			if ask(ctx, expr) {
				delete(left, name)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
	for name, expr := range left {
		t.Errorf("%s is empty: %s", name, expr)
	}
}

// queries are those of all panels, as Grafana sends them when all is chosen.
func queries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/tidings.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	chosen := strings.NewReplacer("$__rate_interval", "10s", "$namespace", ".*", "$job", "tidings", "$pod", ".*")
	all := map[string]string{}
	for _, p := range d.Panels {
		if p.Title == "Circuit breakers" {
			continue // a service that is its own worker has none
		}
		for _, q := range p.Targets {
			all[fmt.Sprintf("panel %d, %s, query %s", p.ID, p.Title, q.RefID)] = chosen.Replace(q.Expr)
		}
	}
	return all
}

// prometheus scrapes a service every second. What it returns says whether a query
// gives a number.
func prometheus(t *testing.T, target string) func(ctx context.Context, expr string) bool {
	t.Helper()
	dir, listen := t.TempDir(), freePort(t)
	config := fmt.Sprintf(`{global: {scrape_interval: 1s}, scrape_configs: [{job_name: tidings, static_configs: [{targets: [%q], labels: {namespace: test, pod: api-1}}]}]}`, target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "prometheus", nil, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", listen)
	await(t, "http://"+listen+"/-/ready")
	return func(ctx context.Context, expr string) bool {
		text, err := fetch(ctx, "http://"+listen+"/api/v1/query?query="+url.QueryEscape(expr))
		var answer struct {
			Error string
			Data  struct {
				Result []struct{ Value [2]any }
			}
		}
		if err != nil || json.Unmarshal(text, &answer) != nil {
			return false
		}
		if answer.Error != "" {
			t.Errorf("%s: %s", expr, answer.Error)
		}
		for _, r := range answer.Data.Result {
			text, _ := r.Value[1].(string)
			if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
				return true
			}
		}
		return false
	}
}

// run starts a program that is stopped with the test, and shows what it wrote when
// the test has failed.
func run(t *testing.T, program string, environ []string, args ...string) {
	t.Helper()
	var out strings.Builder
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), environ...), &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v: make clients installs what is needed", program, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", program, err)
		}
		if t.Failed() {
			t.Logf("---- %s wrote\n%s", program, out.String())
		}
	})
}

// await returns when a URL answers with 200.
func await(t *testing.T, where string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := fetch(ctx, where); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s does not answer", where)
		}
	}
}

func fetch(ctx context.Context, where string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return text, err
}

// freePort is an address that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
