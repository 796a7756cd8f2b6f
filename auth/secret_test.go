package auth_test

import (
	"crypto/sha1"
	"slices"
	"strings"
	"testing"

	"tidings/auth"
	"tidings/fault"
)

// digestOf is what a caller with the secret sends.
func digestOf(user, secret, nonce, created string) auth.Digest {
	sum := sha1.Sum([]byte(nonce + created + secret))
	return auth.Digest{User: user, Nonce: []byte(nonce), Created: created, Sum: sum[:]}
}

func TestSecretsArePasswordsAndMakeDigests(t *testing.T) {
	t.Parallel()
	plain, second, summed, foreign := auth.NewSecret(), auth.NewSecret(), auth.NewSecret(), auth.NewSecret()
	human, err := auth.HashPassword("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.NewAccounts([]auth.Account{
		{User: "erp", Subject: "acme", Secrets: []string{plain, second}},
		{User: "crm", Secrets: []string{auth.SumSecret(summed)}, Hash: human},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, secret   string
		text, inDigest bool
	}{
		{"erp", plain, true, true}, {"erp", second, true, true}, {"erp", foreign, false, false},
		{"crm", summed, true, false}, {"crm", plain, false, false}, {"nobody", plain, false, false},
		{"crm", "correct horse", true, false}, {"crm", "", false, false}, {"erp", "", false, false},
		{"crm", auth.SumSecret(summed), false, false},
	} {
		if who, err := a.Password(c.user, c.secret, nil); (err == nil) != c.text || who.Anonymous() == c.text {
			t.Errorf("%s %s as a password: %+v %v", c.user, c.secret, who, err)
		}
		who, err := a.Digest(digestOf(c.user, c.secret, "0123456789abcdef", "2026-11-20T12:00:00Z"), nil)
		if (err == nil) != c.inDigest || who.Anonymous() == c.inDigest || err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s %s in a digest: %+v %v", c.user, c.secret, who, err)
		}
	}
	changed := digestOf("erp", plain, "0123456789abcdef", "2026-11-20T12:00:00Z")
	changed.Created = "2026-11-20T12:00:01Z"
	if _, err := a.Digest(changed, nil); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("another time: %v", err)
	}
}

func TestWrongSecretsCountAndRightOnesAreNeverRefused(t *testing.T) {
	t.Parallel()
	secret, s := auth.NewSecret(), &tries{}
	a, err := auth.NewAccounts([]auth.Account{{User: "erp", Secrets: []string{secret}}})
	if err != nil {
		t.Fatal(err)
	}
	wrong := digestOf("erp", auth.NewSecret(), "0123456789", "2026-11-20T12:00:00Z")
	_, _ = a.Digest(wrong, s)
	_, _ = a.Password("erp", auth.NewSecret(), s)
	_, _ = a.Digest(digestOf("nobody", secret, "0123456789", ""), s)
	if n := s.wrong.Load(); n != 3 {
		t.Errorf("%d were counted, want 3", n)
	}
	s.shut.Store(true)
	if _, err := a.Digest(wrong, s); !fault.Is(err, fault.RateLimited) {
		t.Errorf("too many: %v", err)
	}
	_, byText := a.Password("erp", secret, s)
	_, byDigest := a.Digest(digestOf("erp", secret, "0123456789", "2026-11-20T12:00:00Z"), s)
	if byText != nil || byDigest != nil {
		t.Errorf("who is right was locked out: %v, %v", byText, byDigest)
	}
}

func TestOnlyGeneratedSecretsAreAccepted(t *testing.T) {
	t.Parallel()
	good := auth.NewSecret()
	i := strings.IndexByte("abcdefghijklmnopqrstuvwxyz234567", good[10])
	misspelt := good[:10] + string("abcdefghijklmnopqrstuvwxyz234567"[(i+1)%32]) + good[11:]
	for _, bad := range []string{"", "secret", "tds_" + strings.Repeat("a", 40), good[:len(good)-1], good + "a", strings.ToUpper(good), misspelt, "sha256:", "sha256:" + strings.Repeat("z", 64), "sha256:abcd"} {
		_, err := auth.NewAccounts([]auth.Account{{User: "erp", Secrets: []string{bad}}})
		if err == nil || bad != "" && bad != "sha256:" && strings.Contains(err.Error(), bad) && len(bad) > 6 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := auth.NewAccounts([]auth.Account{{User: "erp", Secrets: slices.Repeat([]string{good}, 9)}}); err == nil {
		t.Error("nine secrets were accepted")
	}
	key := []byte("a key")
	if s := auth.DerivedSecret(key, "erp"); s != auth.DerivedSecret(key, "erp") || s == auth.DerivedSecret(key, "crm") {
		t.Errorf("derived: %s", s)
	} else if _, err := auth.NewAccounts([]auth.Account{{User: "erp", Secrets: []string{s}}}); err != nil {
		t.Error(err)
	}
}
