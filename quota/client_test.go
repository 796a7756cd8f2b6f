package quota_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"tidings/quota"
)

func TestTheClientIsTheRightmostHopThatIsNoProxyOfOurs(t *testing.T) {
	t.Parallel()
	p, err := quota.ParseProxies("10.0.0.0/8, 2001:db8::/32, 192.0.2.7,::ffff:172.16.0.0/108")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		remote string
		header []string
		want   string
	}{
		"no proxy":                 {"203.0.113.5:1234", nil, "203.0.113.5"},
		"a stranger's claim":       {"203.0.113.5:1234", []string{"198.51.100.1"}, "203.0.113.5"},
		"one proxy":                {"10.1.2.3:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		"a claim before a proxy":   {"10.1.2.3:1234", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		"two proxies":              {"10.1.2.3:1234", []string{"1.1.1.1, 198.51.100.1, 192.0.2.7"}, "198.51.100.1"},
		"several headers":          {"10.1.2.3:1234", []string{"1.1.1.1", "198.51.100.1", "10.9.9.9"}, "198.51.100.1"},
		"only proxies":             {"10.1.2.3:1234", []string{"10.4.4.4, 10.5.5.5"}, "10.4.4.4"},
		"proxy without the header": {"10.1.2.3:1234", nil, "10.1.2.3"},
		"an empty header":          {"10.1.2.3:1234", []string{""}, "10.1.2.3"},
		"no address":               {"10.1.2.3:1234", []string{"198.51.100.1, unknown"}, "10.1.2.3"},
		"rubbish further left":     {"10.1.2.3:1234", []string{"rubbish,,, 198.51.100.1"}, "198.51.100.1"},
		"an empty hop":             {"10.1.2.3:1234", []string{"198.51.100.1,"}, "10.1.2.3"},
		"ports":                    {"10.1.2.3:1234", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		"IPv6":                     {"[2001:db8::1]:1234", []string{"2001:dead::1"}, "2001:dead::1"},
		"IPv6 in brackets":         {"[2001:db8::1]:1234", []string{"[2001:dead::1]:80"}, "2001:dead::1"},
		"IPv4 in IPv6":             {"[::ffff:10.1.2.3]:1234", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"a network of mapped IPv4": {"172.16.1.1:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		"a zone does not hide":     {"[fe80::1%eth0]:1234", nil, "fe80::1"},
		"no remote address at all": {"@", []string{"198.51.100.1"}, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.header}}
		if got := p.Client(r).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNobodyIsBelievedByDefault(t *testing.T) {
	t.Parallel()
	r := &http.Request{RemoteAddr: "10.1.2.3:1234", Header: http.Header{"X-Forwarded-For": {"198.51.100.1"}}}
	if got := (quota.Proxies{}).Client(r); got != netip.MustParseAddr("10.1.2.3") {
		t.Error(got)
	}
}

func TestWhatIsNoNetworkIsRefused(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"10.0.0.0/33", "localhost", "10.0.0.0/8;10.0.0.1", "::ffff:10.0.0.0/8", "10.0.0.256"} {
		if _, err := quota.ParseProxies(list); err == nil || !strings.Contains(err.Error(), "10.0.0.0/8") {
			t.Errorf("%q: %v", list, err)
		}
	}
}

func FuzzProxies(f *testing.F) {
	for _, s := range []string{"", "10.0.0.0/8", "::/0,0.0.0.0/0", "::ffff:1.2.3.4/100", "fe80::1%a/64", "1.2.3.4,,"} {
		f.Add(s, "10.0.0.1:1")
	}
	f.Fuzz(func(t *testing.T, list, remote string) {
		p, err := quota.ParseProxies(list)
		if err == nil {
			p.Client(&http.Request{RemoteAddr: remote})
		}
	})
}

func FuzzForwardedFor(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "1.2.3.4, 10.0.0.2", "[::1]:80", ",,,", "a,10.0.0.1,", "::ffff:1.2.3.4", strings.Repeat("10.0.0.1,", 100)} {
		f.Add(s)
	}
	p, err := quota.ParseProxies("10.0.0.0/8")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{RemoteAddr: "10.0.0.1:80", Header: http.Header{"X-Forwarded-For": {header}}}
		got := p.Client(r)
		if !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Errorf("%q: %v", header, got)
		}
		// Whatever stands to the left of a stranger's address changes nothing.
		r.Header.Set("X-Forwarded-For", header+", 198.51.100.1")
		if got := p.Client(r); got.String() != "198.51.100.1" {
			t.Errorf("%q before a stranger: %v", header, got)
		}
	})
}
