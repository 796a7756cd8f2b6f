package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidings/client"
	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
	"tidings/graphql"
)

// persisting are the flags of `tidings persist`.
type persisting struct {
	remote
	out, schema, format string
	register            bool
}

func (p program) persistCommand() *cobra.Command {
	var o persisting
	c := &cobra.Command{
		Use:   "persist DIR|FILE...",
		Short: "Register operations: a manifest of *.graphql files",
		Long: `Read operations, one document in each *.graphql or *.gql file, and write the manifest
of persisted operations that a service reads with --operations DIR: the document of
each under its SHA-256. Hidden directories and node_modules are passed over. Clients send the id instead of the document.

With --register the documents go to a service that runs, without being run, where it
takes them (--apq): docs/operations.md, Persisted operations.

Status: 0 it is done; 1 the service or the schema refuses a document; 2 nothing was
done.`,
		Example: `  tidings persist app/src --schema notes --out notes-operations/manifest.json
  tidings dev notes --operations notes-operations
  tidings persist app/src --register --url https://api.example.com`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return boot.Usage(errors.New("name the directory of the operations: tidings persist DIR; see tidings persist --help"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return p.persist(c, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "-", "file of the manifest; -: the standard output")
	f.StringVar(&o.format, "format", "apollo", "apollo: Apollo's persisted query manifest; relay: an object of documents by id")
	f.StringVar(&o.schema, "schema", "", "directory of the schema: refuses what does not fit it")
	f.BoolVar(&o.register, "register", false, "give the documents to a service that runs, instead of writing a manifest")
	o.remote.flags(f)
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"apollo", "relay"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.MarkFlagDirname("schema")
	return c
}

// persisted is one document.
type persisted struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Body string `json:"body"`

	file string
}

func (p program) persist(c *cobra.Command, o persisting, args []string) error {
	if o.format != "apollo" && o.format != "relay" {
		return boot.Usage(fmt.Errorf("--format is apollo or relay, not %q", o.format))
	}
	list, err := documentsOf(args)
	if err != nil {
		return boot.Usage(err)
	}
	if o.schema != "" {
		if err := p.fits(o.schema, list); err != nil {
			return err
		}
	}
	if o.register {
		return p.register(c, o.remote, list)
	}
	text, err := manifest(o.format, list)
	if err != nil {
		return err
	}
	if o.out == "-" {
		_, err := p.stdout.Write(text)
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(o.out), 0o755), os.WriteFile(o.out, text, 0o644)); err != nil {
		return boot.Usage(err)
	}
	_, err = fmt.Fprintf(p.stderr, "%s: %d operations\n", o.out, len(list))
	return err
}

// documentsOf reads what is named: files, and the documents in directories. The same
// document in two files is one.
func documentsOf(paths []string) (list []persisted, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && name != path && foreign(d.Name()) {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() {
				return err
			}
			if end := filepath.Ext(name); name != path && end != ".graphql" && end != ".gql" {
				return nil
			}
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			body := strings.TrimSpace(string(content))
			if body == "" {
				return fmt.Errorf("%s: the document is empty", name)
			}
			if !hasOperation(body) {
				return fmt.Errorf("%s has no operation: it is a schema, or a fragment by itself; name the directory in which the operations of your clients are", name)
			}
			base := filepath.Base(name)
			list = append(list, persisted{ID: client.Hash(body), Name: strings.TrimSuffix(base, filepath.Ext(base)), Body: body, file: name})
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no file or directory %s", path)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there are no *.graphql files in %s", strings.Join(paths, ", "))
	}
	slices.SortStableFunc(list, func(a, b persisted) int { return cmp.Compare(a.ID, b.ID) })
	list = slices.CompactFunc(list, func(a, b persisted) bool { return a.ID == b.ID })
	slices.SortFunc(list, func(a, b persisted) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// foreign reports whether a directory holds what is not an application's own.
func foreign(name string) bool { return strings.HasPrefix(name, ".") || name == "node_modules" }

// manifest writes documents in one of the forms that a service reads.
func manifest(format string, list []persisted) ([]byte, error) {
	var of any = map[string]any{"format": "apollo-persisted-query-manifest", "version": 1, "operations": list}
	if format == "relay" {
		byID := map[string]string{}
		for _, d := range list {
			byID[d.ID] = d.Body
		}
		of = byID
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(of)
	return out.Bytes(), err
}

// fits refuses documents that the schema does not allow.
func (p program) fits(dir string, list []persisted) error {
	config, err := boot.ReadConfig("tidings persist", []string{"--schema", dir}, p.environ, func(string, ...any) {})
	if err != nil {
		return boot.Usage(err)
	}
	m, err := config.LoadSchema()
	if err != nil {
		return boot.Usage(err)
	}
	read, err := operationsOf(list)
	if err != nil {
		return boot.Usage(err)
	}
	if err := config.CheckOperations(m, read); err != nil {
		return tool.Exit(statusAnswer, err)
	}
	return nil
}

// operationsOf are documents as a service reads them.
func operationsOf(list []persisted) (*graphql.Operations, error) {
	text, err := manifest("relay", list)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidings-persist-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o600); err != nil {
		return nil, err
	}
	return graphql.ReadOperations(os.DirFS(dir))
}

// register gives the documents to a service, and says which it refuses.
func (p program) register(c *cobra.Command, from remote, list []persisted) error {
	s, err := from.service(p.environ)
	if err != nil {
		return err
	}
	refused := 0
	for _, d := range list {
		if err := s.Register(c.Context(), d.Body); err != nil {
			fmt.Fprintf(p.stderr, "%s: %s\n", d.file, printable(err.Error()))
			refused++
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%s  %s\n", d.ID, d.file); err != nil {
			return err
		}
	}
	if refused > 0 {
		return tool.Exit(statusAnswer, fmt.Errorf("not registered: %d of %d", refused, len(list)))
	}
	return nil
}
