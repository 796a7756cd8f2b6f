package edge

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// withPassword is an envelope of a caller who has a name and a password.
func withPassword(user, password string) string {
	const wsse = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	header := fmt.Sprintf(`<soap:Header><w:Security xmlns:w=%q><w:UsernameToken><w:Username>%s</w:Username><w:Password>%s</w:Password></w:UsernameToken></w:Security></soap:Header><soap:Body>`, wsse, user, password)
	return strings.Replace(envelope, "<soap:Body>", header, 1)
}

// Wrong passwords are refused for a while from their address and for their account.
func limitOfPasswords(t *testing.T) {
	s := newService(t, "--dev", "--trusted-proxies", "127.0.0.0/8,::1", "--rate-passwords", "2/3")
	try := func(address, user, password string) (*http.Response, string) {
		return s.call(t, "POST", "/v1/SocialService", withPassword(user, password), "Content-Type: text/xml", "X-Forwarded-For: "+address)
	}
	wrong := func(address, user string) bool {
		t.Helper()
		resp, body := try(address, user, "wrong")
		switch {
		case resp.StatusCode == 500 && strings.Contains(body, "FailedAuthentication") && strings.Contains(body, "UNAUTHENTICATED"):
			return true
		case resp.StatusCode == 500 && strings.Contains(body, "RATE_LIMITED") && strings.Contains(body, "<tns:retryAfterSeconds>") && resp.Header.Get("Retry-After") != "":
			return false
		}
		t.Fatalf("%d %v %s", resp.StatusCode, resp.Header, body)
		return false
	}
	for i := range 2 {
		if !wrong("192.0.2.1", fmt.Sprint("name", i)) {
			t.Fatalf("refused at once: %d", i)
		}
	}
	if wrong("192.0.2.1", "name9") {
		t.Error("a 3rd from the address was looked at")
	}
	for i := range 3 {
		if !wrong(fmt.Sprintf("198.51.100.%d", i), "erp") {
			t.Fatalf("another address pays for it: %d", i)
		}
	}
	if wrong("203.0.113.1", "erp") {
		t.Error("a 4th for the account was looked at")
	}
	if resp, body := s.call(t, "POST", "/v1/SocialService", envelope, "Content-Type: text/xml", "X-Forwarded-For: 192.0.2.1"); strings.Contains(body, "RATE_LIMITED") {
		t.Errorf("calls without a password are refused too: %d %s", resp.StatusCode, body)
	}
}
