package graphql

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Operations are the documents that were deployed with the service, by their ids. They do not change. Nil holds none.
type Operations struct {
	byID  map[string]deployed
	texts map[string]bool
}

// deployed is a document and the place that it was read from.
type deployed struct{ text, origin string }

// Len returns how many ids there are.
func (o *Operations) Len() int {
	if o == nil {
		return 0
	}
	return len(o.byID)
}

// text returns the document of an id; empty when there is none.
func (o *Operations) text(id string) string {
	if o == nil {
		return ""
	}
	return o.byID[id].text
}

// holds reports whether a document is one of them, by whichever id.
func (o *Operations) holds(text string) bool { return o != nil && o.texts[text] }

// ReadOperations reads a directory of persisted documents, folders included:
//
//   - *.graphql and *.gql: one document each, under the SHA-256 of the file, the
//     same without white space around it, and the file's path without its ending
//   - *.json: manifests. Apollo's ({"format": "apollo-persisted-query-manifest",
//     "version": 1, "operations": [{"id", "body", …}]}), or an object of
//     documents by id, as Relay and GraphQL Code Generator write it
//
// Other files, and names that begin with a dot, are passed over. The error lists every file that is wrong and
// why; whether the documents fit the schema is for New to say.
func ReadOperations(dir fs.FS) (*Operations, error) {
	o := &Operations{byID: map[string]deployed{}, texts: map[string]bool{}}
	var errs []error
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		errs = append(errs, o.readFile(dir, name))
		return nil
	})
	return o, errors.Join(append(errs, err)...)
}

func (o *Operations) readFile(dir fs.FS, name string) error {
	ending := path.Ext(name)
	if path.Base(name)[0] == '.' || ending != ".graphql" && ending != ".gql" && ending != ".json" {
		return nil
	}
	content, err := fs.ReadFile(dir, name)
	if err != nil {
		return err
	}
	if ending != ".json" {
		text := string(content)
		trimmed := strings.TrimSpace(text)
		return errors.Join(o.add(hashOf(text), text, name), o.add(hashOf(trimmed), text, name), o.add(strings.TrimSuffix(name, ending), text, name))
	}
	documents, err := decodeManifest(content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(documents)) {
		errs = append(errs, o.add(canonicalID(id), documents[id], name+": "+id))
	}
	return errors.Join(errs...)
}

func (o *Operations) add(id, text, origin string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s: the document is empty", origin)
	}
	if other, taken := o.byID[id]; taken && other.text != text {
		return fmt.Errorf("%s: the id %q stands for another document in %s", origin, short(id), other.origin)
	}
	o.byID[id] = deployed{text: text, origin: origin}
	o.texts[text] = true
	return nil
}

// decodeManifest reads a manifest's documents by id.
func decodeManifest(content []byte) (map[string]string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil || members == nil {
		return nil, errors.New("a manifest is a JSON object")
	}
	if _, apollo := members["operations"]; apollo && !isString(members["operations"]) {
		return decodeApollo(content)
	}
	documents := make(map[string]string, len(members))
	for id, raw := range members {
		var text string
		if id == "" || !isString(raw) || json.Unmarshal(raw, &text) != nil {
			return nil, fmt.Errorf("%q: a manifest holds a document, as a string, by each id; or it is Apollo's, with operations", short(id))
		}
		documents[id] = text
	}
	return documents, nil
}

func isString(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte(`"`)) }

func decodeApollo(content []byte) (map[string]string, error) {
	var manifest struct {
		Format     string
		Version    int
		Operations []struct{ ID, Body string }
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return nil, errors.New("operations is a list of objects with an id and a body")
	}
	if manifest.Format != "" && manifest.Format != "apollo-persisted-query-manifest" || manifest.Version > 1 {
		return nil, fmt.Errorf("format %q, version %d is not known: apollo-persisted-query-manifest, 1 is", short(manifest.Format), manifest.Version)
	}
	documents := make(map[string]string, len(manifest.Operations))
	for i, op := range manifest.Operations {
		if op.ID == "" || op.Body == "" {
			return nil, fmt.Errorf("operation %d has no id or no body", i+1)
		}
		if other, twice := documents[op.ID]; twice && other != op.Body {
			return nil, fmt.Errorf("operation %d: the id %q stands for two documents", i+1, short(op.ID))
		}
		documents[op.ID] = op.Body
	}
	return documents, nil
}

// check finds the documents that the engine would refuse.
func (o *Operations) check(e *Engine) error {
	if o == nil {
		return nil
	}
	bad := map[string]bool{}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(o.byID)) {
		doc := o.byID[id]
		if bad[doc.text] {
			continue
		}
		if _, list := e.parse(doc.text, false); list != nil {
			bad[doc.text] = true
			errs = append(errs, fmt.Errorf("%s: %w", doc.origin, list))
		}
	}
	return errors.Join(errs...)
}

// canonicalID takes the prefix from the id of a hash, so that all ways to
// write one mean the same.
func canonicalID(id string) string {
	if hash := strings.ToLower(strings.TrimPrefix(id, "sha256:")); isHash(hash) {
		return hash
	}
	return id
}

// isHash reports whether an id is a SHA-256 in lower case.
func isHash(id string) bool {
	if len(id) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
