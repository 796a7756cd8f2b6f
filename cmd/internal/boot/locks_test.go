package boot_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/schema"
	"tidings/soap"
)

// lock writes what the schema shows now beside it, as a version.
func (h *house) lock(t *testing.T, version string) {
	t.Helper()
	m, err := schema.Load(os.DirFS(h.schema))
	if err != nil {
		t.Fatal(err)
	}
	l, err := soap.NewLock(m, version, soap.Options{Service: "Service"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.schema, l.File()), l.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// asks sends an envelope through the edge, over the bus, to the worker.
func (h *house) asks(t *testing.T, version, body string) string {
	t.Helper()
	e, done := h.Use()
	defer done()
	r := httptest.NewRequest(http.MethodPost, "/"+version+"/Service", strings.NewReader(
		`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:`+version+`:Service"><s:Body>`+body+`</s:Body></s:Envelope>`))
	r.Header.Set("Content-Type", "text/xml")
	w := httptest.NewRecorder()
	e.Gateway.ServeHTTP(w, r)
	return w.Body.String()
}

// A hangup reaches all rooms of the process, so this test runs alone.
func TestAReloadTakesLocksUp(t *testing.T) {
	h := open(t)
	h.lock(t, "v1")
	h.reload(t, `type Note @resource @auth(requires: [ANYONE]) { id: ID! text: String! more: Int! @default(value: 7) }`)
	const create = `<CreateNote><input><text>x</text></input></CreateNote>`
	if got := h.asks(t, "v1", create); !strings.Contains(got, `<tns:text>x</tns:text></tns:result>`) {
		t.Errorf("v1 answers %s", got)
	}
	h.lock(t, "v2")
	h.hangup(t)
	until(t, "v2 is served", func() bool {
		e, done := h.Use()
		defer done()
		return e.Gateway.Serves("/v2/Service")
	})
	if got := h.asks(t, "v2", create); !strings.Contains(got, `<tns:more>7</tns:more></tns:result>`) {
		t.Errorf("v2 answers %s", got)
	}
	if got := h.asks(t, "v1", create); !strings.Contains(got, `<tns:text>x</tns:text></tns:result>`) {
		t.Errorf("v1 answers %s", got)
	}
	before := h.model()
	h.write(t, `type Note @resource @auth(requires: [ANYONE]) { id: ID! text: String }`)
	h.hangup(t)
	until(t, "the reload is refused", func() bool { return strings.Contains(h.told(), "v1.soap.lock:") })
	if h.model() != before {
		t.Error("a schema that breaks its locks is in service")
	}
}
