//go:build conformance

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// config is what an image says of itself (OCI image specification).
type config struct {
	Architecture, OS, Created string
	Config                    struct {
		User, StopSignal string
		Entrypoint, Cmd  []string
		Env              []string
		ExposedPorts     map[string]struct{}
		Labels           map[string]string
	}
}

// descriptor leads from one part of an image to another.
type descriptor struct {
	MediaType, Digest string
	Platform          struct{ Architecture, OS string }
}

// manifest is an image's, or an index of several images.
type manifest struct {
	Config            descriptor
	Layers, Manifests []descriptor
}

// archived are the files of an OCI archive.
type archived map[string][]byte

func open(t *testing.T, archive string) archived {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := archived{}
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Clean(h.Name)] = content
	}
}

func (a archived) blob(digest string) []byte { return a["blobs/"+strings.ReplaceAll(digest, ":", "/")] }

func decode[T any](t *testing.T, content []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(content, &v); err != nil {
		t.Fatalf("%v in %q", err, content)
	}
	return v
}

// top is what the archive's index names: its image, or the index of its images.
func (a archived) top(t *testing.T) descriptor {
	t.Helper()
	list := decode[manifest](t, a["index.json"]).Manifests
	if len(list) != 1 {
		t.Fatalf("the archive holds %d images", len(list))
	}
	return list[0]
}

// files lists what the layers hold: owner, mode, name.
func (a archived) files(t *testing.T, m manifest) []string {
	t.Helper()
	var list []string
	for _, l := range m.Layers {
		zip, err := gzip.NewReader(bytes.NewReader(a.blob(l.Digest)))
		if err != nil {
			t.Fatal(err)
		}
		for in := tar.NewReader(zip); ; {
			h, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%d:%d %o %s", h.Uid, h.Gid, h.Mode&0o7777, h.Name))
		}
	}
	slices.Sort(list)
	return list
}

func TestTheImageHoldsTheProgramsAndNothingElse(t *testing.T) {
	a := open(t, image(t))
	m := decode[manifest](t, a.blob(a.top(t).Digest))
	want := []string{
		"0:0 644 licenses/LICENSE", "0:0 644 licenses/THIRD_PARTY_LICENSES.md", "0:0 755 api", "0:0 755 licenses/", "0:0 755 worker",
		"65532:65532 755 data/",
	}
	if got := a.files(t, m); !slices.Equal(got, want) {
		t.Errorf("it holds\n%s", strings.Join(got, "\n"))
	}
	c := decode[config](t, a.blob(m.Config.Digest))
	if c.Config.User != "65532:65532" || c.OS != "linux" || c.Architecture != runtime.GOARCH || !slices.Equal(c.Config.Entrypoint, []string{"/api"}) || len(c.Config.Cmd) > 0 {
		t.Errorf("it says %+v", c)
	}
	for _, label := range []string{"title", "version", "revision", "licenses", "created"} {
		if c.Config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("it has no label %s: %v", label, c.Config.Labels)
		}
	}
	for _, port := range []string{"8080/tcp", "9090/tcp"} {
		if _, has := c.Config.ExposedPorts[port]; !has {
			t.Errorf("it does not name port %s", port)
		}
	}
	for _, v := range c.Config.Env {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains([]string{"PATH", "TIDINGS_SCHEMA", "TIDINGS_DATA", "TMPDIR"}, name) {
			t.Errorf("it sets %s", v)
		}
	}
}

func TestABillOfMaterialsNamesWhatIsInTheImage(t *testing.T) {
	text, err := os.ReadFile(image(t) + "." + runtime.GOARCH + ".cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"CycloneDX"`, `"1.6"`, `"container"`, `"pkg:golang/stdlib@1.`, `"pkg:golang/github.com/nats-io/nats.go@v1.`, `"SHA-256"`, `"BSD-3-Clause"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("it does not say %s", part)
		}
	}
}

// The same tree in another directory gives the same image, also beside another
// architecture's.
func TestTwoBuildsInDifferentDirectoriesAreOneImage(t *testing.T) {
	first := open(t, image(t)).top(t)
	again := filepath.Join(t.TempDir(), "again.tar")
	tree := copyTree(t)
	if err := buildImage(tree, name+"-index", again, "amd64", "arm64"); err != nil {
		t.Fatal(err)
	}
	a := open(t, again)
	list := decode[manifest](t, a.blob(a.top(t).Digest)).Manifests
	if len(list) != 2 || list[0].Platform.Architecture != "amd64" || list[1].Platform.Architecture != "arm64" {
		t.Fatalf("the index is %+v", list)
	}
	if !slices.ContainsFunc(list, func(d descriptor) bool { return d.Digest == first.Digest }) {
		t.Errorf("the images are %+v, and the first one was %s", list, first.Digest)
	}
}
