package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// platform is GOOS/GOARCH.
type platform string

// platforms are those that are released.
var platforms = []platform{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}

// programs are the commands that are released. An image has the servers alone.
var programs = []string{"api", "worker", "tidings"}

func (p platform) environ() []string {
	system, processor, _ := strings.Cut(string(p), "/")
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+system, "GOARCH="+processor, "GOAMD64=v1", "GOARM64=v8.0")
}

// build builds the programs into a directory: static, without the paths of this
// machine, with the version that the tree's history says.
func build(dir string, p platform) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-ldflags=-s -w", stamp(), "-o", dir + string(filepath.Separator)}
	for _, name := range programs {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env, cmd.Stderr = p.environ(), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", p, err)
	}
	return nil
}

// stamp has go build note version and revision where there is a history.
func stamp() string {
	if _, err := os.Stat(".git"); errors.Is(err, fs.ErrNotExist) {
		return "-buildvcs=false"
	}
	return "-buildvcs=true"
}

// built is what the programs of a directory say of themselves.
type built struct {
	version  string // v1.2.3, or a pseudo-version, which names time and revision
	revision string // empty: unknown
	platform platform
	goes     string    // version of Go: go1.26.8
	time     time.Time // of the revision; 1970 when unknown
	sums     map[string]string
	modules  []*debug.Module // all that are linked into any of them
}

// read reads what the programs that are in dir say of themselves.
func read(dir string) (built, error) {
	b := built{time: time.Unix(0, 0).UTC(), sums: map[string]string{}}
	seen := map[string]bool{}
	for _, name := range programs {
		file := filepath.Join(dir, name)
		info, err := buildinfo.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return b, err
		}
		b.version, b.goes = strings.NewReplacer("(", "", ")", "").Replace(info.Main.Version), info.GoVersion
		if err := b.settings(info.Settings); err != nil {
			return b, err
		}
		for _, m := range info.Deps {
			if !seen[m.Path] {
				seen[m.Path] = true
				b.modules = append(b.modules, m)
			}
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return b, err
		}
		sum := sha256.Sum256(content)
		b.sums[name] = hex.EncodeToString(sum[:])
	}
	if len(b.sums) == 0 {
		return b, fmt.Errorf("there are no programs in %s", dir)
	}
	return b, nil
}

func (b *built) settings(list []debug.BuildSetting) (err error) {
	var system, processor string
	for _, s := range list {
		switch s.Key {
		case "GOOS":
			system = s.Value
		case "GOARCH":
			processor = s.Value
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.time":
			b.time, err = time.Parse(time.RFC3339, s.Value)
		}
	}
	b.platform = platform(system + "/" + processor)
	return err
}
