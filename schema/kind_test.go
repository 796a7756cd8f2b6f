package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tidings/schema"
)

func TestKindParseReturnsTheStoredForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind schema.Kind
		in   any
		want any
	}{
		{schema.KindString, "", ""},
		{schema.KindString, "né", "né"},
		{schema.KindID, "a b/c", "a b/c"},
		{schema.KindID, 42, "42"},
		{schema.KindID, json.Number("9007199254740993"), "9007199254740993"},
		{schema.KindInt, int64(-2147483648), int64(-2147483648)},
		{schema.KindInt, json.Number("2147483647"), int64(2147483647)},
		{schema.KindInt, 2.0, int64(2)},
		{schema.KindInt, json.Number("1e3"), int64(1000)},
		{schema.KindPositiveInt, 1, int64(1)},
		{schema.KindFloat, 1, 1.0},
		{schema.KindFloat, json.Number("0.5"), 0.5},
		{schema.KindBoolean, false, false},
		{schema.KindDateTime, "2026-11-20T08:25:22.500+01:00", "2026-11-20T07:25:22.5Z"},
		{schema.KindDateTime, "2026-11-20T07:25:22.000Z", "2026-11-20T07:25:22Z"},
		{schema.KindDateTime, "2024-02-29T23:59:59.123456789-00:30", "2024-03-01T00:29:59.123456789Z"},
		{schema.KindDateTime, "0001-01-01T00:00:00+23:59", "0000-12-31T00:01:00Z"},
		{schema.KindEmail, "ada+x@mail.example.org", "ada+x@mail.example.org"},
		{schema.KindEmail, "Ünal@exämple.org", "Ünal@exämple.org"},
		{schema.KindEmail, "root@localhost", "root@localhost"},
		{schema.KindURL, "https://example.org/a?b=c#d", "https://example.org/a?b=c#d"},
		{schema.KindURL, "http://[::1]:8080/", "http://[::1]:8080/"},
		{schema.KindUUID, "0193A2C0-7D5E-7C3A-9F10-2B8F6D1E4A55", "0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55"},
	} {
		got, err := test.kind.Parse(test.in)
		if err != nil || got != test.want {
			t.Errorf("%v.Parse(%#v) = %#v, %v; want %#v", test.kind, test.in, got, err, test.want)
			continue
		}
		raw, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := test.kind.Check(raw); err != nil {
			t.Errorf("%v.Check(%s) = %v for a value that Parse returned", test.kind, raw, err)
		}
	}
}

func TestKindParseRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for kind, values := range map[schema.Kind][]any{
		schema.KindString:      {1, true, nil, []any{}},
		schema.KindID:          {"", 1.5, true, nil},
		schema.KindInt:         {int64(2147483648), "2", 1.5, json.Number("1.5"), json.Number("1e400"), true, nil},
		schema.KindPositiveInt: {0, -1, int64(2147483648), "1"},
		schema.KindFloat:       {"1", json.Number("1e400"), true, nil},
		schema.KindBoolean:     {"true", 1, nil},
		schema.KindDateTime: {"2026-11-20", "2026-11-20T07:25:22", "2026-11-20 07:25:22Z", "2026-11-20t07:25:22z", "2026-02-30T00:00:00Z",
			"2026-11-20T24:00:00Z", "2026-11-20T07:25:60Z", "2026-11-20T07:25:22,5Z", "2026-11-20T07:25:22.Z", "2026-11-20T7:25:22Z",
			"2026-11-20T07:25:22.1234567890Z", "2026-11-20T07:25:22+24:00", "2026-11-20T07:25:22+01:60", "2026-11-20T07:25:22+0100",
			"9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01", "", 1},
		schema.KindEmail: {"", "@", "a@", "@b.org", "a@b@c", "a b@c.org", "a@b..org", ".a@b.org", "a.@b.org", "a..b@c.org", "a@-b.org", "a@b-",
			"a@b_c.org", "a,b@c.org", "a@b.org\n", "<a@b.org>", long + "a@b.org", "a@" + strings.Repeat(long+".", 4) + "org"},
		schema.KindURL: {"", "example.org", "//example.org", "ftp://example.org", "javascript:alert(1)", "https://", "https:///a", "http://:80/",
			"https://a b.org", "https://a.org/\"", "https://a.org/<b>", "https://a.org/\n", "https://a.org/%zz", "https://[::1", "http://?a"},
		schema.KindUUID:   {"", "0193a2c07d5e7c3a9f102b8f6d1e4a55", "0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a5g", "{0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55}"},
		schema.KindObject: {"x", nil},
	} {
		for _, value := range values {
			if got, err := kind.Parse(value); err == nil {
				t.Errorf("%v.Parse(%#v) = %#v, want a refusal", kind, value, got)
			}
		}
	}
}

func TestKindCheckRefusesWhatIsNotOfTheKind(t *testing.T) {
	t.Parallel()
	for kind, values := range map[schema.Kind][]string{
		schema.KindString:      {``, `1`, `"`, `null`, `{}`, `"\x"`},
		schema.KindInt:         {``, `"1"`, `1.5`, `2147483648`, `-2147483649`, `-`, `true`},
		schema.KindPositiveInt: {`0`, `-1`, `99999999999`},
		schema.KindFloat:       {``, `"1"`, `true`},
		schema.KindBoolean:     {`1`, `"true"`, `null`},
		schema.KindDateTime:    {`"2026-11-20"`, `1`},
		schema.KindEmail:       {`"a"`, `"a\u0000@b.org"`},
		schema.KindURL:         {`"ftp://a.org"`, `"https://a.org/\n"`},
		schema.KindUUID:        {`"1"`},
		schema.KindObject:      {`{}`},
	} {
		for _, raw := range values {
			if kind.Check([]byte(raw)) == nil {
				t.Errorf("%v.Check(%s) accepted it", kind, raw)
			}
		}
	}
	if err := schema.KindEmail.Check([]byte(`"ada\u0040example.org"`)); err != nil {
		t.Errorf("an escaped character is refused: %v", err)
	}
}

func TestKindCheckDoesNotAllocate(t *testing.T) {
	for kind, raw := range map[schema.Kind][]byte{
		schema.KindString:   []byte(`"a name of some length that would escape"`),
		schema.KindInt:      []byte(`-12`),
		schema.KindDateTime: []byte(`"2026-11-20T07:25:22.5Z"`),
		schema.KindEmail:    []byte(`"somebody.with.a.name@mail.example.org"`),
		schema.KindURL:      []byte(`"https://example.org/a/long/path/to/somewhere"`),
		schema.KindUUID:     []byte(`"0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55"`),
	} {
		if n := testing.AllocsPerRun(100, func() { _ = kind.Check(raw) }); n != 0 {
			t.Errorf("%v.Check allocates %v times", kind, n)
		}
	}
}

func FuzzKind(f *testing.F) {
	for _, s := range []string{"", "a@b.org", "https://example.org/%41", "2026-11-20T07:25:22.5+01:00", "0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55", "\x00", "é\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for kind := schema.KindString; kind <= schema.KindObject; kind++ {
			got, err := kind.Parse(s)
			if err != nil {
				continue
			}
			if again, err := kind.Parse(got); err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%v: %q is stored as %q, which parses as %v, %v", kind, s, got, again, err)
			}
			raw, _ := json.Marshal(got)
			if err := kind.Check(raw); err != nil {
				t.Errorf("%v: %s was accepted and may not be shown: %v", kind, raw, err)
			}
		}
	})
}
