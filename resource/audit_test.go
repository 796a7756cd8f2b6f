package resource_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/resource"
	"tidings/schema"
)

const audited = `
type Item @resource {
  id: ID!
  name: String! @constraint(minLength: 2, maxLength: 5)
  kind: Kind! @default(value: A)
  tags: [Kind!]
  code: ID
  size: Int
  price: Float
  at: DateTime
  made: DateTime! @timestamp(on: CREATE)
  place: Place
  stops: [Place!] @constraint(maxItems: 2)
  picture: Picture
  free: JSON
  same: Item @belongsTo(field: "code")
}

type Place { city: String! street: String kind: Kind! @default(value: A) }
union Picture = Drawing | Photo
type Drawing { ink: String! }
type Photo { width: PositiveInt }
enum Kind { A B }
`

func TestAuditSaysWhatIsWrongWithAStoredRecord(t *testing.T) {
	t.Parallel()
	m := model(t, audited)
	const whole = `"id":"1","name":"good","kind":"A","made":"2026-01-01T00:00:00Z"`
	tests := []struct{ name, record, want string }{
		{"all is well", `{` + whole + `,"tags":["A","B"],"code":"7","size":3,"price":1e21,"at":"2026-01-01T00:00:00.5Z","free":{"b":[1],"a":1}}`, ""},
		{"nullable fields are null", `{` + whole + `,"tags":null,"code":null,"place":null,"stops":null,"picture":null}`, ""},
		{"a member that nobody knows", `{` + whole + `,"old":1}`, ""},
		{"a default is absent", `{"id":"1","name":"good","made":"2026-01-01T00:00:00Z"}`, ""},
		{"a default is null", `{"id":"1","name":"good","kind":null,"made":"2026-01-01T00:00:00Z"}`, "kind MISSING must not be null"},
		{"a required value is absent", `{"id":"1","kind":"A","made":"2026-01-01T00:00:00Z"}`, "name MISSING is required and absent: give the field a @default, or make it nullable"},
		{"a timestamp is absent", `{"id":"1","name":"good","kind":"A"}`, "made MISSING is required and absent: give the field a @default, or make it nullable"},
		{"an enum value is gone", `{` + whole + `,"tags":["A","C","D"]}`, "tags WRONG_VALUE has an item that must be one of A, B"},
		{"a text is too long", `{"id":"1","name":"too long","kind":"A","made":"2026-01-01T00:00:00Z"}`, "name CONSTRAINT must have at most 5 characters (maxLength)"},
		{"a number for a text", `{"id":"1","name":5,"kind":"A","made":"2026-01-01T00:00:00Z"}`, "name WRONG_VALUE must be a string"},
		{"a number for an id", `{` + whole + `,"code":7}`, "code WRONG_VALUE is not in the form in which a value of the type ID is kept"},
		{"one item for a list", `{` + whole + `,"tags":"A"}`, "tags WRONG_VALUE is not in the form in which a value of the type [Kind!] is kept"},
		{"a list for one value", `{` + whole + `,"size":[1]}`, "size WRONG_VALUE must be a whole number from -2147483648 to 2147483647"},
		{"a fraction for an integer", `{` + whole + `,"size":1.5}`, "size WRONG_VALUE must be a whole number from -2147483648 to 2147483647"},
		{"a moment in another form", `{` + whole + `,"at":"2026-01-01T00:00:00.50Z"}`, "at WRONG_VALUE is not in the form in which a value of the type DateTime is kept"},
		{"two flaws", `{"id":"1","name":"x","kind":"C","made":"2026-01-01T00:00:00Z"}`, "name CONSTRAINT must have at least 2 characters (minLength); kind WRONG_VALUE must be one of A, B"},
		{"an object", `{` + whole + `,"place":{"city":"Rome","street":null,"kind":"B"}}`, ""},
		{"an object without what it must have", `{` + whole + `,"place":{"street":"x"}}`, "place.city MISSING is required and absent: make the field nullable; place.kind MISSING is required and absent: make the field nullable"},
		{"a list of objects, one flaw each", `{` + whole + `,"stops":[{"city":1,"kind":"A"},{"city":2,"kind":"A"},{"city":"x","kind":"A"}]}`,
			"stops CONSTRAINT must have at most 2 items (maxItems); stops.city WRONG_VALUE must be a string"},
		{"no object", `{` + whole + `,"place":"Rome"}`, "place WRONG_VALUE must be an object"},
		{"no list of objects", `{` + whole + `,"stops":{"city":"Rome","kind":"A"}}`, "stops WRONG_VALUE must be a list"},
		{"a list with null in it", `{` + whole + `,"stops":[null]}`, "stops MISSING has an item that must not be null"},
		{"a member of a union", `{` + whole + `,"picture":{"__typename":"Photo","width":3}}`, ""},
		{"a member of a union that is wrong", `{` + whole + `,"picture":{"__typename":"Drawing","ink":null}}`, "picture.ink MISSING must not be null"},
		{"no member of a union any more", `{` + whole + `,"picture":{"__typename":"Film"}}`, "picture WRONG_VALUE must be of a type that belongs to Picture"},
		{"no record", `[1]`, " NO_RECORD what is stored is not a JSON object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, v := range resource.Audit(m, "Item", "1", []byte(test.record)) {
				if v.Type != "Item" || v.ID != "1" {
					t.Errorf("the violation is of %s %q", v.Type, v.ID)
				}
				got = append(got, fmt.Sprintf("%s %s %s", v.Field, v.Flaw, v.Reason))
			}
			if got := strings.Join(got, "; "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if got := resource.Audit(m, "Gone", "1", []byte(`{"id":"1"}`)); len(got) != 1 || got[0].Flaw != resource.FlawType {
		t.Errorf("of a type that is gone: %v", got)
	}
}

func model(t testing.TB, sdl string) *schema.Model {
	t.Helper()
	m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What a record is made of comes from the bus: anything may stand there.
func FuzzAudit(f *testing.F) {
	m := model(f, audited)
	f.Add([]byte(`{"id":"1","name":"good","kind":"A","made":"2026-01-01T00:00:00Z","tags":["A"],"size":1}`))
	f.Add([]byte(`{"id":"1","place":{"city":1},"stops":[null,{"city":"x"}],"picture":{"__typename":"Photo"},"free":[[{}]]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range resource.Audit(m, "Item", "1", raw) {
			if v.Flaw == "" || v.Reason == "" {
				t.Errorf("an empty violation: %+v", v)
			}
		}
	})
}
