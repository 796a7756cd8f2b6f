package view

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"tidings/fault"
	"tidings/schema"
)

// maxCursor bounds the text of a cursor that is read: order values are stored
// values, so a cursor of ours is never longer.
const maxCursor = 1 << 20

// sorting is an order of all records of a table: its terms, the last of which
// is always the id.
type sorting struct {
	terms []term
	// tag tells one order from another; a cursor carries it.
	tag string
}

type term struct {
	column *column
	desc   bool
}

// sort resolves the order of a query. Terms after the id would decide nothing.
// The id goes the way of the last term before it, so that an order by one field
// is one index, forwards or backwards.
func (t *table) sort(order []Order) (sorting, error) {
	s := sorting{terms: make([]term, 0, len(order)+1)}
	sum := fnv.New32a()
	sum.Write([]byte(t.resource.Name))
	desc, done := false, false
	for _, o := range order {
		c := t.byField[o.Field.Name]
		if c == nil || !c.indexed {
			return s, fault.Input("orderBy."+o.Field.Name, "%s.%s has no @index, so it cannot be ordered by", t.resource.Name, o.Field.Name)
		}
		if slices.ContainsFunc(s.terms, func(t term) bool { return t.column == c }) {
			continue
		}
		desc, done = o.Desc, o.Field.Name == "id"
		s.terms = append(s.terms, term{c, desc})
		fmt.Fprintf(sum, ",%s %t", o.Field.Name, desc)
		if done {
			break
		}
	}
	if !done {
		s.terms = append(s.terms, term{t.byField["id"], desc})
	}
	s.tag = fmt.Sprintf("%08x", sum.Sum32())
	return s, nil
}

// cursor writes the place of a record: base64url of a JSON array that holds the
// order's tag, then the value of each term, null where it is missing.
func (s sorting) cursor(values []any) (string, error) {
	items := make([]any, 1, 1+len(values))
	items[0] = s.tag
	for _, v := range values {
		if v == missing {
			v = nil
		}
		items = append(items, v)
	}
	text, err := json.Marshal(items)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// place reads what cursor wrote. It is given by strangers: any value that it
// returns can be compared with, and that is all it is good for.
func (s sorting) place(cursor, argument string) ([]any, error) {
	if len(cursor) > maxCursor {
		return nil, fault.Input(argument, "the cursor is too long to be one of ours")
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return nil, malformed(argument)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil || len(items) == 0 {
		return nil, malformed(argument)
	}
	var tag string
	if err := json.Unmarshal(items[0], &tag); err != nil {
		return nil, malformed(argument)
	}
	if tag != s.tag {
		return nil, fault.Input(argument, "the cursor belongs to a list in another order: begin again without it")
	}
	if len(items) != len(s.terms)+1 {
		return nil, malformed(argument)
	}
	values := make([]any, len(s.terms))
	for i, t := range s.terms {
		var ok bool
		if values[i], ok = placeValue(t.column.field, items[i+1]); !ok {
			return nil, malformed(argument)
		}
	}
	return values, nil
}

func malformed(argument string) error {
	return fault.Input(argument, "this is not a cursor that a list has given")
}

// placeValue reads one value of a cursor, in the form in which columns hold it.
func placeValue(f *schema.Field, raw []byte) (any, bool) {
	if string(raw) == "null" {
		return missing, f.Name != "id"
	}
	kind := f.Kind
	switch kind {
	case schema.KindBoolean:
		kind = schema.KindInt // as the column holds it
	case schema.KindDateTime:
		kind = schema.KindString
	}
	v := columnValue(kind, raw)
	return v, v != missing
}
