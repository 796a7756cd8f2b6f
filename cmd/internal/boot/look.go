package boot

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// lookEvery is how often development mode looks at the files of the schema.
const lookEvery = 500 * time.Millisecond

// look returns a text that is another one after a change of the files that a
// reload reads: those of the schema and of the persisted operations. What
// cannot be read now is looked at again soon.
func (c Config) look() string {
	var b strings.Builder
	files, _ := os.ReadDir(c.Schema)
	for _, f := range files {
		note(&b, f.Name(), f, ".graphql", ".lock")
	}
	if c.Operations == "" {
		return b.String()
	}
	_ = fs.WalkDir(os.DirFS(c.Operations), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			note(&b, name, d, ".graphql", ".gql", ".json")
		}
		return nil
	})
	return b.String()
}

// note writes down what a file looks like, if its name ends in one of the ways.
func note(b *strings.Builder, name string, d fs.DirEntry, endings ...string) {
	info, err := d.Info()
	if err == nil && !d.IsDir() && d.Name()[0] != '.' && slices.Contains(endings, path.Ext(name)) {
		fmt.Fprintf(b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
}

// changed reports whether the files are others than those that were read last,
// and the same as at the last look: editors write a file in several steps.
func (r *Rooms) changed() bool {
	now := r.config.look()
	settled := now == r.looked
	r.looked = now
	if !settled || now == r.look {
		return false
	}
	r.look = now
	return true
}
