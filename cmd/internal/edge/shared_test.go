package edge

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"testing"

	"tidings/cmd/internal/tool"
)

const social = "../../../examples/social"

// run runs a subcommand, which asks what the test has started.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	return tool.Run(ctx, args[0], tool.Call{Program: "api", Args: args[1:], Environ: environ, Stdout: stdout, Stderr: stderr})
}

func printer(w io.Writer) func(string, ...any) {
	return func(format string, a ...any) { fmt.Fprintf(w, format, a...) }
}

func find(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return m[1]
}
