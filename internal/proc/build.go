package proc

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is the name of a release. Its build gives it:
//
//	go build -ldflags '-X tidings/internal/proc.version=v1.2.3'
var version string

// Build says what a program was made of. What is not known is "unknown".
type Build struct {
	Version  string // of the release, or what the go command makes of the tags: v1.2.3, (devel)
	Revision string // of the sources; with +dirty when they were changed
	Time     string // of the revision, RFC 3339
	Go       string // which compiler: go1.26.8
	Platform string // for which system: linux/amd64
}

// ThisBuild is that of this program.
func ThisBuild() Build {
	b := Build{Version: "unknown", Revision: "unknown", Time: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	if version != "" {
		b.Version = version
	}
	return b
}

func (b *Build) read(info *debug.BuildInfo) {
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty {
		b.Revision += "+dirty"
	}
}

// String is the build in a line for people: v1.2.3, revision 0123abc of
// 2030-01-02T03:04:05Z, go1.26.8 linux/amd64.
func (b Build) String() string {
	var s strings.Builder
	s.WriteString(b.Version + ", revision " + b.Revision)
	if b.Time != "unknown" {
		s.WriteString(" of " + b.Time)
	}
	s.WriteString(", " + b.Go + " " + b.Platform)
	return s.String()
}
