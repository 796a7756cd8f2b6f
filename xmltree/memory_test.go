package xmltree_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tidings/xmltree"
)

// documents differ in all that a tree is made of.
func documents() []string {
	docs := []string{
		`<a/>`,
		`<s:a xmlns:s="urn:s" s:x="1"><s:b>te<!-- c -->xt</s:b><c y="2"/></s:a>`,
		"<a xmlns='urn:\r\nd'><b>&lt;&amp;</b><![CDATA[<]]>\r\n</a>",
		"<a>" + strings.Repeat("<b>x</b>", 5_000) + "</a>",
		"<a" + numbered(60, ` xmlns:p%d="u"`) + "/>",
	}
	for i := range 20 {
		docs = append(docs, fmt.Sprintf(`<p%d:a xmlns:p%[1]d="urn:%[1]d" p%[1]d:b="%[1]d"><c d="&#%d;">%[1]d</c></p%[1]d:a>`, i, i+65))
	}
	return docs
}

// Whoever reads in one memory, at the same time or one after the other, sees
// its own document.
func TestTreesInOneMemoryAreTheirOwn(t *testing.T) {
	t.Parallel()
	var memory xmltree.Memory
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 30 {
				for _, doc := range documents() {
					want, err := scan([]byte(doc), "")
					if err != nil {
						t.Error(err)
						return
					}
					_ = memory.Scan(new(xmltree.Tree), []byte(doc+"<"), "", xmltree.MaxBytes) // is refused at its end
					var tree xmltree.Tree
					if err := memory.Scan(&tree, []byte(doc), "", xmltree.MaxBytes); err != nil {
						t.Error(err)
						return
					}
					got := copyOf(tree.Root())
					tree.Release()
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%q\n got %s\nwant %s", doc, show(got), show(want))
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// What is kept of a tree that was released is its strings: its elements do not show
// the next one.
func TestAReleasedTreeShowsNothing(t *testing.T) {
	t.Parallel()
	var memory xmltree.Memory
	var first, second xmltree.Tree
	if err := memory.Scan(&first, []byte(`<a b="&#65;"><c>text</c>&lt;&gt;</a>`), "", xmltree.MaxBytes); err != nil {
		t.Fatal(err)
	}
	root := first.Root()
	name, text := root.Name().Local, root.Text()
	value, _ := root.Attr("", "b")
	first.Release()
	first.Release() // does nothing
	if err := memory.Scan(&second, []byte(`<x y="&#90;"><z>other</z>&amp;&amp;</x>`), "", xmltree.MaxBytes); err != nil {
		t.Fatal(err)
	}
	if name != "a" || text != "<>" || value != "A" {
		t.Errorf("the strings became %q %q %q", name, text, value)
	}
	for what, look := range map[string]func(){
		"name":     func() { root.Name() },
		"text":     func() { root.Text() },
		"children": func() { root.HasElements() },
		"attr":     func() { root.Attr("", "y") },
		"again":    func() { first.Root().Name() },
	} {
		if !panics(look) {
			t.Errorf("%s: an element of a released tree still shows something", what)
		}
	}
	if second.Root().Name().Local != "x" {
		t.Error("the second tree is not its own")
	}
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}
