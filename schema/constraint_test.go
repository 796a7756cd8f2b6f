package schema_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"tidings/schema"
)

// field loads a resource with one field in it.
func field(t *testing.T, declaration string) *schema.Field {
	t.Helper()
	model, err := schema.Load(fstest.MapFS{"a.graphql": {Data: []byte(
		"type A @resource {\n id: ID!\n f: " + declaration + "\n}\nenum Size { BIG SMALL }")}})
	if err != nil {
		t.Fatal(err)
	}
	return model.Resource("A").Field("f")
}

func TestFieldParseNamesTheRuleAndItsLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		declaration string
		value       any
		refusal     string // empty: accepted
	}{
		{`String`, nil, ""},
		{`String!`, nil, "must not be null"},
		{`String`, strings.Repeat("a", schema.MaxStringBytes), ""},
		{`String`, strings.Repeat("a", schema.MaxStringBytes+1), "must have at most 65536 bytes"},
		{`String @constraint(minLength: 2)`, "é", "must have at least 2 characters (minLength)"},
		{`String @constraint(maxLength: 1)`, "é", ""},
		{`String @constraint(maxLength: 1)`, "éé", "must have at most 1 character (maxLength)"},
		{`String @constraint(maxLength: 65536)`, strings.Repeat("é", 65536), ""},
		{`String @constraint(startsWith: "a")`, "ba", `must start with "a" (startsWith)`},
		{`String @constraint(endsWith: "a")`, "ab", `must end with "a" (endsWith)`},
		{`String @constraint(contains: "a")`, "b", `must contain "a" (contains)`},
		{`String @constraint(notContains: "a")`, "ab", `must not contain "a" (notContains)`},
		{`String @constraint(pattern: "^[a-z]+$")`, "a1", `must match ^[a-z]+$ (pattern)`},
		{`String @constraint(pattern: "b")`, "abc", ""},
		{`String @constraint(format: "ipv4")`, "::1", "must be of the format ipv4 (format)"},
		{`String @constraint(format: "ipv6")`, "::1", ""},
		{`String @constraint(format: "date")`, "2026-02-30", "must be of the format date (format)"},
		{`String @constraint(format: "date-time")`, "2026-02-20T00:00:00Z", ""},
		{`String @constraint(format: "byte")`, "YQ==", ""},
		{`String @constraint(format: "uri")`, "urn:isbn:1", ""},
		{`String @constraint(format: "email")`, "x", "must be of the format email (format)"},
		{`String @constraint(format: "uuid")`, "x", "must be of the format uuid (format)"},
		{`Int @constraint(min: 1)`, 0, "must be at least 1 (min)"},
		{`Int @constraint(max: 1)`, 2, "must be at most 1 (max)"},
		{`Float @constraint(exclusiveMin: 1)`, 1, "must be greater than 1 (exclusiveMin)"},
		{`Float @constraint(exclusiveMax: 1)`, 1, "must be less than 1 (exclusiveMax)"},
		{`Float @constraint(multipleOf: 0.1)`, 0.3, ""},
		{`Float @constraint(multipleOf: 0.1)`, 0.35, "must be a multiple of 0.1 (multipleOf)"},
		{`[String!] @constraint(minItems: 1)`, []any{}, "must have at least 1 item (minItems)"},
		{`[String!] @constraint(maxItems: 1)`, []any{"a", "b"}, "must have at most 1 item (maxItems)"},
		{`[String!]`, make([]any, schema.MaxListItems+1), "item 0 must not be null"},
		{`[String]`, make([]any, schema.MaxListItems+1), "must have at most 1000 items (maxItems)"},
		{`[String!] @constraint(maxLength: 1)`, []any{"a", "bb"}, "item 1 must have at most 1 character (maxLength)"},
		{`[Int!]`, 3, ""},
		{`[Int!]`, []any{1, "2"}, "item 1 must be a whole number from -2147483648 to 2147483647"},
		{`Size`, "BIG", ""},
		{`Size`, "big", "must be one of BIG, SMALL"},
		{`Size`, 1, "must be a string"},
		{`[Size]`, []any{nil, "SMALL"}, ""},
		{`Boolean`, "true", "must be true or false"},
	} {
		_, err := field(t, test.declaration).Parse(test.value)
		switch {
		case test.refusal == "" && err != nil:
			t.Errorf("%s: %.40v is refused: %v", test.declaration, test.value, err)
		case test.refusal != "" && (err == nil || err.Error() != test.refusal):
			t.Errorf("%s: %.40v gives %v, want %s", test.declaration, test.value, err, test.refusal)
		}
	}
}

func TestNilConstraintAsksForTheGlobalCaps(t *testing.T) {
	t.Parallel()
	var none *schema.Constraint
	if err := none.Check("a"); err != nil {
		t.Error(err)
	}
	if none.Check(strings.Repeat("a", schema.MaxStringBytes+1)) == nil || none.Check(make([]any, schema.MaxListItems+1)) == nil {
		t.Error("a value beyond the caps is accepted")
	}
}
