//go:build conformance

package processes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A cluster of three servers keeps three copies of the log, and acknowledges
// what two of them have.

// servers are those of the bus, each on a host of its own: nats1 to nats3.
type servers struct {
	all  []*process
	urls []string
}

// busCluster runs them, with their stores where store says, and started as begin
// says for each host; nil: as usual.
func (n *network) busCluster(store func(host string) string, begin map[string]func(*exec.Cmd) error) *servers {
	t := n.t
	t.Helper()
	const many = 3
	s := &servers{}
	var routes []string
	for i := range many {
		addr := n.host(fmt.Sprint("nats", i+1))
		s.urls = append(s.urls, "nats://"+addr+":7000")
		routes = append(routes, "nats://"+addr+":7002")
	}
	for i := range many {
		name := fmt.Sprint("nats", i+1)
		addr := n.addrs[name]
		file := filepath.Join(t.TempDir(), "conf")
		// Routes that are silent are noticed sooner than in the 60 to 90 s of the defaults: as docs/operations.md recommends.
		text := fmt.Sprintf("server_name: %s\nlisten: %s:7000\nhttp: %s:7001\njetstream { store_dir: %q, max_file_store: 16G }\n"+
			"cluster { name: bus, listen: %s:7002, routes: [%s], ping_interval: \"2s\", ping_max: 2 }\n"+
			"lame_duck_duration: \"30s\", lame_duck_grace_period: \"2s\"\n",
			name, addr, addr, store(name), addr, strings.Join(routes, ", "))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.all = append(s.all, start(t, &process{name: "nats-server " + name, host: name, path: n.natsPath, args: []string{"-c", file}, begin: begin[name]}))
	}
	for _, p := range s.all { // from now on each alone, once the others are there
		p.ready = "http://" + n.addrs[p.host] + ":7001/healthz"
		p.waitReady(t)
	}
	n.servers = s
	return s
}

// leader is the server that leads the log, or led it last.
func (n *network) leader() *process { return n.leaderAmong(n.servers.all) }

// leaderAmong asks these servers only.
func (n *network) leaderAmong(asked []*process) (leader *process) {
	n.t.Helper()
	poll(n.t, 20*time.Second, "the log has a leader", func() error {
		for _, p := range asked {
			name, err := leaderSays(n.addrs[p.host])
			if err != nil {
				return err
			}
			for _, p := range n.servers.all {
				if p.host == name {
					leader = p
					return nil
				}
			}
		}
		return fmt.Errorf("nobody knows of one")
	})
	return leader
}

// leaderSays asks one server who leads the log; empty: it knows of nobody.
func leaderSays(addr string) (name string, err error) {
	resp, err := client.Get("http://" + addr + ":7001/jsz?streams=1")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var info struct {
		Accounts []struct {
			Streams []struct {
				Name    string `json:"name"`
				Cluster struct {
					Leader string `json:"leader"`
				} `json:"cluster"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&info); err != nil {
		return "", err
	}
	for _, a := range info.Accounts {
		for _, s := range a.Streams {
			if s.Name == "tidings-log" {
				return s.Cluster.Leader, nil
			}
		}
	}
	return "", nil
}

// others are the servers but one.
func (s *servers) others(than *process) (list []*process) {
	for _, p := range s.all {
		if p != than {
			list = append(list, p)
		}
	}
	return list
}

// waitHealthy waits until every server says that it has all that it should.
func (s *servers) waitHealthy(t testing.TB, within time.Duration) {
	t.Helper()
	for _, p := range s.all {
		poll(t, within, p.name+" is healthy", func() error {
			p.mustRun(t)
			resp, err := client.Get(p.ready)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				pause(t.Context(), 100*time.Millisecond) // it writes a line each time
				return fmt.Errorf("%s", resp.Status)
			}
			return nil
		})
	}
}
