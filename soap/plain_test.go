package soap_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"tidings/schema"
	"tidings/soap"
)

const pagesSDL = `
interface Asset { url: URL! }
type Image implements Asset { url: URL! size: Int }
type Video implements Asset { url: URL! size: String parts: [Block!] }
union Block = Text | Video
type Text { body: String! extra: JSON on: Date }
type Page @resource @auth(requires: [ANYONE]) { id: ID! hero: Asset blocks: [[Block!]!]! meta: JSON text: Text }
`

func TestEmbeddedObjectsInXML(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(pagesSDL)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range []string{"GetPage", "ListPages", "CreatePage", "UpdatePage", "DeletePage"} {
		document, err := soap.Document(m, operation)
		if err != nil {
			t.Fatal(err)
		}
		if _, errs := gqlparser.LoadQueryWithRules(m.Contract, document, rules.NewDefaultRules()); errs != nil {
			t.Errorf("%s: %v\n%s", operation, errs, document)
		}
	}
	c, err := soap.NewCodec(m)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Encode("GetPage", []byte(`{"data":{"result":{"id":"1","hero":{"__typename":"Image","image_url":"https://a.org/","image_size":3},`+
		`"blocks":[[{"__typename":"Text","text_body":"b","text_extra":{"a":[1]},"text_on":"2026-11-20"}]],"meta":"x","text":null}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<tns:hero><tns:image><tns:url>https://a.org/</tns:url><tns:size>3</tns:size></tns:image></tns:hero>`,
		`<tns:text><tns:body>b</tns:body><tns:extra>{&quot;a&quot;:[1]}</tns:extra><tns:on>2026-11-20</tns:on></tns:text>`,
		`<tns:meta>&quot;x&quot;</tns:meta>`,
	} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("%s lacks %s", answer, want)
		}
	}
	_, variables, err := c.Decode([]byte(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><CreatePage xmlns="urn:tidings:v1:SocialService"><input>`+
		`<hero><video><url>https://a.org/</url></video></hero><blocks><item><item><text><body>b</body></text></item></item></blocks><meta>{"a": 1}</meta></input></CreatePage></s:Body></s:Envelope>`), "text/xml")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"input":{"hero":{"video":{"url":"https://a.org/"}},"blocks":[[{"text":{"body":"b"}}]],"meta":{"a": 1}}}`; string(variables) != want {
		t.Errorf("got %s, want %s", variables, want)
	}
}

// Objects within objects multiply: thirty types can ask for a thousand million
// fields.
func TestAResultThatWouldBeVastIsRefused(t *testing.T) {
	t.Parallel()
	var sdl strings.Builder
	sdl.WriteString("type Query { vast: T0 @busRequest(subject: \"a.b\") }\n")
	for i := range 30 {
		fmt.Fprintf(&sdl, "type T%d { leaf: Int", i)
		for j := i + 1; j < 30; j++ {
			fmt.Fprintf(&sdl, " f%d: T%d", j, j)
		}
		sdl.WriteString(" }\n")
	}
	for text, want := range map[string]string{sdl.String(): "the result of GetVast would have more than 4000 fields", strings.Replace(sdl.String(), "vast: T0", "vast: T25", 1): ""} {
		m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = soap.WSDL(m, soap.Options{Address: "http://localhost"}, false)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "@soap(expose: false)")) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestAResultThatHoldsNothingIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	const root = `type Query { x: A @busRequest(subject: "a.b") } `
	for sdl, refused := range map[string]bool{
		root + `type A { id(n: Int!): ID }`:                                        true,
		root + `type A { id: ID b: [B!] } type B { b: B }`:                         true,
		`type A @resource { id: ID! b: B } type B { c: Int @soap(expose: false) }`: true,
		root + `type A { id: ID b: [B!] @soap(expose: false) } type B { b: B }`:    false,
		root + `union A = B | C type B { id(n: Int!): ID } type C { id: ID }`:      false,
	} {
		_, err := soap.NewCodec(modelOf(t, sdl))
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "@soap(expose: false)") {
			t.Errorf("%s: %v", sdl, err)
		}
	}
}
