package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tidings/schema"
)

const pageSDL = `
"""What a page shows."""
interface Asset { url: URL! caption: String }
type Image implements Asset { url: URL! caption: String @constraint(maxLength: 5) size: Size }
type Video implements Asset { url: URL! caption: String seconds: Int! @default(value: 30) }
union Block = Text | Image
type Text { body: String! on: Date extra: JSON grid: [[Int!]] level: Level @deprecated(reason: "use grid") }
type Size { width: Int! height: Int }
enum Level { LOW HIGH }
scalar Money @specifiedBy(url: "https://example.org/money")
interface Named { slug: String! }
type Page implements Named @resource {
  id: ID!
  slug: String! @unique
  hero: Asset
  blocks: [Block!]! @default(value: []) @constraint(maxItems: 3)
  rows: [[Text!]!]
  meta: JSON @default(value: {a: [1, 2.50]})
  price: Money
  since: Date @index
  old: String @index @deprecated
}
`

func TestEmbeddedValuesAreCheckedAndStored(t *testing.T) {
	t.Parallel()
	page := load(t, pageSDL).Resource("Page")
	for _, c := range []struct{ field, input, stored string }{
		{"hero", `{"image":{"url":"https://a.org/","size":{"width":3}}}`, `{"__typename":"Image","url":"https://a.org/","caption":null,"size":{"width":3,"height":null}}`},
		{"hero", `{"video":{"url":"https://a.org/"}}`, `{"__typename":"Video","url":"https://a.org/","caption":null,"seconds":30}`},
		{"blocks", `[{"text":{"body":"<b>","on":"2026-02-28","extra":{"z":1.50,"a":[null]},"grid":[[1],null],"level":"LOW"}}]`,
			`[{"__typename":"Text","body":"<b>","on":"2026-02-28","extra":{"a":[null],"z":1.50},"grid":[[1],null],"level":"LOW"}]`},
		{"rows", `{"body":"x"}`, `[[{"body":"x","on":null,"extra":null,"grid":null,"level":null}]]`},
		{"meta", `[1e3,"<"]`, `[1e3,"<"]`},
		{"price", `"12 EUR"`, `"12 EUR"`},
		{"price", `{"amount":1}`, `{"amount":1}`},
	} {
		parsed, err := page.Field(c.field).Parse(decode(t, c.input))
		if err != nil {
			t.Errorf("%s %s: %v", c.field, c.input, err)
			continue
		}
		if got := encode(t, parsed); got != c.stored {
			t.Errorf("%s: %s is stored as %s, want %s", c.field, c.input, got, c.stored)
		}
		if again, err := page.Field(c.field).Parse(decode(t, c.stored)); err != nil || encode(t, again) != c.stored {
			t.Errorf("%s: %s is stored as %v, %v", c.field, c.stored, again, err)
		}
	}
}

func TestWrongPartsOfEmbeddedValuesAreNamed(t *testing.T) {
	t.Parallel()
	page := load(t, pageSDL).Resource("Page")
	for _, c := range []struct{ field, input, path, message string }{
		{"hero", `{"image":{"url":"https://a.org/","caption":"too long"}}`, ".image.caption", "must have at most 5 characters (maxLength)"},
		{"hero", `{"image":{"url":"https://a.org/","size":{}}}`, ".image.size.width", "must not be null"},
		{"hero", `{"image":{"caption":"a"}}`, ".image.url", "must not be null"},
		{"hero", `{"image":{"url":"https://a.org/","__typename":"Video"}}`, ".image", `must not have a member "__typename"`},
		{"hero", `{"image":null}`, ".image", "must be an object"},
		{"blocks", `[{"text":{"body":"x"}},{"text":{"body":"x","level":"MID"}}]`, "[1].text.level", "must be one of LOW, HIGH"},
		{"blocks", `[{"text":{"body":"x","grid":[[1],["a"]]}}]`, "[0].text.grid", "item 1 item 0 must be a whole number from -2147483648 to 2147483647"},
		{"blocks", `[null]`, "[0]", "must not be null"},
		{"rows", `[[{"body":"x"},7]]`, "[0][1]", "must be an object"},
		{"blocks", `[{"text":{"body":"x","on":"2026-02-30"}}]`, "[0].text.on", "must be a day as RFC 3339 writes it, such as 2026-11-20"},
	} {
		_, err := page.Field(c.field).Parse(decode(t, c.input))
		part, ok := errors.AsType[*schema.ValueError](err)
		if !ok || part.Path != c.path || part.Err.Error() != c.message {
			t.Errorf("%s %s: %v, want %s: %s", c.field, c.input, err, c.path, c.message)
		}
	}
	for _, c := range []struct{ field, input, message string }{
		{"hero", `{}`, "must have exactly one of image, video"},
		{"hero", `{"image":{},"video":{}}`, "must have exactly one of image, video"},
		{"hero", `"x"`, "must be an object"},
		{"blocks", `null`, "must not be null"},
		{"blocks", `[{},{},{},{}]`, "must have at most 3 items (maxItems)"},
		{"meta", strings.Repeat("[", 40) + strings.Repeat("]", 40), "must be nested at most 32 levels deep"},
		{"meta", `"` + strings.Repeat("x", 64<<10) + `"`, "must have at most 65536 bytes"},
	} {
		if _, err := page.Field(c.field).Parse(decode(t, c.input)); err == nil || err.Error() != c.message {
			t.Errorf("%s %.60s: %v, want %s", c.field, c.input, err, c.message)
		}
	}
}

func TestContractHasInputsForEmbeddedTypes(t *testing.T) {
	t.Parallel()
	m := load(t, pageSDL)
	for _, want := range []string{
		"input AssetInput @oneOf {\n  image: ImageInput\n  video: VideoInput\n}",
		"input BlockInput @oneOf {\n  image: ImageInput\n  text: TextInput\n}",
		"input SizeInput {\n  width: Int!\n  height: Int\n}",
		"  caption: String @constraint(maxLength: 5)\n",
		"  seconds: Int! = 30\n",
		"  level: Level @deprecated(reason: \"use grid\")\n}",
		"  blocks: [BlockInput!]! = [] @constraint(maxItems: 3)\n",
		"  blocks: [BlockInput!] @constraint(maxItems: 3)\n",
		"  rows: [[TextInput!]!]\n",
		"  meta: JSON = {a: [1, 2.50]}\n",
		"scalar Money @specifiedBy(url: \"https://example.org/money\")\n",
		"  since: DateFilter\n",
		"  old: StringFilter @deprecated\n",
		"  old @deprecated\n",
		"  old: String @deprecated\n",
		"type Page implements Named {\n",
		"\"\"\"\nWhat a page shows.\nExactly one field is given.\n\"\"\"\ninput AssetInput",
	} {
		if !strings.Contains(m.SDL, want) {
			t.Errorf("the contract lacks %q", want)
		}
	}
	if got := string(m.Resource("Page").Field("meta").Default); got != `{"a":[1,2.50]}` {
		t.Errorf("the default of meta is %s", got)
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func encode(t *testing.T, value any) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
