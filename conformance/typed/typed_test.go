//go:build conformance

package typed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/conformance/program"
	"tidings/schema"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// Both clients are made from the same contracts and operations, and have people of
// their own.
func TestClientsThatAreMadeFromTheContractWork(t *testing.T) {
	if _, err := os.Stat("node_modules"); err != nil {
		t.Fatal("the generators are missing: run make clients")
	}
	environ := os.Environ()
	for name, dir := range map[string]string{"SOCIAL_URL": "../../examples/social", "PAGES_URL": "pages"} {
		where, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		running := program.Start(t, "api", nil, "--schema", where, "--data", t.TempDir())
		environ = append(environ, name+"="+running.URL+"/graphql")
	}
	for _, name := range []string{"ada", "ben", "carl", "dora"} {
		environ = append(environ, strings.ToUpper(name)+"="+token(t, name))
	}
	printContract(t, "pages", "generated/pages.graphql")
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		run(t, ".", environ, "npm", "run", "--silent", "generate")
		run(t, ".", environ, "npm", "run", "--silent", "build")
		run(t, ".", environ, "npm", "run", "--silent", "test")
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		run(t, "go", environ, "go", "generate", "./...")
		run(t, "go", environ, "go", "vet", "./...")
		run(t, "go", environ, "go", "test", "-count=1", "./...")
	})
}

// printContract writes what clients see of a schema, as api schema print does.
func printContract(t *testing.T, dir, file string) {
	t.Helper()
	model, err := schema.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(model.SDL), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a program that is to succeed.
func run(t *testing.T, dir string, environ []string, name string, args ...string) {
	t.Helper()
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	t.Logf("%s %s: %s", name, strings.Join(args, " "), time.Since(began).Round(time.Second/10))
}

func token(t *testing.T, subject string) string {
	t.Helper()
	s, err := auth.Sign([]byte(program.Secret), auth.Principal{Subject: subject, Roles: schema.User}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
