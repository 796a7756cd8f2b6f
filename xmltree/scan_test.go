package xmltree_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"tidings/fault"
	"tidings/xmltree"
)

func TestScanRefusesWhatNoEnvelopeNeeds(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"document type":                `<!DOCTYPE a><a/>`,
		"internal subset":              `<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`,
		"entity":                       `<a>&nbsp;</a>`,
		"processing instruction":       `<?php x?><a/>`,
		"stylesheet":                   `<?xml version="1.0"?><?xml-stylesheet href="x"?><a/>`,
		"instruction inside":           `<a><?x y?></a>`,
		"blank before the declaration": ` <?xml version="1.0"?><a/>`,
		"XML 1.1":                      `<?xml version="1.1"?><a/>`,
		"declaration without version":  `<?xml encoding="utf-8"?><a/>`,
		"declaration in wrong order":   `<?xml version="1.0" standalone="yes" encoding="utf-8"?><a/>`,
		"reference in declaration":     `<?xml version="1&#46;0"?><a/>`,
		"declared UTF-7":               `<?xml version="1.0" encoding="UTF-7"?><a/>`,
		"not the ASCII it declares":    `<?xml version="1.0" encoding="US-ASCII"?><a>é</a>`,
		"undeclared element prefix":    `<p:a/>`,
		"undeclared attribute prefix":  `<a p:b="1"/>`,
		"prefix out of scope":          `<a><b xmlns:p="urn:p"/><p:c/></a>`,
		"duplicate attribute":          `<a b="1" b="2"/>`,
		"duplicate expanded name":      `<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2"/>`,
		"duplicate declaration":        `<a xmlns:p="u" xmlns:p="v"/>`,
		"prefix bound to nothing":      `<a xmlns:p=""/>`,
		"xml rebound":                  `<a xmlns:xml="urn:x"/>`,
		"xmlns declared":               `<a xmlns:xmlns="urn:x"/>`,
		"xml bound to another prefix":  `<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>`,
		"two roots":                    `<a/><b/>`,
		"text after the root":          `<a/>x`,
		"text before the root":         `x<a/>`,
		"CDATA outside":                `<a/><![CDATA[ ]]>`,
		"no root":                      `  `,
		"nothing":                      ``,
		"not closed":                   `<a><b></b>`,
		"closed by another":            `<a></b>`,
		"closed by a longer name":      `<a></ab>`,
		"closed by another prefix":     `<p:a xmlns:p="u" xmlns:q="u"></q:a>`,
		"closed twice":                 `<a/></a>`,
		"blank missing":                `<a b="1"c="2"/>`,
		"unquoted attribute":           `<a b=1/>`,
		"attribute without value":      `<a b/>`,
		"< in an attribute":            `<a b="<"/>`,
		"colon first":                  `<:a/>`,
		"colon last":                   `<a:/>`,
		"attribute colon first":        `<a :b="1"/>`,
		"two colons":                   `<a:b:c/>`,
		"digit first":                  `<1/>`,
		"name beyond ASCII":            `<é/>`,
		"surrogate":                    `<a>&#xD800;</a>`,
		"NUL reference":                `<a>&#0;</a>`,
		"U+FFFE reference":             `<a>&#xFFFE;</a>`,
		"beyond Unicode":               `<a>&#x110000;</a>`,
		"signed reference":             `<a>&#+65;</a>`,
		"capital X":                    `<a>&#X41;</a>`,
		"naked ampersand":              `<a>a & b</a>`,
		"NUL":                          "<a>\x00</a>",
		"NUL in a tag":                 "<a \x00/>",
		"control":                      "<a>\x01</a>",
		"control in attribute":         "<a b='\x01'/>",
		"control in CDATA":             "<a><![CDATA[\x01]]></a>",
		"control in comment":           "<a><!--\x01--></a>",
		"U+FFFF":                       "<a>\uFFFF</a>",
		"not UTF-8":                    "<a>\xFF</a>",
		"overlong UTF-8":               "<a>\xC0\xAF</a>",
		"]]> in text":                  `<a>]]></a>`,
		"-- in a comment":              `<a><!-- -- --></a>`,
		"--->":                         `<a><!-- ---></a>`,
		"open comment":                 `<a><!-- </a>`,
		"open CDATA":                   `<a><![CDATA[ </a>`,
		"too deep":                     strings.Repeat("<a>", 41) + strings.Repeat("</a>", 41),
		"too many attributes":          "<a" + numbered(65, ` a%d=""`) + "/>",
		"too many declarations":        "<a" + numbered(65, ` xmlns:a%d="u"`) + "/>",
		"attributes and declarations":  "<a" + numbered(32, ` xmlns:a%d="u"`) + numbered(33, ` a%d=""`) + "/>",
		"too many in scope":            nested(3, "<a"+numbered(50, ` xmlns:a%d="u"`)+">", "</a>"),
		"too many elements":            "<a>" + strings.Repeat("<b/>", 200_000) + "</a>",
		"too many comments":            "<a>" + strings.Repeat("<!---->", 1001) + "</a>",
		"namespace too long":           `<a xmlns="` + strings.Repeat("u", 513) + `"/>`,
		"name too long":                "<" + strings.Repeat("a", 257) + "/>",
		"too large":                    "<a>" + strings.Repeat("a", 1<<20) + "</a>",
		"ends in a tag":                `<a b`,
		"ends after <":                 `<a><`,
		"bad empty tag":                `<a/ >`,
	}
	for what, doc := range cases {
		if e, err := scan([]byte(doc), ""); err == nil {
			t.Errorf("%s: accepted as %+v", what, e)
		} else if !fault.Is(err, fault.BadRequest) && !fault.Is(err, fault.PayloadTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestScanReads(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ doc, text string }{
		"references":        {`<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#x1F600;</a>`, `<>&"'AB😀`},
		"line ends":         {"<a>1\r\n2\r3\n4&#13;</a>", "1\n2\n3\n4\r"},
		"comment in text":   {`<a>admin<!-- -->@evil</a>`, "admin@evil"},
		"CDATA in text":     {"<a>x<![CDATA[<&>\r\n]]>y</a>", "x<&>\ny"},
		"text around child": {`<a>x<b>no</b>y</a>`, "xy"},
		"mark":              {"\xEF\xBB\xBF<?xml version='1.0' encoding='latin1' standalone='no'?>\n<a>é</a>\n", "é"},
		"ASCII":             {`<?xml version="1.0" encoding="us-ascii"?><a>e</a>`, "e"},
		"brackets":          {`<a>]] > ]]&gt;</a>`, "]] > ]]>"},
		"deep enough":       {strings.Repeat("<a>", 40) + strings.Repeat("</a>", 40), ""},
	}
	for what, c := range cases {
		e, err := scan([]byte(c.doc), "")
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if e.Text != c.text {
			t.Errorf("%s: text %q, want %q", what, e.Text, c.text)
		}
	}
	e, err := scan([]byte("<p:a xmlns:p='urn:p' xmlns='urn:d' b='1\t2\r\n3&#10;4' p:c='&lt;'><d/><e xmlns=''/></p:a >"), "utf-8")
	if err != nil {
		t.Fatal(err)
	}
	want := &element{Space: "urn:p", Local: "a",
		Attrs: map[[2]string]string{{"", "b"}: "1 2 3\n4", {"urn:p", "c"}: "<"},
		Children: []*element{
			{Space: "urn:d", Local: "d", Attrs: map[[2]string]string{}},
			{Local: "e", Attrs: map[[2]string]string{}},
		}}
	if !reflect.DeepEqual(e, want) {
		t.Errorf("got %+v, want %+v", e, want)
	}
}

// What is read into memory is bounded, however large the documents may be.
func TestLargeDocumentsAreBoundedToo(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ doc, want string }{
		"pieces of text": {"<a>" + strings.Repeat("<![CDATA[]]>", 600_000) + "</a>", "pieces of text"},
		"attributes":     {"<a>" + strings.Repeat("<b"+numbered(60, ` a%d=""`)+"/>", 7_000) + "</a>", "more than 400000 attributes"},
		"declarations":   {"<a>" + strings.Repeat("<b"+numbered(60, ` xmlns:a%d="u"`)+"/>", 7_000) + "</a>", "more than 400000 attributes"},
		"elements":       {"<a>" + strings.Repeat("x<b/>", 200_000) + "</a>", "more than 200000 elements"},
	} {
		if _, err := xmltree.ScanWithin([]byte(c.doc), "", 16<<20); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := xmltree.ScanWithin([]byte("<a>"+strings.Repeat("x<b c=''/>", 199_999)+"</a>"), "", 16<<20); err != nil {
		t.Error(err)
	}
}

// hostile are documents that took seconds and gigabytes in a scanner that
// looked at, or copied, every earlier piece again for each new one.
func hostile() map[string]string {
	return map[string]string{
		"declarations":         "<a" + numbered(60_000, ` xmlns:a%d="u"`) + "/>",
		"attributes":           "<a" + numbered(60_000, ` a%d=""`) + "/>",
		"comments in text":     "<a>" + strings.Repeat("xxxx<!---->", 95_000) + "</a>",
		"CDATA in text":        "<a>" + strings.Repeat("x<![CDATA[]]>", 80_000) + "</a>",
		"elements in text":     "<a>" + strings.Repeat("x<b/>", 199_999) + "</a>",
		"references":           "<a>" + strings.Repeat("&lt;", 260_000) + "</a>",
		"open tags":            strings.Repeat("<a>", 340_000),
		"full scope, elements": nested(2, "<a"+numbered(60, ` xmlns:a%d="u"`)+">", strings.Repeat("<a0:b/>", 140_000)+"</a></a>"),
		"nearly equal spaces":  "<a xmlns:p='" + strings.Repeat("u", 400_000) + "1' xmlns:q='" + strings.Repeat("u", 400_000) + "2'>" + strings.Repeat("<b"+numbered(32, ` p:a%d=""`)+numbered(32, ` q:a%d=""`)+"/>", 300) + "</a>",
		"a long name":          "<" + strings.Repeat("a", 1_000_000) + "/>",
		"CDATA and comments":   "<a>" + strings.Repeat("x<![CDATA[y]]><!---->", 45_000) + "</a>",
		"full tags":            "<a>" + strings.Repeat("<b"+numbered(64, ` a%d=""`)+"/>", 2_100) + "</a>",
	}
}

// What a document makes the scanner allocate is bounded by its size. (It does
// not run in parallel: it counts what the whole process allocates.)
func TestScanAllocatesInProportionToTheInput(t *testing.T) {
	for what, doc := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = xmltree.Scan([]byte(doc), "")
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / uint64(len(doc)); n > 200 {
			t.Errorf("%s: %d bytes for each byte of input", what, n)
		}
	}
}

// ns/B is the figure to look at: it is about the same for all of them.
func BenchmarkScanHostile(b *testing.B) {
	for what, doc := range hostile() {
		b.Run(what, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				_, _ = xmltree.Scan([]byte(doc), "")
			}
		})
	}
}

// FuzzScan holds the scanner against encoding/xml: what the scanner accepts,
// the oracle accepts too, and both see the same tree.
func FuzzScan(f *testing.F) {
	f.Add(createPost(f))
	for _, doc := range []string{
		`<a/>`, `<?xml version="1.0" encoding="utf-8"?><a b='1'>x<!-- c --><![CDATA[d]]>&#65;</a>`,
		`<p:a xmlns:p="u" p:b="&lt;"><p:c xmlns:p="v"/><d xmlns="w"><e xmlns=""/></d></p:a>`,
		"\xEF\xBB\xBF<a>\r\n\r]] ></a>\n", "\xFF\xFE<\x00a\x00/\x00>\x00", "\x00<\x00a\x00/\x00>", "<?xml version='1.0' encoding='cp1252'?><a>\x80\xE9</a>", `<a b="1"c="2"/>`, `<a>&#xD800;</a>`, `<a/><b/>`,
		`<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`, `<a:b:c/>`, "<p:a xmlns='u\n' xmlns:p='\tu' p:b=''/>", `<a xmlns:xml="http://www.w3.org/XML/1998/namespace"/>`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := scan(data, "")
		if err != nil {
			return
		}
		tree, err := xmltree.Scan(data, "")
		if err != nil {
			t.Fatal(err)
		}
		want, err := oracle([]byte(tree.Source()))
		if err != nil {
			t.Fatalf("accepted %q, but encoding/xml: %v", data, err)
		}
		if level(got); !reflect.DeepEqual(got, level(want)) {
			t.Fatalf("%q\n got %s\nwant %s", data, show(got), show(want))
		}
	})
}

// level makes white space in attributes blanks, and so in the namespaces that some
// declare: encoding/xml does not normalise it.
func level(e *element) *element {
	blank := strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")
	attrs := map[[2]string]string{}
	for name, value := range e.Attrs {
		attrs[[2]string{blank.Replace(name[0]), name[1]}] = blank.Replace(value)
	}
	e.Space, e.Attrs = blank.Replace(e.Space), attrs
	for _, c := range e.Children {
		level(c)
	}
	return e
}

// oracle reads a document with encoding/xml.
func oracle(data []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var root *element
	var open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{Space: token.Name.Space, Local: token.Name.Local, Attrs: map[[2]string]string{}}
			for _, a := range token.Attr {
				if a.Name.Space != "xmlns" && a.Name != (xml.Name{Local: "xmlns"}) {
					e.Attrs[[2]string{a.Name.Space, a.Name.Local}] = a.Value
				}
			}
			if len(open) > 0 {
				parent := open[len(open)-1]
				parent.Children = append(parent.Children, e)
			} else {
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].Text += string(token)
			}
		}
	}
}

func show(e *element) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{%s}%s%q %q[", e.Space, e.Local, e.Attrs, e.Text)
	for _, c := range e.Children {
		b.WriteString(show(c))
	}
	return b.String() + "]"
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func nested(n int, tag, end string) string { return strings.Repeat(tag, n) + end }

func BenchmarkScan(b *testing.B) {
	data := createPost(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var memory xmltree.Memory
	var tree xmltree.Tree
	for b.Loop() {
		if err := memory.Scan(&tree, data, "", xmltree.MaxBytes); err != nil {
			b.Fatal(err)
		}
		tree.Release()
	}
}

// createPost is an envelope as a partner sends it.
func createPost(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile("../soap/testdata/create.xml")
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
