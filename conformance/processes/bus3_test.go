//go:build conformance

package processes

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// bus3 is a cluster of three NATS servers on this machine's loopback address.
type bus3 struct {
	servers
	url string // all of them
}

func startBus3(t testing.TB) *bus3 {
	t.Helper()
	b := new(bus3)
	var listen, monitor, routes []string
	for range 3 {
		listen, monitor = append(listen, freePort(t)), append(monitor, freePort(t))
		routes = append(routes, freePort(t))
		b.urls = append(b.urls, "nats://"+listen[len(listen)-1])
	}
	for i := range 3 {
		_, port, _ := net.SplitHostPort(monitor[i])
		file := filepath.Join(t.TempDir(), "conf")
		writeFile(t, file, fmt.Sprintf("server_name: nats%d\nlisten: %q\nhttp: \"127.0.0.1:%s\"\njetstream { store_dir: %q, max_file_store: 4G }\n"+
			"cluster { name: bus, listen: %q, routes: [\"nats://%s\"] }\n",
			i+1, listen[i], port, t.TempDir(), routes[i], strings.Join(routes, `", "nats://`)))
		b.all = append(b.all, start(t, &process{name: fmt.Sprint("nats-server ", i+1), args: []string{"-c", file}}))
	}
	for i, p := range b.all {
		p.ready = "http://" + monitor[i] + "/healthz"
	}
	b.waitHealthy(t, patience)
	b.url = strings.Join(b.urls, ",")
	return b
}

// leads is the server that leads the log, or the servers themselves (meta); nil:
// nobody knows of one.
func (b *bus3) leads(t testing.TB, meta bool) *process {
	t.Helper()
	for _, p := range b.all {
		resp, err := http.Get(strings.TrimSuffix(p.ready, "/healthz") + "/jsz?streams=1")
		if err != nil {
			continue
		}
		var info struct {
			Meta struct {
				Leader string `json:"leader"`
			} `json:"meta_cluster"`
			Accounts []struct {
				Streams []struct {
					Name    string `json:"name"`
					Cluster struct {
						Leader string `json:"leader"`
					} `json:"cluster"`
				} `json:"stream_detail"`
			} `json:"account_details"`
		}
		err = json.NewDecoder(resp.Body).Decode(&info)
		resp.Body.Close()
		if err != nil {
			continue
		}
		name := info.Meta.Leader
		if !meta {
			name = ""
			for _, a := range info.Accounts {
				for _, s := range a.Streams {
					if s.Name == "tidings-log" {
						name = s.Cluster.Leader
					}
				}
			}
		}
		for i, p := range b.all {
			if name == fmt.Sprint("nats", i+1) {
				return p
			}
		}
	}
	return nil
}
