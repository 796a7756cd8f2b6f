package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a bill of materials in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json).
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string     `json:"timestamp"`
	Component *component `json:"component"`
}

type component struct {
	Ref        string      `json:"bom-ref"`
	Type       string      `json:"type"`
	Name       string      `json:"name"`
	Version    string      `json:"version,omitempty"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Licences   []expressed `json:"licenses,omitempty"`
	PURL       string      `json:"purl,omitempty"`
	Properties []property  `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type expressed struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// imageSBOM writes the bill of materials of an image that holds the programs in
// dir and nothing else that runs.
func imageSBOM(w io.Writer, dir, name string) error {
	b, err := read(dir)
	if err != nil {
		return err
	}
	return sbom(w, b, "container", name)
}

// sbom writes the bill of materials of something that holds the programs: what it
// is, an application or a container, the programs with their checksums, and every
// module that is linked into them, as they themselves say.
func sbom(w io.Writer, b built, what, name string) error {
	sources, err := linked()
	if err != nil {
		return err
	}
	licences := map[string]string{}
	for _, s := range sources {
		t, err := of(s)
		if err != nil {
			return err
		}
		licences[s.path] = t.expression()
	}
	main := &component{
		Ref: name, Type: what, Name: "tidings", Version: b.version, Licences: []expressed{{"Apache-2.0"}},
		Properties: []property{{"platform", string(b.platform)}},
	}
	if b.revision != "" {
		main.Properties = append(main.Properties, property{"revision", b.revision})
	}
	list := bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata:   metadata{Timestamp: b.time.UTC().Format(time.RFC3339), Component: main},
		Components: append(b.files(), b.libraries(licences)...),
	}
	top := dependency{Ref: main.Ref}
	for _, c := range list.Components {
		top.On = append(top.On, c.Ref)
	}
	list.Dependencies = []dependency{top}
	list.Serial = serial(list)
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(list)
}

// files are the programs.
func (b built) files() []component {
	var list []component
	for _, name := range programs {
		if sum, ok := b.sums[name]; ok {
			list = append(list, component{Ref: name, Type: "file", Name: name, Hashes: []hash{{"SHA-256", sum}}})
		}
	}
	return list
}

// libraries are what is linked in, the standard library first.
func (b built) libraries(licences map[string]string) []component {
	goes := strings.TrimPrefix(strings.Fields(b.goes)[0], "go")
	list := []component{{
		Ref: "pkg:golang/stdlib@" + goes, PURL: "pkg:golang/stdlib@" + goes, Type: "library", Name: standard,
		Version: goes, Licences: []expressed{{licences[standard]}},
	}}
	modules := slices.Clone(b.modules)
	slices.SortFunc(modules, func(x, y *debug.Module) int { return cmp.Compare(x.Path, y.Path) })
	for _, m := range modules {
		purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
		list = append(list, component{
			Ref: purl, PURL: purl, Type: "library", Name: m.Path, Version: m.Version,
			Licences:   []expressed{{licences[m.Path]}},
			Properties: []property{{"go.sum", m.Sum}},
		})
	}
	return list
}

// serial is a name for the bill that the same bill has again: a UUID of the
// version that is for hashes of other kinds (RFC 9562, version 8).
func serial(list bill) string {
	content, err := json.Marshal(list)
	if err != nil {
		panic(err) // it is texts and lists of texts
	}
	h := sha256.Sum256(content)
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
