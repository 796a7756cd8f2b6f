package soap_test

import (
	"net/http"
	"strings"
	"testing"

	"tidings/quota"
	"tidings/soap"
)

// Anybody can make the service use its keys: no more at a time than there are
// cores for, and what else is sent goes on.
func TestFewMessagesAreDecryptedAtATime(t *testing.T) {
	t.Parallel()
	v := newSafe(t)
	message := func() string { return encrypt(t, v.sign(t, v.alice, strings.Replace(bare, "BODY", createFish, 1))) }
	leave := v.service.CrowdDeciphering()
	resp, answer := v.post(t, http.Header{"Content-Type": {"text/xml"}}, message())
	if !strings.Contains(answer, "soap:Server") || !strings.Contains(answer, "too many encrypted messages") || resp.Header.Get("Retry-After") == "" {
		t.Errorf("while others are decrypted: %v %s", resp.Header, answer)
	}
	if answer := v.call(t, strings.Replace(bare, "BODY", "<t:ListUsers/>", 1)); !strings.Contains(answer, "ListUsersResponse") {
		t.Errorf("a message in the clear: %s", answer)
	}
	leave()
	if answer := v.call(t, message()); !strings.Contains(answer, "CreatePostResponse") && !strings.Contains(answer, "EncryptedData") {
		t.Errorf("afterwards: %s", answer)
	}
}

// Messages that turn out to be nobody's count like wrong passwords.
func TestMessagesOfNobodyThatNeedAKeyAreCounted(t *testing.T) {
	t.Parallel()
	v := newSafe(t, func(o *soap.Options) { o.Quota = quota.New(nil, quota.Options{WrongFrom: 3}) })
	good := func() string { return encrypt(t, v.sign(t, v.alice, strings.Replace(bare, "BODY", createFish, 1))) }
	forged := func() string {
		return encrypt(t, strings.Replace(v.sign(t, v.alice, strings.Replace(bare, "BODY", createFish, 1)), "title>", "title>x", 1))
	}
	for range 5 {
		if answer := v.call(t, good()); strings.Contains(answer, "Fault") {
			t.Fatalf("a partner's: %s", answer)
		}
	}
	for range 3 {
		if answer := v.call(t, forged()); !strings.Contains(answer, "Fault") || strings.Contains(answer, "RATE_LIMITED") {
			t.Fatalf("a forged one: %s", answer)
		}
	}
	if answer := v.call(t, forged()); !strings.Contains(answer, "RATE_LIMITED") || !strings.Contains(answer, "retryAfterSeconds") {
		t.Errorf("a fourth: %s", answer)
	}
}
