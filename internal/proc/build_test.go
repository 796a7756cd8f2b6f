package proc_test

import (
	"runtime"
	"strings"
	"testing"

	"tidings/internal/proc"
)

func TestABuildSaysWhatItIs(t *testing.T) {
	t.Parallel()
	b := proc.ThisBuild()
	if b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH || b.Version == "" || b.Revision == "" {
		t.Errorf("%+v", b)
	}
	for b, want := range map[proc.Build]string{
		{Version: "v1.2.3", Revision: "0123abc", Time: "2030-01-02T03:04:05Z", Go: "go1.26.8", Platform: "linux/amd64"}: "v1.2.3, revision 0123abc of 2030-01-02T03:04:05Z, go1.26.8 linux/amd64",
		{Version: "(devel)", Revision: "unknown", Time: "unknown", Go: "go1.26.8", Platform: "linux/arm64"}:             "(devel), revision unknown, go1.26.8 linux/arm64",
	} {
		if got := b.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if strings.Contains(b.String(), "\n") {
		t.Error("it is more than a line")
	}
}
