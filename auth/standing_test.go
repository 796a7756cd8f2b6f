package auth_test

import (
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

func TestWhoWorksOnIsTheCallerAsLongAsTheAccountStands(t *testing.T) {
	t.Parallel()
	secret := auth.NewSecret()
	a, err := auth.NewAccounts([]auth.Account{{User: "erp", Subject: "acme", Roles: schema.User | schema.Service, Secrets: []string{secret}}})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		who   auth.Principal
		stand bool
	}{
		"the account":     {auth.Principal{Subject: "acme", Roles: schema.User | schema.Service}, true},
		"some of its":     {auth.Principal{Subject: "acme", Roles: schema.Service}, true},
		"more than it":    {auth.Principal{Subject: "acme", Roles: schema.Admin}, false},
		"another subject": {auth.Principal{Subject: "erp", Roles: schema.User}, false},
		"a token's":       {auth.Principal{Subject: "x", Roles: schema.Admin, Expires: time.Unix(1, 0)}, true},
	} {
		if err := a.Standing(c.who); (err == nil) != c.stand || !c.stand && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if (*auth.Accounts)(nil).Standing(auth.Principal{Subject: "acme"}) == nil {
		t.Error("nobody's accounts know somebody")
	}
}
