//go:build conformance

package processes

import (
	"crypto/x509"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// proxy is HAProxy or nginx in front of apis, with the configuration of deploy.
type proxy struct {
	*process
	plain   *api   // how its port without TLS is reached
	private *api   // and the one with
	stats   string // HAProxy's socket; empty: none
}

// replaced is a text with each of the words replaced, which must all be in it.
func replaced(t testing.TB, text string, words ...string) string {
	t.Helper()
	for i := 0; i < len(words); i += 2 {
		if !strings.Contains(text, words[i]) {
			t.Fatalf("%q is not in the configuration", words[i])
		}
		text = strings.ReplaceAll(text, words[i], words[i+1])
	}
	return text
}

// installed skips a test of a program that is not there; make conformance installs it.
func installed(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: make clients", program)
	}
}

// startHAProxy runs HAProxy with deploy/haproxy/haproxy.cfg in front of three apis.
func startHAProxy(t testing.TB, apis []*api, cert, key string) *proxy {
	t.Helper()
	return startHAProxyWith(t, apis, cert, key)
}

// startHAProxyWith replaces more words of the configuration, each by the one after it.
func startHAProxyWith(t testing.TB, apis []*api, cert, key string, more ...string) *proxy {
	t.Helper()
	installed(t, "haproxy")
	dir := t.TempDir()
	plain, private := freePort(t), freePort(t)
	p := &proxy{plain: &api{url: "http://" + plain}, private: &api{url: "https://" + private}, stats: filepath.Join(dir, "s")}
	text, err := os.ReadFile("../../deploy/haproxy/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	both := filepath.Join(dir, "both.pem")
	writeFile(t, both, contents(t, cert)+contents(t, key))
	config := replaced(t, string(text), "maxconn 50000", "maxconn 2000", "bind :80\n", "bind "+plain+"\n", "bind :443", "bind "+private,
		"/etc/haproxy/tidings.pem", both, "/run/haproxy/admin.sock", p.stats)
	for i, a := range apis {
		_, admin, _ := net.SplitHostPort(strings.TrimPrefix(a.adminPort(), "http://"))
		config = replaced(t, config, fmt.Sprintf(" api-%d:8080", i+1), " "+strings.TrimPrefix(a.url, "http://")+" port "+admin)
	}
	file := filepath.Join(dir, "haproxy.cfg")
	writeFile(t, file, replaced(t, config, more...))
	p.process = start(t, &process{name: "haproxy", path: "haproxy", args: []string{"-db", "-f", file}})
	p.wait(t)
	return p
}

// startNginx runs nginx with deploy/nginx/tidings.conf in front of three apis.
func startNginx(t testing.TB, apis []*api, cert, key string) *proxy {
	t.Helper()
	installed(t, "nginx")
	dir := t.TempDir()
	plain, private := freePort(t), freePort(t)
	p := &proxy{plain: &api{url: "http://" + plain}, private: &api{url: "https://" + private}}
	text, err := os.ReadFile("../../deploy/nginx/tidings.conf")
	if err != nil {
		t.Fatal(err)
	}
	config := replaced(t, string(text), "listen 80;", "listen "+plain+";", "listen 443", "listen "+private,
		"/etc/nginx/tidings.pem", cert, "/etc/nginx/tidings.key", key)
	for i, a := range apis {
		config = replaced(t, config, fmt.Sprintf("server api-%d:8080", i+1), "server "+strings.TrimPrefix(a.url, "http://"))
	}
	writeFile(t, filepath.Join(dir, "tidings.conf"), config)
	main := "daemon off;\nmaster_process off; # workers would outlive a kill\npid " + dir + "/pid;\nerror_log stderr warn;\nevents { worker_connections 4096; }\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		main += kind + "_temp_path " + dir + "/" + kind + ";\n"
	}
	file := filepath.Join(dir, "nginx.conf")
	writeFile(t, file, main+"include "+dir+"/tidings.conf;\n}\n")
	p.process = start(t, &process{name: "nginx", path: "nginx", args: []string{"-e", "stderr", "-p", dir, "-c", file}})
	p.wait(t)
	return p
}

func (p *proxy) wait(t testing.TB) {
	t.Helper()
	poll(t, patience, p.name+" answers", func() error {
		p.mustRun(t)
		_, err := post(t.Context(), p.plain.url, anybody, call{Query: `{ __typename }`})
		return err
	})
}

// load are the connections that HAProxy has to each api, by name, and whether it is
// taken for ready.
func (p *proxy) load(t testing.TB) (connections map[string]int, up map[string]bool) {
	t.Helper()
	conn, err := net.Dial("unix", p.stats)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("show stat\n")); err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(conn)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("show stat: %v %v", rows, err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[strings.TrimPrefix(name, "# ")] = i
	}
	connections, up = map[string]int{}, map[string]bool{}
	for _, row := range rows[1:] {
		if name := row[column["svname"]]; strings.HasPrefix(name, "api-") {
			connections[name], _ = strconv.Atoi(row[column["scur"]])
			up[name] = strings.HasPrefix(row[column["status"]], "UP")
		}
	}
	return connections, up
}

// allUp waits until HAProxy takes every api for ready.
func (p *proxy) allUp(t testing.TB) {
	t.Helper()
	poll(t, patience, "all are up for HAProxy", func() error {
		if _, up := p.load(t); !up["api-1"] || !up["api-2"] || !up["api-3"] {
			return fmt.Errorf("%v", up)
		}
		return nil
	})
}

func contents(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// streamsOver are event streams over HTTP/2 and TLS by way of the proxy.
func (p *proxy) streamsOver(t testing.TB, trusted *x509.Certificate) dial {
	h := newHTTP2(t, trusted)
	return h.over(h.events)
}

// steadyReader asks a query again and again, and counts what was no answer.
type steadyReader struct {
	api    *api
	asked  int
	failed []error
}

func (r *steadyReader) ask(t testing.TB) {
	r.asked++
	ctx := t.Context()
	req, err := graphqlRequest(ctx, r.api.url, anybody, call{Query: `{ posts(first: 5) { nodes { id title } } }`})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.failed = append(r.failed, fmt.Errorf("%s: %w", time.Now().Format("05.000"), err))
	}
}
