package tool_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidings/auth"
	"tidings/cmd/internal/tool"
)

// What the commands print goes into an accounts file as it is.
func TestSoapCommandsMakeAccounts(t *testing.T) {
	t.Parallel()
	var secret, password strings.Builder
	if err := soapSays(t, nil, &secret, "secret", "erp"); err != nil {
		t.Fatal(err)
	}
	if err := soapSays(t, strings.NewReader("correct horse\r\n"), &password, "password"); err != nil {
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
	file := filepath.Join(t.TempDir(), "accounts.json")
	if err := os.WriteFile(file, []byte("[\n"+find(t, secret.String(), `account +(\S.*)`)+","+string(human)+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var listed strings.Builder
	if err := soapSays(t, nil, &listed, "accounts", file); err != nil {
		t.Fatal(err)
	}
	if want := "NAME   SUBJECT  ROLES    KNOWN BY\nerp    erp      SERVICE  secrets: 1\nhuman  human             password, secrets: 1\n"; listed.String() != want {
		t.Errorf("listed:\n%s", listed.String())
	}
	if err := soapSays(t, nil, &listed, "accounts", "soap_test.go"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a file of something else: %v", err)
	}
	for _, args := range [][]string{nil, {"secret"}, {"key", "erp"}, {"certificate", filepath.Join(t.TempDir(), "none")}, {"certificate", "soap_test.go"}} {
		if err := soapSays(t, strings.NewReader(""), &secret, args...); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	if err := soapSays(t, nil, &secret, "--help"); err != nil || !strings.Contains(secret.String(), "api soap certificate FILE") {
		t.Errorf("help: %v", err)
	}
	if err := soapSays(t, strings.NewReader("\n"), &secret, "password"); err == nil {
		t.Error("no password was hashed")
	}
}

func soapSays(t *testing.T, stdin io.Reader, stdout io.Writer, args ...string) error {
	t.Helper()
	return tool.Run(t.Context(), "soap", tool.Call{Program: "api", Args: args, Stdin: stdin, Stdout: stdout, Stderr: io.Discard})
}

func find(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return m[1]
}
