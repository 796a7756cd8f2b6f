package auth_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tidings/auth"
	"tidings/schema"
)

const bcryptOfRight = "$2a$04$EQTbwSsd3LDbnkVkGOHUHuAlY6sLGBfYyCmPPWeuM4RUROHTs2rNK"

func TestAccountsAreReadFromLines(t *testing.T) {
	t.Parallel()
	list, err := auth.ParseAccounts([]byte("# partners\n\nacme:" + bcryptOfRight + ":USER, service:acme-inc\r\n  b:" + bcryptOfRight + "::\n"))
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	if a := list[0]; a.User != "acme" || a.Subject != "acme-inc" || a.Roles != schema.User|schema.Service || string(a.Hash) != bcryptOfRight {
		t.Errorf("%+v", a)
	}
	if b := list[1]; b.User != "b" || b.Subject != "" || b.Roles != 0 {
		t.Errorf("%+v", b)
	}
}

func TestAccountsAreReadFromJSON(t *testing.T) {
	t.Parallel()
	cert := certify(t, "erp", nil, nil).cert
	secret := auth.NewSecret()
	text, err := json.Marshal([]map[string]any{
		{"name": "erp", "subject": "acme", "roles": []string{"USER", "SERVICE"}, "secrets": []string{secret}, "requireSignature": true,
			"allowSHA1": true, "allowCBC": true, "allowRSA15": true, "encryptionCertificate": pemOf(cert),
			"certificates": []map[string]string{{"certificate": pemOf(cert)}, {"sha256": strings.Repeat("AB:", 31) + "ab"}, {"issuer": "CN=Root", "subject": "CN=erp"}}},
		{"name": "human", "password": bcryptOfRight},
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := auth.ParseAccounts(text)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	erp := list[0]
	if erp.User != "erp" || erp.Subject != "acme" || erp.Roles != schema.User|schema.Service || erp.Secrets[0] != secret || len(erp.Certificates) != 3 {
		t.Errorf("%+v", erp)
	}
	if p := erp.Partner; !p.AllowSHA1 || !p.AllowCBC || !p.AllowRSA15 || !p.RequireSignature || !p.Encryption.Equal(cert) {
		t.Errorf("%+v", p)
	}
	if c := erp.Certificates; !c[0].Certificate.Equal(cert) || c[1].Fingerprint[31] != 0xab || c[2].Issuer != "CN=Root" || c[2].Subject != "CN=erp" {
		t.Errorf("%+v", c)
	}
	if list, err := auth.ParseAccounts([]byte(" [] \n")); err != nil || len(list) != 0 {
		t.Errorf("none: %+v %v", list, err)
	}
}

// An operator must find what is wrong without anybody else learning a secret.
func TestABrokenFileTellsTheLineAndNoSecret(t *testing.T) {
	t.Parallel()
	secret := auth.NewSecret()
	for text, want := range map[string]string{
		"a:" + bcryptOfRight + ":USER\nb:hash:USER": "line 2: the password is no hash",
		"a:" + secret:           "line 1: want name:hash",
		"a:" + secret + ":USER": "line 1: the password is no hash",
		"a:USER:" + secret:      "line 1: the roles",
		"a:$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA:USER":                  "line 1: the argon2id hash is out of bounds",
		"a:$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA:USER":              "line 1: the argon2id hash has a salt",
		"a:$argon2id$v=19$m=999999999,t=2,p=1$AAAA$AAAA:USER":          "line 1: the argon2id hash is out of bounds",
		"[\n{\"name\": \"a\"}\n]":                                      `line 2, account "a": it has no password`,
		"[\n\n{\"password\": \"" + bcryptOfRight + "\"}]":              "line 3, account \"\": the name is empty",
		"[\n{\"name\": \"a\", \"secrets\": [\"s3cret\"]}]":             "line 2, account \"a\": secret 1: it was not made by",
		"[\n{\"name\": \"" + secret + "\"}]":                           "line 2, account with a secret",
		"[\n{\"" + secret + "\": 1}]":                                  "line 2: a member has no known name",
		"[\n{\"nmae\": \"a\"}]":                                        `line 2: unknown field "nmae"`,
		"[\n{\"name\": [\"" + secret + "\"]}]":                         "line 2: name cannot be a array",
		"[\n{\"name\": \"a\",\n\"secrets\" \"" + secret + "\"}":        "line 3: invalid character",
		"[\n{\"name\": \"a\",\n":                                       "line 3: the accounts end too early",
		"[\n{\"name\": \"a\", \"secrets\": [\"" + secret + "\"]}\n{}]": "line 3: ",
		"[]\n[]": "line 2: something follows",
		"a:" + strings.Replace(bcryptOfRight, "$04$", "$31$", 1) + ":USER":                                                "line 1: the bcrypt hash is out of bounds",
		"[\n{\"name\": \"a\", \"requireSignature\": true, \"requireSignature\": false}]":                                  `line 2: the member "requireSignature" is there twice`,
		"[\n{\"name\": \"a\", \"password\": \"" + bcryptOfRight + "\", \"roles\": [\"USER\"], \"Roles\": [\"ADMIN\"]}]":   `line 2: the member "Roles" is there twice`,
		"[\n{\"name\": \"a\", \"certificates\": [{\"issuer\": \"CN=a\", \"subject\": \"CN=b\", \"subject\": \"CN=c\"}]}]": `line 2: the member "subject" is there twice`,
		"[{\"name\": \"a\", \"roles\": [\"" + secret + "\"]}]":                                                            "line 1, account \"a\": the roles",
		"[{\"name\": \"a\", \"certificates\": [{}]}]":                                                                     "certificate 1: say one of",
		"[{\"name\": \"a\", \"certificates\": [{\"sha256\": \"ab\"}]}]":                                                   "certificate 1: sha256 is a fingerprint",
		"[{\"name\": \"a\", \"certificates\": [{\"issuer\": \"CN=a\"}]}]":                                                 "certificate 1: issuer and subject belong together",
		"[{\"name\": \"a\", \"certificates\": [{\"certificate\": \"!\"}]}]":                                               "certificate 1: it is neither PEM nor base64",
		"[{\"name\": \"a\", \"password\": \"plain\"}]":                                                                    "line 1, account \"a\": the password is no hash",
		"[{\"name\": \"a\", \"secrets\": [\"" + secret + "\"], \"encryptionCertificate\": \"AAAA\"}]":                     "encryptionCertificate: it is no certificate",
	} {
		_, err := auth.ParseAccounts([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "$2a$") || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s\nshows a secret: %v", text, err)
		}
	}
}

func FuzzAccounts(f *testing.F) {
	f.Add([]byte("acme:" + bcryptOfRight + ":USER,SERVICE:acme-inc\n"))
	f.Add([]byte(`[{"name": "erp", "roles": ["USER"], "secrets": ["` + auth.NewSecret() + `"], "certificates": [{"sha256": "` + strings.Repeat("ab", 32) + `"}, {"issuer": "CN=a", "subject": "CN=b"}]}]`))
	f.Add([]byte("[{\"name\": \"a\", \"encryptionCertificate\": \"" + strings.ReplaceAll(pemOf(certify(f, "a", nil, nil).cert), "\n", `\n`) + "\"}]"))
	f.Add([]byte("a:$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$c3Vtc3Vtc3Vtc3Vtc3Vt:USER"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := auth.ParseAccounts(text)
		if err != nil {
			if strings.Contains(err.Error(), "tds_") {
				t.Errorf("shows a secret: %v", err)
			}
			return
		}
		a, err := auth.NewAccounts(list)
		if err != nil {
			return // names that are there twice, or an authority that is not there
		}
		for _, acc := range list {
			if a.Partner(acc.User).Name != acc.User {
				t.Errorf("the account %q is not there", acc.User)
			}
		}
	})
}
