package auth_test

import (
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

// A token that was found good is good until it expires and no longer.
func TestAVerifiedTokenEndsWhenItExpires(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef0123456789abcdef")
	now := time.Now()
	v, err := auth.NewVerifier(auth.Options{Secret: secret, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.Sign(secret, auth.Principal{Subject: "alice", Roles: schema.User}, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		for range 2 {
			who, err := v.Token(token)
			if err != nil || who.Subject != "alice" || who.Roles != schema.User {
				t.Fatalf("%+v, %v", who, err)
			}
		}
		now = now.Add(time.Minute)
	}
	now = now.Add(2 * time.Minute)
	if _, err := v.Token(token); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("an expired token: %v", err)
	}
}

// A token that differs in one letter is verified by itself.
func TestATokenLikeAVerifiedOneIsNotTaken(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef0123456789abcdef")
	v, err := auth.NewVerifier(auth.Options{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.Sign(secret, auth.Principal{Subject: "alice"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Token(token); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{token + "A", token[:len(token)-2], "A" + token} {
		if _, err := v.Token(bad); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
