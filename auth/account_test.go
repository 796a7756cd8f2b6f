package auth_test

import (
	"testing"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

func hashOf(t testing.TB, password string) []byte {
	t.Helper()
	hash, err := auth.HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestReplacedAccountsCountAtOnce(t *testing.T) {
	t.Parallel()
	hash := hashOf(t, "old")
	a, err := auth.NewAccounts([]auth.Account{{User: "erp", Hash: hash, Roles: schema.User}, {User: "gone", Hash: hash}})
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"erp", "gone"} {
		if _, err := a.Password(user, "old", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Replace([]auth.Account{{User: "erp", Hash: hashOf(t, "new"), Roles: schema.Admin, Partner: auth.Partner{AllowCBC: true}}}); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"erp", "gone"} { // although they were remembered
		if _, err := a.Password(user, "old", nil); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s with the old password: %v", user, err)
		}
	}
	if who, err := a.Password("erp", "new", nil); err != nil || who.Roles != schema.Admin {
		t.Errorf("%+v %v", who, err)
	}
	if p := a.Partner("erp"); p.Name != "erp" || !p.AllowCBC {
		t.Errorf("%+v", p)
	}
	if p := a.Partner("gone"); p != (auth.Partner{}) {
		t.Errorf("%+v", p)
	}
}

func TestAccountsThatAreWrongLeaveThoseInForce(t *testing.T) {
	t.Parallel()
	a := accounts(t)
	cert := certify(t, "erp", nil, nil).cert
	in := []auth.CertificateRule{{Certificate: cert}}
	by := []auth.CertificateRule{{Issuer: "CN=Root", Subject: "CN=erp"}}
	for what, list := range map[string][]auth.Account{
		"nothing to know it by":         {{User: "erp"}},
		"two accounts of a certificate": {{User: "a", Certificates: in}, {User: "b", Certificates: in}},
		"issued, without an authority":  {{User: "a", Certificates: by}},
		"a rule that says nothing":      {{User: "a", Certificates: make([]auth.CertificateRule, 1)}},
	} {
		if err := a.Replace(list); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	if _, err := a.Password("partner", "right", nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	root := certify(t, "Root", nil, authority).cert
	if err := a.Replace([]auth.Account{{User: "a", Certificates: by}, {User: "b", Certificates: by}}, root); err == nil {
		t.Error("two accounts of a name were accepted")
	}
}

// The hash was made by the reference implementation (argon2 -id).
func TestHashesOfArgon2id(t *testing.T) {
	t.Parallel()
	a, err := auth.NewAccounts([]auth.Account{{User: "erp", Hash: []byte("$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Password("erp", "password", nil); err != nil {
		t.Error(err)
	}
	if _, err := a.Password("erp", "passwore", nil); !fault.Is(err, fault.Unauthenticated) {
		t.Error(err)
	}
	if _, err := auth.HashPassword(string(make([]byte, 257))); err == nil {
		t.Error("a password was hashed that is never accepted")
	}
}
