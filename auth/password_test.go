package auth_test

import (
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

func accounts(t testing.TB) *auth.Accounts {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.NewAccounts([]auth.Account{
		{User: "partner", Hash: hash, Roles: schema.Service},
		{User: "batch", Hash: hash, Subject: "acme", Roles: schema.User},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	a := accounts(t)
	for _, c := range []struct{ user, password, subject string }{
		{"partner", "right", "partner"},
		{"partner", "right", "partner"}, // remembered
		{"partner", "wrong", ""},        // although a right one is remembered
		{"batch", "right", "acme"},
		{"nobody", "right", ""},
		{"", "", ""},
		{"partner", "", ""},
		{"partner", strings.Repeat("x", 100), ""},
	} {
		p, err := a.Password(c.user, c.password, nil)
		if p.Subject != c.subject || (err == nil) != (c.subject != "") || err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%q %q: %+v, %v", c.user, c.password, p, err)
		}
	}
}

func TestPasswordsAreCheckedSideBySide(t *testing.T) {
	t.Parallel()
	a := accounts(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := a.Password("partner", "right", nil); err != nil {
				t.Error(err)
			}
			if _, err := a.Password("partner", "wrong", nil); err == nil {
				t.Error("a wrong password was accepted")
			}
		})
	}
	wg.Wait()
}

func TestNobodyIsKnownToNoAccounts(t *testing.T) {
	t.Parallel()
	var a *auth.Accounts
	if _, err := a.Password("partner", "right", nil); !fault.Is(err, fault.Unauthenticated) {
		t.Error(err)
	}
}

func TestBadAccountsAreRefused(t *testing.T) {
	t.Parallel()
	hash, _ := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
	for _, list := range [][]auth.Account{
		{{User: "a", Hash: []byte("plain")}},
		{{User: "", Hash: hash}},
		{{User: "a", Hash: hash}, {User: "a", Hash: hash}},
	} {
		if _, err := auth.NewAccounts(list); err == nil {
			t.Errorf("%+v: accepted", list)
		}
	}
}

func BenchmarkRememberedPassword(b *testing.B) {
	a := accounts(b)
	for b.Loop() {
		if _, err := a.Password("partner", "right", nil); err != nil {
			b.Fatal(err)
		}
	}
}
