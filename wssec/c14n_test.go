package wssec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/wssec"
	"tidings/xmltree"
)

// The files in testdata/c14n were written by libxml2: <name>.exc and <name>.inc
// are the exclusive and the inclusive form of <name>.xml.
func TestCanonicalFormsAreThoseOfLibxml2(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/c14n/*.xml")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for ext, form := range forms {
			want, err := os.ReadFile(strings.TrimSuffix(file, ".xml") + "." + ext)
			if err != nil {
				t.Fatal(err)
			}
			if got := form(t, root(t, data)); got != string(want) {
				t.Errorf("%s, %s:\n%s\nwant\n%s", file, ext, got, want)
			}
		}
	}
}

var forms = map[string]func(*testing.T, xmltree.Elem) string{
	"exc": func(t *testing.T, e xmltree.Elem) string { return exclusive(t, e) },
	"inc": inclusive,
}

func TestCanonicalFormOfAPart(t *testing.T) {
	t.Parallel()
	const doc = `<a:r xmlns:a="urn:a" xmlns:b="urn:b" xmlns:c="urn:c" xmlns="urn:d" xml:lang="en">` +
		`<a:e b:x="1"><c:f/><g xmlns=""><h xmlns:c="urn:other" c:y=""/></g><i xmlns:b="urn:c"/></a:e></a:r>`
	var part xmltree.Elem
	for e := range root(t, []byte(doc)).Children() {
		part = e
	}
	for _, test := range []struct {
		name     string
		prefixes []string
		want     string
	}{
		{"no list", nil, `<a:e xmlns:a="urn:a" xmlns:b="urn:b" b:x="1"><c:f xmlns:c="urn:c"></c:f><g><h xmlns:c="urn:other" c:y=""></h></g><i xmlns="urn:d"></i></a:e>`},
		{"prefixes of ancestors", []string{"c", "unbound"}, `<a:e xmlns:a="urn:a" xmlns:b="urn:b" xmlns:c="urn:c" b:x="1"><c:f></c:f><g><h xmlns:c="urn:other" c:y=""></h></g><i xmlns="urn:d"></i></a:e>`},
		{"a prefix that is bound anew", []string{"b"}, `<a:e xmlns:a="urn:a" xmlns:b="urn:b" b:x="1"><c:f xmlns:c="urn:c"></c:f><g><h xmlns:c="urn:other" c:y=""></h></g><i xmlns="urn:d" xmlns:b="urn:c"></i></a:e>`},
		{"#default", []string{"#default"}, `<a:e xmlns="urn:d" xmlns:a="urn:a" xmlns:b="urn:b" b:x="1"><c:f xmlns:c="urn:c"></c:f><g xmlns=""><h xmlns:c="urn:other" c:y=""></h></g><i></i></a:e>`},
	} {
		if got := exclusive(t, part, test.prefixes...); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
	const all = `<a:e xmlns="urn:d" xmlns:a="urn:a" xmlns:b="urn:b" xmlns:c="urn:c" xml:lang="en" b:x="1"><c:f></c:f><g xmlns=""><h xmlns:c="urn:other" c:y=""></h></g><i xmlns:b="urn:c"></i></a:e>`
	if got := inclusive(t, part); got != all {
		t.Errorf("inclusive:\n%s\nwant\n%s", got, all)
	}
}

func TestCommentsAndBordersLeaveNoTraceInTheCanonicalForm(t *testing.T) {
	t.Parallel()
	got := exclusive(t, root(t, []byte("<a>x<!-- c --> <![CDATA[<y>]]>z</a>")))
	if got != "<a>x &lt;y&gt;z</a>" {
		t.Error(got)
	}
}

func root(tb testing.TB, data []byte) xmltree.Elem {
	tb.Helper()
	tree, err := xmltree.Scan(data, "")
	if err != nil {
		tb.Fatalf("%v in %s", err, data)
	}
	return tree.Root()
}

func exclusive(tb testing.TB, e xmltree.Elem, prefixes ...string) string {
	tb.Helper()
	var out bytes.Buffer
	if err := wssec.Canonical(&out, e, prefixes...); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func inclusive(tb *testing.T, e xmltree.Elem) string {
	tb.Helper()
	var out bytes.Buffer
	if err := wssec.CanonicalInclusive(&out, e); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func BenchmarkCanonical(b *testing.B) {
	data, err := os.ReadFile("../soap/testdata/create.xml")
	if err != nil {
		b.Fatal(err)
	}
	e := root(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := wssec.Canonical(discard{}, e); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
