package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatInitWritesIsASchemaAndIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	out, errs, status := calls(t, "", "schema", "print", "--schema", dir)
	if status != 0 || !strings.Contains(out, "noteChanged(") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "schema.graphql"), []byte("# mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := calls(t, "", "init", dir); status != statusUsage || !strings.Contains(errs, "has a schema already") {
		t.Errorf("again: status %d, %s", status, errs)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "schema.graphql")); string(text) != "# mine" {
		t.Errorf("it was written over: %v\n%s", err, text)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".gitignore")); string(text) != ".tidings/\n" {
		t.Errorf("%v %s", err, text)
	}
}

func TestDevSaysWhatToDoWhenTheAddressIsTaken(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	url, _ := serves(t, dir)
	_, errs, status := calls(t, "", "dev", dir, "--listen", strings.TrimPrefix(url, "http://"), "--admin", "", "--data", t.TempDir())
	if status != statusUsage || !strings.Contains(errs, "tidings dev "+dir+" --listen 127.0.0.1:") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// What dev prints can be pasted as it stands.
func TestWhatDevPrintsToPasteIsAnswered(t *testing.T) {
	t.Parallel()
	p := launch(t, "dev", notes(t), "--listen", "127.0.0.1:0", "--admin", "")
	p.says(t, "tidings schema print")
	pasted := 0
	for line := range strings.Lines(p.out.String()) {
		operation, rest, ok := strings.Cut(strings.TrimPrefix(line, "tidings query '"), "' ")
		if !ok || !strings.HasPrefix(line, "tidings query") {
			continue
		}
		pasted++
		if out, errs, status := calls(t, "", append([]string{"query", operation}, strings.Fields(rest)...)...); status != 0 {
			t.Errorf("%s: status %d, %s%s", line, status, errs, out)
		}
	}
	if pasted != 1 {
		t.Errorf("%d queries to paste in\n%s", pasted, p.out.String())
	}
}

// What dev promises: a saved change is taken up while clients stay.
func TestDevTakesUpAChangedSchema(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	url, _ := serves(t, dir)
	file := filepath.Join(dir, "schema.graphql")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "  done: Boolean!", "  colour: String\n  done: Boolean!", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		_, _, status := calls(t, "", "query", "{ notes { nodes { colour } } }", "--url", url)
		return status == 0
	}, func() string { return "the change was not taken up" })
}

func TestQueryAnswersAndItsStatusSaysHow(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	url, token := serves(t, dir)
	file, variables := filepath.Join(dir, "create.txt"), filepath.Join(dir, "v.json")
	const create = `mutation($text: String!) { createNote(input: {text: $text}) { text ownerId } }`
	for name, content := range map[string]string{file: create, variables: `{"text": "from a file"}`, filepath.Join(dir, "token"): token + "\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		stdin  string
		args   []string
		out    string
		status int
	}{
		{"", []string{file, "--variables", "@" + variables, "--token-file", filepath.Join(dir, "token")}, `"text":"from a file","ownerId":"alice"`, 0},
		{"", []string{`query($n: Int!, $of: ID) { notes(first: $n, filter: {list: {ne: $of}}) { totalCount } }`, "-v", "n=1", "-v", "of=nobody"}, `"totalCount":`, 0},
		{"{ notes { totalCount } }", []string{"-"}, `"totalCount":1`, 0},
		{"{ notes { totalCount } }", nil, `"totalCount":1`, 0},
		{"", []string{`query A { __typename } query B { notes { totalCount } }`, "--operation", "B"}, `"totalCount":1`, 0},
		{"", []string{`{ nots }`}, `GRAPHQL_VALIDATION_FAILED`, statusAnswer},
		{"", []string{`{ lists { nodes { id } } }`, "--token", "nonsense"}, `UNAUTHENTICATED`, statusAnswer},
		{" ", nil, "", statusUsage},
	} {
		out, errs, status := calls(t, c.stdin, append([]string{"query", "--url", url}, c.args...)...)
		if status != c.status || !strings.Contains(out, c.out) {
			t.Errorf("%v: status %d, %s%s", c.args, status, errs, out)
		}
	}
	if _, errs, status := calls(t, "", "query", "{ a }", "--url", freeAddress(t)); status != statusUsage || !strings.Contains(errs, "refused") || !strings.Contains(errs, "tidings dev DIR") {
		t.Errorf("nobody is there: status %d, %s", status, errs)
	}
	if _, errs, _ := calls(t, "", "query", `mutation { createNote(input: {text: "a"}) { id } }`, "--url", url); !strings.Contains(errs, "Asked without a token") {
		t.Errorf("without a token: %s", errs)
	}
	if _, errs, _ := calls(t, "", "query", "{ notes { totalCount } }", "--url", url, "--token", "nonsense"); !strings.Contains(errs, "tidings token --data DIR") {
		t.Errorf("with a wrong token: %s", errs)
	}
	if _, errs, status := calls(t, "", "query", "{ a }", "--url", url+"/elsewhere"); status != statusUsage || !strings.Contains(errs, "no GraphQL") {
		t.Errorf("another address: status %d, %s", status, errs)
	}
}

// A token of a key that no service has yet is one that is refused later: who makes it is told.
func TestATokenOfANewKeySaysSo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, isNew := range []bool{true, false} {
		out, errs, status := calls(t, "", "token", "--sub", "alice", "--data", dir)
		if status != 0 || out == "" || strings.Contains(errs, "no key in "+dir) != isNew {
			t.Errorf("new: %v, status %d, %q", isNew, status, errs)
		}
	}
}
