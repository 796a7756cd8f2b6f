package auth_test

import (
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

func TestRevokedTokensAreRefusedAlthoughTheyWereGoodAMomentAgo(t *testing.T) {
	t.Parallel()
	secret := []byte("a secret of at least thirty-two bytes")
	made := time.Now().Truncate(time.Second)
	for name, c := range map[string]struct {
		revoked auth.Revocation
		refused []string // of the tokens below
	}{
		"a token":                {auth.Revocation{TokenID: "t1"}, []string{"ada t1"}},
		"a token nobody has":     {auth.Revocation{TokenID: "t9"}, nil},
		"of a subject":           {auth.Revocation{Subject: "ada", Before: made.Add(time.Minute)}, []string{"ada t1", "ada t2", "ada"}},
		"of a subject, until":    {auth.Revocation{Subject: "ada", Before: made}, nil},
		"of everybody":           {auth.Revocation{Before: made.Add(time.Minute)}, []string{"ada t1", "ada t2", "ada", "ben"}},
		"of everybody, long ago": {auth.Revocation{Before: made.Add(-time.Minute)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			revoked := &auth.Revocations{}
			v, err := auth.NewVerifier(auth.Options{Secret: secret, Revoked: revoked})
			if err != nil {
				t.Fatal(err)
			}
			tokens := map[string]string{}
			for _, who := range []auth.Principal{{Subject: "ada", TokenID: "t1"}, {Subject: "ada", TokenID: "t2"}, {Subject: "ada"}, {Subject: "ben"}} {
				key := who.Subject
				if who.TokenID != "" {
					key += " " + who.TokenID
				}
				who.Roles = schema.User
				if tokens[key], err = auth.Sign(secret, who, time.Hour); err != nil {
					t.Fatal(err)
				}
				if _, err := v.Token(tokens[key]); err != nil { // and is remembered
					t.Fatal(err)
				}
			}
			changed := v.Changed()
			c.revoked.At = made
			if err := revoked.Add(c.revoked); err != nil {
				t.Fatal(err)
			}
			<-changed
			want := map[string]bool{}
			for _, key := range c.refused {
				want[key] = true
			}
			for key, token := range tokens {
				_, err := v.Token(token)
				if want[key] != fault.Is(err, fault.Unauthenticated) || want[key] != (err != nil) {
					t.Errorf("%s: %v", key, err)
				}
			}
			if err := v.Valid(auth.Principal{Subject: "ada"}); err != nil {
				t.Errorf("who came with a password: %v", err)
			}
		})
	}
}

func TestRevocationsAreForgottenWhenTheirTokensAreGone(t *testing.T) {
	t.Parallel()
	var r auth.Revocations
	now := time.Now()
	for _, x := range []auth.Revocation{
		{TokenID: "old", At: now.Add(-time.Hour)}, {TokenID: "new", At: now},
		{Subject: "old", Before: now.Add(-time.Hour), At: now}, {Subject: "new", Before: now, At: now},
		{Before: now.Add(-time.Hour), At: now},
	} {
		if err := r.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.Len(); n != 5 {
		t.Errorf("%d are there", n)
	}
	if r.Forget(now.Add(-time.Minute)); r.Len() != 2 {
		t.Errorf("%d are left", r.Len())
	}
}

func TestARevocationSaysWhatItRevokes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, x := range map[string]auth.Revocation{
		"nothing":                 {At: now},
		"a subject alone":         {Subject: "ada", At: now},
		"a token and a subject":   {TokenID: "t", Subject: "ada", At: now},
		"a token and a time":      {TokenID: "t", Before: now, At: now},
		"when it was made is not": {TokenID: "t"},
	} {
		if x.Check() == nil || new(auth.Revocations).Add(x) == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
