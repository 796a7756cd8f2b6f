package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"tidings/auth"
)

// What the commands print goes into an accounts file as it is.
func TestSoapCommandsMakeAccounts(t *testing.T) {
	t.Parallel()
	var secret, password strings.Builder
	if err := soapCommand([]string{"secret", "erp"}, nil, &secret); err != nil {
		t.Fatal(err)
	}
	if err := soapCommand([]string{"password"}, strings.NewReader("correct horse\r\n"), &password); err != nil {
		t.Fatal(err)
	}
	human, err := json.Marshal(map[string]any{"name": "human", "password": strings.TrimSpace(password.String()), "secrets": []string{find(t, secret.String(), `sum +(\S+)`)}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := auth.ParseAccounts([]byte("[" + find(t, secret.String(), `account +(\S.*)`) + "," + string(human) + "]"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.NewAccounts(list)
	if err != nil {
		t.Fatal(err)
	}
	plain := find(t, secret.String(), `secret +(\S+)`)
	for _, c := range [][2]string{{"erp", plain}, {"human", plain}, {"human", "correct horse"}} {
		if _, err := a.Password(c[0], c[1], nil); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	for _, args := range [][]string{nil, {"secret"}, {"key", "erp"}, {"certificate", filepath.Join(t.TempDir(), "none")}, {"certificate", "soap_test.go"}} {
		if err := soapCommand(args, strings.NewReader(""), &secret); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	if err := soapCommand([]string{"--help"}, nil, &secret); err != nil || !strings.Contains(secret.String(), "api soap certificate FILE") {
		t.Errorf("help: %v", err)
	}
	if err := soapCommand([]string{"password"}, strings.NewReader("\n"), &secret); err == nil {
		t.Error("no password was hashed")
	}
}
