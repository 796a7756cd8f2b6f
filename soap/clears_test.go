package soap_test

import (
	"strings"
	"testing"
)

// Nil means "not given": so what is nil may be cleared, and what is to be cleared
// must be named.
func TestFieldsToNull(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	for what, test := range map[string]struct{ input, want string }{
		"one":                 {`<t:fieldsToNull><t:item>avatar</t:item></t:fieldsToNull>`, `{"input":{"id":"a","avatar":null}}`},
		"with blanks":         {"<t:fieldsToNull><t:item>\n avatar </t:item></t:fieldsToNull>", `{"input":{"id":"a","avatar":null}}`},
		"before other fields": {`<t:fieldsToNull><t:item>avatar</t:item></t:fieldsToNull><t:name>A</t:name>`, `{"input":{"id":"a","name":"A","avatar":null}}`},
		"nil, and named":      {`<t:avatar xsi:nil="1"/><t:fieldsToNull><t:item>avatar</t:item></t:fieldsToNull>`, `{"input":{"id":"a","avatar":null}}`},
		"nil, and not named":  {`<t:avatar xsi:nil="1"/>`, `{"input":{"id":"a"}}`},
		"empty is a text":     {`<t:adminNotes/>`, `{"input":{"id":"a","adminNotes":""}}`},
		"none":                {`<t:fieldsToNull/>`, `{"input":{"id":"a"}}`},
		"nil itself":          {`<t:fieldsToNull xsi:nil="true"/>`, `{"input":{"id":"a"}}`},
		"twice the same":      {`<t:fieldsToNull><t:item>avatar</t:item><t:item>avatar</t:item></t:fieldsToNull>`, "already"},
		"given and named":     {`<t:avatar>https://a.org/</t:avatar><t:fieldsToNull><t:item>avatar</t:item></t:fieldsToNull>`, "already"},
		"a nil name":          {`<t:fieldsToNull><t:item xsi:nil="1"/></t:fieldsToNull>`, `no field ""`},
		"an empty name":       {`<t:fieldsToNull><t:item/></t:fieldsToNull>`, `no field ""`},
		"another case":        {`<t:fieldsToNull><t:item>Avatar</t:item></t:fieldsToNull>`, `no field "Avatar"`},
		"the id":              {`<t:fieldsToNull><t:item>id</t:item></t:fieldsToNull>`, `no field "id"`},
		"itself":              {`<t:fieldsToNull><t:item>fieldsToNull</t:item></t:fieldsToNull>`, `no field "fieldsToNull"`},
		"a path":              {`<t:fieldsToNull><t:item>input.avatar</t:item></t:fieldsToNull>`, `no field "input.avatar"`},
		"two lists":           {`<t:fieldsToNull/><t:fieldsToNull/>`, "given twice"},
		"no items":            {`<t:fieldsToNull>avatar</t:fieldsToNull>`, "holds text"},
	} {
		_, variables, err := c.Decode([]byte(envelope11("", `<t:UpdateUser><t:input><t:id>a</t:id>`+test.input+`</t:input></t:UpdateUser>`)), "text/xml")
		if strings.HasPrefix(test.want, "{") {
			if err != nil || string(variables) != test.want {
				t.Errorf("%s: %s, %v", what, variables, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s, %v, want %s", what, variables, err, test.want)
		}
	}
}
