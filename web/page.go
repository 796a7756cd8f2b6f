package web

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed graphiql/dist/page.html graphiql/dist/assets
var graphiql embed.FS

// Page is a page that was built from npm's packages, with the files that it
// loads. Only reading is done with it, by any number of callers at a time.
type Page struct {
	HTML   []byte
	Policy string // the Content-Security-Policy that it works under

	files fs.FS
}

// File is one that a page loads. Its name changes with its content.
type File struct {
	Type string // its media type
	Gzip []byte // the content, packed: it is not embedded in another form
}

// Query returns GraphiQL with transports for subscriptions, a field for the
// token, and examples made from the schema. It loads its files from
// graphql/ui/, the contract from graphql/schema.graphql, both beside its own
// address, sends operations to its own address, and nothing anywhere else.
func Query() (*Page, error) {
	// Monaco, GraphiQL's editor, makes elements with styles while it runs. The
	// letters of its icons stand in the style sheet itself.
	return open(graphiql, "graphiql/dist", "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; "+
		"style-src 'self' 'unsafe-inline'; font-src data:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}

func open(from fs.FS, dir, policy string) (*Page, error) {
	html, err := fs.ReadFile(from, path.Join(dir, "page.html"))
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(from, path.Join(dir, "assets"))
	if err != nil {
		return nil, err
	}
	return &Page{HTML: html, Policy: policy, files: files}, nil
}

// types are the media types of what a build makes.
var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
}

// File returns the file of that name, and false when the page has none.
func (p *Page) File(name string) (File, bool) {
	kind, known := types[path.Ext(name)]
	if !known {
		return File{}, false
	}
	packed, err := fs.ReadFile(p.files, name+".gz")
	if err != nil {
		return File{}, false // it is another build's, or a name that cannot be
	}
	return File{Type: kind, Gzip: packed}, true
}
