// Package tool builds programs of others that operators use beside the service, for
// tests that run them.
package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Tool is such a program, at the version that tests run.
type Tool struct{ Name, Module, Version, Package string }

// The tools of NATS.
var (
	NATS = Tool{"nats", "github.com/nats-io/natscli", "v0.4.0", "/nats"}
	NSC  = Tool{"nsc", "github.com/nats-io/nsc/v2", "v2.12.2", ""}
)

// Build builds the tool into a directory, from the Go module proxy. It is built in
// a module of its own: what it needs is no dependency of ours.
func (t Tool) Build(dir string) error {
	at, err := os.MkdirTemp("", "tidings-tool-*")
	if err != nil {
		return fmt.Errorf("build %s: %w", t.Name, err)
	}
	defer os.RemoveAll(at)
	mod := fmt.Sprintf("module tool\n\ngo 1.26\n\nrequire %s %s\n", t.Module, t.Version)
	if err := os.WriteFile(filepath.Join(at, "go.mod"), []byte(mod), 0o600); err != nil {
		return fmt.Errorf("build %s: %w", t.Name, err)
	}
	cmd := exec.Command("go", "build", "-mod=mod", "-o", filepath.Join(dir, t.Name), t.Module+t.Package)
	cmd.Dir, cmd.Env = at, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", t.Name, err, out)
	}
	return nil
}
