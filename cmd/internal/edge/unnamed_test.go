package edge

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"tidings/quota"
)

func TestTheLogNamesAProxyThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, header, trusted string
		lines                 int
	}{
		{"10.42.3.7:5000", "192.0.2.1", "", 1},
		{"[::ffff:10.42.3.7]:5000", "192.0.2.1", "172.16.0.0/12", 1},
		{"127.0.0.1:5000", "192.0.2.1", "", 1},
		{"[fd00::7]:5000", "2001:db8::1", "", 1},
		{"10.42.3.7:5000", "192.0.2.1", "10.42.0.0/16", 0},
		{"10.42.3.7:5000", "", "", 0},
		{"203.0.113.9:5000", "192.0.2.1", "", 0}, // anybody may say so
		{"@", "192.0.2.1", "", 0},
	} {
		var log bytes.Buffer
		proxies, err := quota.ParseProxies(c.trusted)
		if err != nil {
			t.Fatal(err)
		}
		e := &edge{log: slog.New(slog.NewJSONHandler(&log, nil)), proxies: proxies}
		for range 3 {
			r := httptest.NewRequest("GET", "/graphql", nil)
			if r.RemoteAddr = c.from; c.header != "" {
				r.Header.Set("X-Forwarded-For", c.header)
			}
			e.hint(r)
		}
		if n := strings.Count(log.String(), "\n"); n != c.lines || c.lines > 0 && !strings.Contains(log.String(), "TIDINGS_TRUSTED_PROXIES") {
			t.Errorf("from %s, which says %q, where %q is trusted: %s", c.from, c.header, c.trusted, log.String())
		}
	}
}
