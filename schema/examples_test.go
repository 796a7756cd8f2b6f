package schema_test

import (
	"os"
	"testing"

	"tidings/schema"
)

// The examples are what newcomers copy from: each of them compiles.
func TestTheExamplesCompile(t *testing.T) {
	t.Parallel()
	dirs, err := os.ReadDir("../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		at := "../examples/" + dir.Name()
		if within, err := os.Stat(at + "/schema"); err == nil && within.IsDir() { // beside a program that uses it
			at += "/schema"
		}
		m, err := schema.Load(os.DirFS(at))
		if err != nil {
			t.Errorf("%s: %v", dir.Name(), err)
		}
		if dir.Name() == "telemetry" && len(m.Bindings()) != 6 {
			t.Errorf("telemetry has %d fields that its service takes part in, want 6", len(m.Bindings()))
		}
	}
}
