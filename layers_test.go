package tidings_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The house: each room with its floor. A room imports rooms of lower floors
// only, and no room of its own floor. New code that fits no room's sentence
// needs a new row here first, and a reason in docs/adr.
var floors = map[string]int{
	"fault":             1, // failures have a closed set of codes and a message that is safe to show
	"schema":            1, // compiles annotated SDL into one immutable model; prints contracts
	"internal/proc":     1, // what the programs share: logger, signals, listeners, admin port, metrics, what the machine allows, running parts side by side
	"internal/trace":    1, // says where the time of a request went, across processes
	"web":               1, // what browsers load
	"internal/rawjson":  1, // finds members and items of JSON in place, and decodes values without losing digits
	"internal/sleep":    1, // lets time pass, unless a context ends before
	"auth":              2, // turns a token, a password, a digest or a certificate into a Principal
	"xmltree":           2, // reads XML strictly into a tree, and writes text for it
	"bus":               2, // moves bytes over NATS: Call/Serve, Append/Follow; builds every subject
	"view":              2, // what the log says now, in SQL, indexed for reading
	"client":            3, // speaks to a running service as its clients do
	"quota":             3, // counts what each caller has used, in all processes together
	"wssec":             3, // checks and makes what the header wsse:Security says: signatures, encryption, time
	"revoke":            3, // tells all processes which tokens count no more
	"service":           3, // asks, tells and hears the adopter's own services
	"resource":          3, // what a command does, what a read finds, what a watcher is told
	"job":               4, // runs work that outlives its request
	"transfer":          4, // moves records between the log and files
	"graphql":           4, // plans an operation once, runs it, runs equal subscriptions once for all
	"realtime":          5, // holds connections: protocols, queues, resume, drain
	"soap":              5, // the same operations in XML, at both ends of the bus
	"console":           6, // shows an operator what runs, live, and takes orders from them
	"cmd/internal/boot": 6, // reads the configuration and builds the rooms that the programs share
	"cmd/internal/edge": 7, // the public port of a process, and with one the whole service
	"cmd/internal/tool": 7, // the subcommands that the programs share
	"cmd/api":           8, // the edge, and alone the whole service
	"cmd/worker":        8, // the writer
	"cmd/tidings":       8, // what people type at a terminal
}

// testRooms serve tests only: product code must not import them.
var testRooms = []string{"bus/bustest", "internal/trace/tracetest", "internal/proc/proctest", "resource/resourcetest", "view/viewtest"}

// outside holds no product code; each folder may import any room, and no room
// imports it.
var outside = []string{"conformance", "bench", "examples", "deploy"}

// doors: who may import a library. Replacing it means reading these rooms.
var doors = map[string][]string{
	"github.com/vektah/gqlparser/v2":     {"schema", "graphql"},
	"github.com/99designs/gqlgen":        {"graphql"},
	"github.com/hashicorp/golang-lru/v2": {"graphql"},
	"github.com/nats-io/nats.go":         {"bus"},
	"github.com/nats-io/nats-server/v2":  {"bus"},
	"github.com/nats-io/nkeys":           {"bus"},
	"github.com/sony/gobreaker/v2":       {"bus"},
	"github.com/golang-jwt/jwt/v5":       {"auth"},
	"golang.org/x/crypto":                {"auth"},
	"golang.org/x/crypto/x509roots":      {"cmd/internal/boot"}, // a module of its own
	"database/sql":                       {"view"},
	"modernc.org/sqlite":                 {"view"},
	"github.com/klauspost/compress":      {"view"},
	"github.com/jackc/pgx/v5":            {"view"},
	"github.com/google/uuid":             {"resource"},
	"golang.org/x/sync":                  {"resource", "view"},
	"github.com/gorilla/websocket":       {"client", "realtime"},
	"github.com/r3labs/sse/v2":           {"realtime"},
	"github.com/spf13/cobra":             {"cmd/tidings"},
	"github.com/spf13/pflag":             {"cmd/tidings"}, // which cobra's flags are
	"encoding/xml":                       {"soap", "xmltree"},
	"log":                                {},
	"math/rand":                          {},

	"github.com/KimMachineGun/automemlimit": {"internal/proc"},
	"github.com/prometheus/client_golang":   {"internal/proc"},

	"go.opentelemetry.io/otel":       {"internal/trace"},
	"go.opentelemetry.io/proto/otlp": {"internal/trace"},
	"google.golang.org/protobuf":     {"internal/trace"},
}

const module = "tidings"

// source is one Go file of the tree.
type source struct {
	room, file string
	test       bool
	doc        bool
	imports    []string
}

func TestTheHouseStands(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.room] = documented[s.room] || s.doc
		if s.room == "." || under(outside, s.room) {
			continue
		}
		if slices.Contains(testRooms, s.room) || s.test {
			continue
		}
		floor, known := floors[s.room]
		if !known {
			t.Errorf("%s: the room %q is not in the table; argue for it there first", s.file, s.room)
			continue
		}
		for _, imp := range s.imports {
			checkImport(t, s, floor, imp)
		}
	}
	for room := range floors {
		if !documented[room] {
			t.Errorf("the room %q has no package comment, or does not exist", room)
		}
	}
}

func checkImport(t *testing.T, s source, floor int, imp string) {
	t.Helper()
	if room, ours := strings.CutPrefix(imp, module+"/"); ours {
		switch to, known := floors[room]; {
		case !known:
			t.Errorf("%s imports %s, which is no room", s.file, imp)
		case to >= floor:
			t.Errorf("%s: floor %d imports %s on floor %d; imports go down", s.file, floor, imp, to)
		}
		return
	}
	if library, has := libraryOf(imp); has && !slices.Contains(doors[library], s.room) {
		t.Errorf("%s imports %s, whose door is %v", s.file, imp, doors[library])
	}
	if _, has := libraryOf(imp); !has && strings.Contains(strings.Split(imp, "/")[0], ".") {
		t.Errorf("%s imports %s, a library without a door; add it to the table with its reason in docs/ARCHITECTURE.md", s.file, imp)
	}
}

// libraryOf is the library of doors that an import is of: the longest, where one
// lies in another.
func libraryOf(imp string) (library string, has bool) {
	for l, rooms := range doors {
		// Nobody has a door to log and math/rand; log/slog and math/rand/v2 need none.
		below := len(rooms) > 0 && strings.HasPrefix(imp, l+"/")
		if (imp == l || below) && len(l) > len(library) {
			library, has = l, true
		}
	}
	return library, has
}

// sources reads every Go file of this module.
func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(p, d)
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{room: filepath.ToSlash(filepath.Dir(p)), file: p, test: strings.HasSuffix(p, "_test.go"), doc: f.Doc != nil}
		for _, imp := range f.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, name)
		}
		list = append(list, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// skip leaves out what is no part of this module.
func skip(p string, d fs.DirEntry) error {
	name := d.Name()
	if p == "." {
		return nil
	}
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "data" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func under(folders []string, room string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return room == f || strings.HasPrefix(room, f+"/") })
}
