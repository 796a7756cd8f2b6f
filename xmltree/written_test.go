package xmltree_test

import (
	"maps"
	"slices"
	"testing"

	"tidings/xmltree"
)

const written = "\uFEFF" + `<?xml version="1.0"?>
<s:a xmlns:s="urn:s" xmlns="urn:d" s:x="1" y="2"><b xmlns=""><!-- c --><c/>te<![CDATA[<]]>xt</b ><s:d xmlns:s="urn:t" xml:lang="en">&amp;</s:d></s:a>
`

func TestHowADocumentWasWritten(t *testing.T) {
	t.Parallel()
	tree, err := xmltree.Scan([]byte(written), "")
	if err != nil {
		t.Fatal(err)
	}
	root := tree.Root()
	children := slices.Collect(root.Children())
	b, d := children[0], children[1]
	c := slices.Collect(b.Children())[0]

	if root.Parent().Exists() || b.Parent() != root || c.Parent() != b || d.Parent() != root {
		t.Error("parents are wrong")
	}
	if root.Prefix() != "s" || b.Prefix() != "" || d.Prefix() != "s" {
		t.Errorf("prefixes %q %q %q", root.Prefix(), b.Prefix(), d.Prefix())
	}
	attributes := slices.Collect(root.Attributes())
	want := []xmltree.Attribute{
		{Name: xmltree.Name{Space: "urn:s", Local: "x"}, Prefix: "s", Value: "1"},
		{Name: xmltree.Name{Local: "y"}, Value: "2"},
	}
	if !slices.Equal(attributes, want) {
		t.Errorf("attributes %v", attributes)
	}
	if got := maps.Collect(root.Declarations()); !maps.Equal(got, map[string]string{"s": "urn:s", "": "urn:d"}) {
		t.Errorf("declarations %v", got)
	}
	if got := maps.Collect(b.Declarations()); !maps.Equal(got, map[string]string{"": ""}) {
		t.Errorf("declarations %v", got)
	}
	if got := maps.Collect(c.Declarations()); len(got) != 0 {
		t.Errorf("declarations %v", got)
	}
}

func TestNamespacesInScope(t *testing.T) {
	t.Parallel()
	tree, err := xmltree.Scan([]byte(written), "")
	if err != nil {
		t.Fatal(err)
	}
	root := tree.Root()
	children := slices.Collect(root.Children())
	b, d := children[0], children[1]
	c := slices.Collect(b.Children())[0]
	for _, test := range []struct {
		at          xmltree.Elem
		prefix, uri string
		found       bool
	}{
		{root, "s", "urn:s", true}, {root, "", "urn:d", true}, {root, "other", "", false},
		{c, "s", "urn:s", true}, {c, "", "", false},
		{d, "s", "urn:t", true}, {d, "", "urn:d", true},
		{c, "xml", "http://www.w3.org/XML/1998/namespace", true},
	} {
		uri, found := test.at.Namespace(test.prefix)
		if uri != test.uri || found != test.found {
			t.Errorf("%s: %q is %q, %v", test.at.Name().Local, test.prefix, uri, found)
		}
	}
}

func TestPlacesInTheSource(t *testing.T) {
	t.Parallel()
	tree, err := xmltree.Scan([]byte(written), "")
	if err != nil {
		t.Fatal(err)
	}
	children := slices.Collect(tree.Root().Children())
	b, d := children[0], children[1]
	c := slices.Collect(b.Children())[0]
	for _, test := range []struct {
		at          xmltree.Elem
		span, inner string
	}{
		{b, `<b xmlns=""><!-- c --><c/>te<![CDATA[<]]>xt</b >`, `<!-- c --><c/>te<![CDATA[<]]>xt`},
		{c, `<c/>`, ``},
		{d, `<s:d xmlns:s="urn:t" xml:lang="en">&amp;</s:d>`, `&amp;`},
	} {
		if from, to := test.at.Span(); tree.Source()[from:to] != test.span {
			t.Errorf("span %q, want %q", tree.Source()[from:to], test.span)
		}
		if from, to := test.at.Inner(); tree.Source()[from:to] != test.inner {
			t.Errorf("inner %q, want %q", tree.Source()[from:to], test.inner)
		}
	}
	var nodes []string
	for e, text := range b.Nodes() {
		if e.Exists() {
			text = e.Name().Local
		}
		nodes = append(nodes, text)
	}
	if !slices.Equal(nodes, []string{"c", "te", "<", "xt"}) {
		t.Errorf("nodes %q", nodes)
	}
}
