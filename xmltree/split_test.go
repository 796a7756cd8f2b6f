package xmltree_test

import (
	"encoding/xml"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"tidings/xmltree"
)

// split writes a document anew with comments in its text, and pieces of it in
// CDATA sections: all that means the same.
func split(doc string, r *rand.Rand) string {
	d := xml.NewDecoder(strings.NewReader(doc))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var out strings.Builder
	depth, comments := 0, strings.Count(doc, "<!--")
	for {
		from := d.InputOffset()
		token, err := d.RawToken()
		raw := doc[from:d.InputOffset()]
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth > 0 && !strings.HasPrefix(raw, "<") && comments < 900 {
				raw = splitText(raw, r)
				comments += strings.Count(raw, "<!--")
			}
		}
		out.WriteString(raw)
		if err != nil {
			return out.String()
		}
	}
}

// splitText cuts text where no reference and no line end is torn, and neither is
// a ]] before a >, which would stand alone then.
func splitText(text string, r *rand.Rand) string {
	var out strings.Builder
	for pieces := 0; text != ""; pieces++ {
		n := pieceOf(text, 1+r.IntN(4))
		piece := text[:n]
		text = text[n:]
		literal := !strings.Contains(piece, "&")
		switch r.IntN(6) {
		case 0:
			piece += "<!---->"
		case 1:
			piece = "<!-- <a> & ]]> -->" + piece
		case 2:
			if literal {
				piece = "<![CDATA[" + piece + "]]>"
			}
		case 3:
			piece += "<![CDATA[]]>"
		}
		out.WriteString(piece)
		if pieces == 40 {
			break
		}
	}
	return out.String() + text
}

// pieceOf is how many bytes the first n characters of text have, where a
// reference and a line end of two are one.
func pieceOf(text string, n int) int {
	at := 0
	for range n {
		switch rest := text[at:]; {
		case rest == "":
			return at
		case rest[0] == '&':
			at += strings.IndexByte(rest, ';') + 1
		case strings.HasPrefix(rest, "\r\n"):
			at += 2
		default:
			_, size := utf8.DecodeRuneInString(rest)
			at += size
		}
	}
	return at
}

// FuzzSplit: comments and CDATA sections inside of text leave no trace in the
// tree, which is what all that read a document look at.
func FuzzSplit(f *testing.F) {
	f.Add(string(createPost(f)), uint64(1))
	for i, doc := range []string{
		`<a>admin@evil</a>`, "<a>\r\n\r]] ></a>", `<a>&lt;&#65;&amp;lt;</a>`, `<a>x<b>yy</b>zz<![CDATA[<&>]]>é€😀</a>`, `<a xmlns="u"> <b/> ]<c>]</c>&gt;</a>`,
	} {
		f.Add(doc, uint64(i))
	}
	f.Fuzz(func(t *testing.T, doc string, seed uint64) {
		if strings.HasPrefix(doc, "\xEF\xBB\xBF") || !utf8.ValidString(doc) {
			return
		}
		want, err := scan([]byte(doc), "utf-8")
		if err != nil {
			return
		}
		other := split(doc, rand.New(rand.NewPCG(seed, 0)))
		if len(other) > xmltree.MaxBytes {
			return
		}
		got, err := scan([]byte(other), "utf-8")
		if err != nil {
			t.Fatalf("%q is accepted, but %q: %v", doc, other, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\n got %s\nwant %s of %q", other, show(got), show(want), doc)
		}
	})
}
