package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ValueError is the refusal of a part of a value.
type ValueError struct {
	// Path leads from the field's value to the part: ".street", "[2].size".
	Path string
	// Err says what the part must be like, as the errors of Field.Parse do.
	Err error
}

// Error returns what is wrong and where.
func (e *ValueError) Error() string { return "is wrong at " + e.Path + ": it " + e.Err.Error() }

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// below adds the step that leads to the part of which err tells.
func below(step string, err error) error {
	if part, ok := errors.AsType[*ValueError](err); ok {
		return &ValueError{Path: step + part.Path, Err: part.Err}
	}
	return &ValueError{Path: step, Err: err}
}

// Parse checks a value for the field, null included, and returns it as it is
// stored: nil, string, int64, float64, bool, json.RawMessage for JSON and for
// embedded objects, or []any of them. It takes what Kind.Parse takes, []any for
// lists (a single value becomes a list of one, as GraphQL has it) and
// map[string]any for embedded objects, in the form of their input types or as
// they are stored. Type,
// enum values and @constraint are checked, and defaults inside of objects filled
// in. The text of the error may be shown to the caller after the field's name;
// it is a *ValueError when a part of an embedded object is to blame.
func (f *Field) Parse(value any) (any, error) {
	if value == nil {
		if f.Type.NonNull {
			return nil, errors.New("must not be null")
		}
		return nil, nil
	}
	parsed, err := f.parseValue(value, f.Type)
	if err != nil {
		return nil, err
	}
	if err := f.Constraint.Check(parsed); err != nil {
		return nil, err
	}
	return parsed, nil
}

func (f *Field) parseValue(value any, typ *Type) (any, error) {
	if typ.Elem == nil {
		return f.parseLeaf(value)
	}
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	if f.Object != nil {
		if err := f.Constraint.Check(make([]any, len(items))); err != nil {
			return nil, err // before the items take time
		}
	}
	parsed := make([]any, len(items))
	for i, item := range items {
		if item == nil && !typ.Elem.NonNull {
			continue
		}
		one, err := f.parseItem(item, typ.Elem)
		switch {
		case err == nil:
			parsed[i] = one
		case f.Object != nil:
			return nil, below("["+strconv.Itoa(i)+"]", err)
		default:
			return nil, fmt.Errorf("item %d %w", i, err)
		}
	}
	return parsed, nil
}

func (f *Field) parseItem(item any, typ *Type) (any, error) {
	if item == nil {
		return nil, errors.New("must not be null")
	}
	return f.parseValue(item, typ)
}

func (f *Field) parseLeaf(value any) (any, error) {
	if f.Object != nil {
		return f.Object.parse(value)
	}
	parsed, err := f.Kind.Parse(value)
	if err != nil || f.Kind != KindEnum {
		return parsed, err
	}
	if slices.Contains(f.Enum, parsed.(string)) {
		return parsed, nil
	}
	return nil, fmt.Errorf("must be one of %s", strings.Join(f.Enum, ", "))
}

// parse checks the input of an object and returns it as it is stored.
func (o *Object) parse(value any) (any, error) {
	given, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("must be an object")
	}
	if o.Abstract() {
		return o.parseMember(given)
	}
	out := &objectWriter{}
	return out.object(o, given)
}

// parseMember checks the input of an interface or a union: one member's key,
// and its value.
func (o *Object) parseMember(given map[string]any) (any, error) {
	if name, ok := given["__typename"].(string); ok { // a value that is stored already
		rest := maps.Clone(given)
		delete(rest, "__typename")
		for _, member := range o.Members {
			if member.Name == name {
				return o.parseMember(map[string]any{member.Key(): rest})
			}
		}
	}
	for _, member := range o.Members {
		value, ok := given[member.Key()]
		if !ok || len(given) != 1 {
			continue
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, below("."+member.Key(), errors.New("must be an object"))
		}
		out := &objectWriter{}
		out.member("__typename", member.Name)
		raw, err := out.object(member, object)
		if err != nil {
			return nil, below("."+member.Key(), err)
		}
		return raw, nil
	}
	var keys []string
	for _, member := range o.Members {
		keys = append(keys, member.Key())
	}
	return nil, fmt.Errorf("must have exactly one of %s", strings.Join(keys, ", "))
}

// objectWriter writes the JSON of one object.
type objectWriter struct{ bytes.Buffer }

// object writes the fields of o in their order, those that are null included.
func (w *objectWriter) object(o *Object, given map[string]any) (any, error) {
	for name := range given {
		if o.Field(name) == nil {
			return nil, fmt.Errorf("must not have a member %q", name)
		}
	}
	for _, f := range o.Fields {
		value, isGiven := given[f.Name]
		if !isGiven && f.Default != nil {
			w.member(f.Name, f.Default)
			continue
		}
		parsed, err := f.Parse(value)
		if err != nil {
			return nil, below("."+f.Name, err)
		}
		w.member(f.Name, parsed)
	}
	if w.Len() == 0 {
		w.WriteByte('{')
	}
	w.WriteByte('}')
	return json.RawMessage(w.Bytes()), nil
}

// member writes a name and a value, which always encodes: Parse made it.
func (w *objectWriter) member(name string, value any) {
	if w.Len() == 0 {
		w.WriteByte('{')
	} else {
		w.WriteByte(',')
	}
	w.WriteString(`"` + name + `":`)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value)
	w.Truncate(w.Len() - 1) // the line's end
}
