package soap_test

import (
	"strings"
	"testing"
	"time"

	"tidings/soap"
)

// Whatever is in a UsernameToken, it is refused or has what a check needs.
func FuzzUsernameToken(f *testing.F) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f.Add(digestToken("erp", erpSecret, []byte("0123456789abcdef"), "2026-11-20T11:59:00.123Z"))
	f.Add(digestToken("erp", erpSecret, []byte("0123456789abcdef"), "2026-11-20T12:00:30+00:00"))
	f.Add(textToken("erp", "a &amp; b", ""))
	f.Add(textToken("erp", "<![CDATA[x]]>", "<w:Nonce>MTIzNDU2Nzg=</w:Nonce><u:Created>2026-11-20T24:00:00Z</u:Created>"))
	f.Fuzz(func(t *testing.T, token string) {
		if !strings.Contains(token, "UsernameToken") {
			token = "<w:UsernameToken>" + token + "</w:UsernameToken>"
		}
		c, err := soap.ReadCredentials([]byte(message(token)), now)
		if err != nil || c == nil {
			return
		}
		switch {
		case c.Digest != nil && (len(c.Digest) != 20 || c.Nonce == nil || c.Created == ""):
			t.Errorf("a digest that cannot be checked: %+v", c)
		case c.Nonce != nil && (len(c.Nonce) < 8 || len(c.Nonce) > 64):
			t.Errorf("a nonce of %d bytes", len(c.Nonce))
		case len(c.User) > 256 || len(c.Created) > 64:
			t.Errorf("too long: %+v", c)
		case c.Created != "" && !strings.Contains(c.Created, "2026-11-2"):
			t.Errorf("out of the window: %s", c.Created)
		}
	})
}
