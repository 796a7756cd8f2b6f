package wssec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// What a forger can have canonicalised takes time in proportion, whatever its
// namespaces are.
func TestCanonicalFormsTakeTimeInProportion(t *testing.T) {
	t.Parallel()
	var prefixes []string
	for i := range 64 {
		prefixes = append(prefixes, fmt.Sprint("p", i))
	}
	declared := func(uri string) string {
		var out strings.Builder
		for _, p := range prefixes[:60] {
			fmt.Fprintf(&out, ` xmlns:%s="%s"`, p, uri)
		}
		return out.String()
	}
	nested := strings.Repeat("<a xmlns='urn:a'><b xmlns=''>", 18)
	for name, doc := range map[string]string{
		"many declarations":              "<r>" + strings.Repeat("<e"+declared("u")+"/>", 1000) + "</r>",
		"a full scope":                   "<r" + declared("u") + "><e" + declared("v") + ">" + strings.Repeat("<p59:x p0:a=''/>", 50_000) + "</e></r>",
		"many attributes":                "<r" + declared("u") + ">" + strings.Repeat("<e p0:a='' p1:b='' p2:c='' p3:d=''/>", 25_000) + "</r>",
		"default namespaces that change": "<r>" + nested + strings.Repeat("<c xmlns='urn:c'/><c/>", 40_000) + strings.Repeat("</b></a>", 18) + "</r>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := root(t, []byte(doc))
			start := time.Now()
			exclusive(t, e, prefixes...)
			inclusive(t, e)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func FuzzCanonical(f *testing.F) {
	files, err := filepath.Glob("testdata/c14n/*.xml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := xmltree.Scan(data, "")
		if err != nil {
			return
		}
		once := exclusive(t, tree.Root())
		again, err := xmltree.ScanWithin([]byte(once), "", len(once))
		if err != nil {
			t.Fatalf("%v in the canonical form %q of %q", err, once, data)
		}
		if twice := exclusive(t, again.Root()); twice != once {
			t.Fatalf("%q has the canonical form %q, and that %q", data, once, twice)
		}
	})
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
