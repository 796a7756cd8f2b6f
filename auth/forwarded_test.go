package auth_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"tidings/auth"
)

func TestWhatProxiesTellOfCertificates(t *testing.T) {
	t.Parallel()
	leaf, between := certify(t, "erp", nil, nil).cert, certify(t, "Between", nil, authority).cert
	one, two := base64.StdEncoding.EncodeToString(leaf.Raw), base64.StdEncoding.EncodeToString(between.Raw)
	both := pemOf(leaf) + pemOf(between)
	escaped := url.PathEscape(pemOf(leaf)) // leaves + as it is, as AWS does
	for what, c := range map[string]struct {
		value string
		want  int
	}{
		"none":                {"  ", 0},
		"RFC 9440":            {":" + one + ":", 1},
		"RFC 9440, the chain": {":" + one + ":, :" + two + ":", 2},
		"nginx":               {strings.ReplaceAll(url.QueryEscape(pemOf(leaf)), "+", "%20"), 1},
		"AWS":                 {url.PathEscape(both), 2},
		"PEM on one line":     {strings.ReplaceAll(both, "\n", " "), 2},
		"PEM with tabs":       {strings.ReplaceAll(pemOf(leaf), "\n", "\t"), 1},
		"Traefik":             {one + "," + two, 2},
		"Envoy":               {`By=spiffe://a/b;Hash=00ff;Cert="` + escaped + `";Subject="CN=erp,O=\"Acme, Inc.\"";URI=`, 1},
		"Envoy, the chain":    {`Hash=00ff;Cert="` + escaped + `";Chain="` + url.PathEscape(both) + `"`, 2},
		// What came to a proxy that appends does not reach into what it appends.
		"Envoy, an open quote before it":  {`Cert="` + url.PathEscape(pemOf(between)) + `";Subject=",By=x;Cert="` + escaped + `"`, 1},
		"Envoy, an open quote and escape": {`Cert="` + url.PathEscape(pemOf(between)) + `";Subject="\,By=x;Cert="` + escaped + `";Subject="CN=\""`, 1},
		"Envoy, of two":                   {`Cert="` + url.PathEscape(pemOf(between)) + `",By=x;Cert="` + escaped + `"`, 1},
	} {
		chain, err := auth.ParseForwarded(c.value)
		if err != nil || len(chain) != c.want || c.want > 0 && !chain[0].Equal(leaf) || c.want > 1 && !chain[1].Equal(between) {
			t.Errorf("%s: %d certificates, %v", what, len(chain), err)
		}
	}
	for what, value := range map[string]string{
		"a hash alone":          "Hash=00ff;Subject=\"CN=erp\"",
		"the last one is empty": `Cert="` + escaped + `",By=x`,
		"rubbish":               "yes",
		"a verdict":             "SUCCESS",
		"half of RFC 9440":      ":" + one,
		"wrong escapes":         "%zz",
		"a key":                 "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
		"something behind":      pemOf(leaf) + "x",
		"too many":              strings.Repeat(one+",", 8) + one,
		"too long":              strings.Repeat("A", 70_000),
		"Envoy, twice":          `By=x;Cert="` + url.PathEscape(pemOf(between)) + `";Cert="` + escaped + `"`,
		"Envoy, no end":         `By=x;Cert="` + escaped,
	} {
		if chain, err := auth.ParseForwarded(value); err == nil {
			t.Errorf("%s: %d certificates", what, len(chain))
		}
	}
}

func FuzzForwarded(f *testing.F) {
	leaf := certify(f, "erp", nil, nil).cert
	one := base64.StdEncoding.EncodeToString(leaf.Raw)
	for _, value := range []string{":" + one + ":", url.QueryEscape(pemOf(leaf)), one + "," + one, `By=x;Cert="` + url.PathEscape(pemOf(leaf)) + `",Hash=a;Chain="\""`, "Subject=\"\\"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		chain, err := auth.ParseForwarded(value)
		if len(chain) > 8 || err == nil && len(chain) == 0 && strings.TrimSpace(value) != "" {
			t.Errorf("%q: %d certificates, %v", value, len(chain), err)
		}
	})
}
