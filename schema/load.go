// Package schema compiles a directory of annotated SDL into one immutable
// model: what is stored, who may do what, and the contract that callers see.
//
// It knows nothing of where records are kept or how callers arrive. The door to
// gqlparser as a schema language is here; the graphql room uses it for documents.
package schema

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
)

// The bounds of a schema directory.
const (
	maxFiles      = 1000
	maxTotalBytes = 4 << 20
	maxTokens     = 1_000_000 // a file
	maxNesting    = 32        // brackets within brackets; the parser is recursive
)

// contractFile is where a directory keeps its own expanded contract.
const contractFile = "contract.graphql"

// generatedMark begins every SDL text that Load's Model prints.
const generatedMark = "# Generated"

// Load reads every *.graphql file of the directory (not of the ones below it)
// and compiles them as one schema; files that begin with an operation or a
// fragment hold the Operations of the model. It leaves out contract.graphql, every file
// that begins with the mark of a generated contract, and names that begin with a
// dot: editors put their own things beside a file.
//
// A schema that is wrong fails with Faults, which hold as many as one run can
// find; any other error is one of reading the directory. At most 1,000 files
// and 4 MiB of text are read. The SDL is that of the GraphQL specification of
// September 2025 as far as gqlparser knows it, with the directives and scalars
// that docs/schema.md describes.
func Load(dir fs.FS) (*Model, error) { return LoadWith(dir, Options{}) }

// Options are what a deployment says to a schema. The zero value is complete.
type Options struct {
	// MaxPage is the greatest page that callers may ask for: the contract says so,
	// and no list may show more by default. Zero means the constant MaxPage; a
	// negative number that there is no such limit.
	MaxPage int
}

// LoadWith is Load for a deployment of its own.
func LoadWith(dir fs.FS, o Options) (*Model, error) {
	var r reporter
	sources, err := readSources(dir, &r)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	sources, stored := splitSources(sources)
	doc := parseSources(sources, &r)
	documents := parseOperations(stored, &r)
	if err := r.err(); err != nil {
		return nil, err
	}

	c := newCompiler(&r, doc)
	c.pages = o.pages()
	c.checkDocument()
	if err := r.err(); err != nil {
		return nil, err
	}
	model := c.compile()
	if err := r.err(); err != nil {
		return nil, err
	}
	c.expand(model)
	if err := r.err(); err != nil {
		return nil, err
	}
	c.operations(model, documents)
	if err := r.err(); err != nil {
		return nil, err
	}
	c.weigh(model)
	model.Fingerprint = fingerprint(model)
	return model, nil
}

// readSources returns the schema files in the order of their names.
func readSources(dir fs.FS, r *reporter) ([]*ast.Source, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var sources []*ast.Source
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n") // one line ending to GraphQL; gqlparser miscounts columns
	left := maxTotalBytes
	for _, entry := range entries {
		name := entry.Name()
		if path.Ext(name) != ".graphql" || name == contractFile || name[0] == '.' || entry.IsDir() {
			continue
		}
		text, err := readFile(dir, name, left)
		if err != nil {
			return nil, err
		}
		if left -= len(text); left < 0 || len(sources) == maxFiles {
			r.file(name, "split the service in two", "the schema is too large: a directory holds at most %d files and %d bytes", maxFiles, maxTotalBytes)
			return nil, nil
		}
		if !utf8.ValidString(text) {
			r.file(name, "save the file as UTF-8", "the file is not UTF-8")
			continue
		}
		if !strings.HasPrefix(text, generatedMark) {
			sources = append(sources, &ast.Source{Name: name, Input: lines.Replace(text)})
		}
	}
	if len(sources) == 0 && len(r.list) == 0 {
		r.at(nil, "write a file such as schema.graphql with a type that has @resource, or name another directory",
			"the directory has no *.graphql file")
	}
	return sources, nil
}

// readFile returns a file's text, at most one byte more than limit of it.
func readFile(dir fs.FS, name string, limit int) (string, error) {
	file, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	return string(text), err
}

// parseSources merges what the files declare. A file with a syntax error is
// reported and left out.
func parseSources(sources []*ast.Source, r *reporter) *ast.SchemaDocument {
	merged := &ast.SchemaDocument{}
	for _, source := range sources {
		if !checkTokens(source, r) {
			continue
		}
		doc, err := parser.ParseSchemaWithLimit(source, maxTokens)
		if err != nil {
			remedy := "correct the GraphQL syntax here"
			if strings.Contains(err.Error(), `Unexpected Name "query"`) || strings.Contains(err.Error(), `Unexpected Name "mutation"`) || strings.Contains(err.Error(), `Unexpected Name "fragment"`) {
				remedy = "keep operations in files of their own"
			}
			r.foreign(err, remedy)
			continue
		}
		merged.Merge(doc)
	}
	return merged
}

// checkTokens reports a file with too many tokens, or whose brackets are nested
// too deeply, for the parser; and what is no token, of which the parser would
// only say that it is invalid.
func checkTokens(source *ast.Source, r *reporter) bool {
	tokens := lexer.New(source)
	for n, depth := 0, 0; ; n++ {
		token, err := tokens.ReadToken()
		if err != nil {
			r.foreign(err, "correct the GraphQL syntax here")
			return false
		}
		switch token.Kind {
		case lexer.EOF:
			return true
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			depth++
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			depth--
		}
		if depth > maxNesting {
			r.at(&token.Pos, "flatten the literal or the type", "brackets are nested more than %d levels deep", maxNesting)
			return false
		}
		if n == maxTokens {
			r.at(&token.Pos, "split the file", "the file has more than %d tokens", maxTokens)
			return false
		}
	}
}
