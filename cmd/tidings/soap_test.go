package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the WSDL of a service says is enough to call it, in both versions of SOAP.
func TestSOAPIsCalledByTheWSDL(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	url, token := serves(t, dir)
	input := filepath.Join(dir, "input.json")
	if err := os.WriteFile(input, []byte(`{"inputs": [{"text": "a"}, {"text": "b < c", "clientRef": "2"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stdin, args, out, errs string
		status                 int
	}{
		{args: "", out: "CreateNotes\n"},
		{args: "CreateNote text=Hello --token " + token, out: `"ownerId":"alice","text":"Hello","done":false,"list":null`},
		{args: "CreateNote input.text=12 --soap 1.2 --token " + token, out: `"text":"12"`},
		{args: "CreateNotes @" + input + " --token " + token, out: `"text":"b < c"`},
		{stdin: `{"text": "from there"}`, args: "CreateNote - --token " + token, out: `"from there"`},
		{args: "ListNotes --xml", out: "<soap:Envelope", status: 0},
		{args: "GetNote id=nobody", out: `{"fault":{"code":"NOT_FOUND"`, errs: "NOT_FOUND", status: statusAnswer},
		{args: "GetNote id=nobody --soap 1.2", out: `{"fault":{"code":"NOT_FOUND"`, errs: "NOT_FOUND", status: statusAnswer},
		{args: "GetNote id=a --print", out: "<id>a</id></GetNote>"},
		{args: "GetNote id=a --print --username u --password p", out: "<w:Username>u</w:Username><w:Password"},
		{args: "GetNote", errs: "GetNote wants id", status: statusUsage},
		{args: "GetNote id=a other=b", errs: "GetNote has no other; it has id", status: statusUsage},
		{args: "GetNobody", errs: "there is no operation GetNobody", status: statusUsage},
		{args: "createNot text=x", errs: "did you mean CreateNote?", status: statusUsage},
		{args: "GetNote idd=a", errs: "GetNote has no idd; did you mean id? It has id", status: statusUsage},
		{args: "CreateNote txt=a", errs: "CreateNote.input has no txt; did you mean text? It has ", status: statusUsage},
		{args: "CreateNote input.txet=a", errs: "CreateNote.input has no txet; did you mean text?", status: statusUsage},
		{args: "CreateNote", errs: "CreateNote.input wants text", status: statusUsage},
		{args: "GetNote id", errs: "name=value", status: statusUsage},
		{args: "GetNote id=a --version v9", errs: "there is no version v9", status: statusUsage},
		{args: "GetNote id=a --soap 2", errs: "1.1 or 1.2", status: statusUsage},
	} {
		out, errs, status := calls(t, c.stdin, append([]string{"soap", "call", "--url", url}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: status %d, %s%s", c.args, status, errs, out)
		}
		if status == 0 && strings.HasPrefix(out, "{") && !json.Valid([]byte(out)) {
			t.Errorf("%s: %s", c.args, out)
		}
	}
	if out, errs, status := calls(t, "", "soap", "wsdl", "--url", url); status != 0 || !strings.Contains(out, "<wsdl:definitions") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// An account comes with its password in clear, and with a digest of its secret.
func TestSOAPIsCalledByAnAccount(t *testing.T) {
	t.Parallel()
	dir, address := notes(t), freeAddress(t)
	printed, _, _ := calls(t, "", "soap", "secret", "erp")
	lines := strings.Split(printed, "\n")
	secret, account := strings.Fields(lines[0])[1], strings.TrimSpace(strings.TrimPrefix(lines[2], "account"))
	account = strings.Replace(account, `"SERVICE"`, `"SERVICE","USER"`, 1)
	files := operationsIn(t, map[string]string{"accounts.json": "[" + account + "]", "secret": secret + "\n"})
	p := launch(t, "dev", dir, "--listen", address, "--admin", "", "--accounts", filepath.Join(files, "accounts.json"))
	p.says(t, "ADMIN_TOKEN=")
	for _, digest := range []string{"", "--digest"} {
		args := strings.Fields("soap call CreateNote text=x --username erp --password-file " + filepath.Join(files, "secret") + " --url " + address + " " + digest)
		if out, errs, status := calls(t, "", args...); status != 0 || !strings.Contains(out, `"ownerId":"erp"`) {
			t.Errorf("%s: status %d, %s%s", digest, status, errs, out)
		}
	}
	if _, errs, status := calls(t, "", "soap", "call", "CreateNote", "text=x", "--username", "erp", "--password", "wrong", "--url", address); status != statusAnswer {
		t.Errorf("status %d, %s", status, errs)
	}
}
