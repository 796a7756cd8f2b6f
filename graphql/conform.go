package graphql

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/internal/rawjson"
	"tidings/schema"
)

// conformer makes foreign JSON into the JSON that plans are written for: the
// fields of its type, each once, with values as records have them (moments in
// UTC, ids as strings). What does not fit becomes something that no plan writes,
// so that whoever selects it gets an error at its path.
type conformer struct {
	schema *ast.Schema
	model  *schema.Model
	inputs inputTypes

	buf    []byte
	path   []step
	faults int    // found so far
	first  string // of them: its path and what is wrong
}

// conform returns the JSON of a value of the given type, nil when the bytes are
// no JSON; and what the log should say of it, empty when all of it fits.
func (e *Engine) conform(raw []byte, typ *ast.Type) (value json.RawMessage, wrong string) {
	c := &conformer{schema: e.schema, model: e.model, inputs: e.inputs}
	v, ok := any(nil), utf8.Valid(raw)
	if ok {
		v, ok = rawjson.Parse(raw)
	}
	if !ok {
		return nil, fmt.Sprintf("it is no JSON: %.60q", raw)
	}
	c.value(v, typ)
	if c.faults > 1 {
		c.first += fmt.Sprintf(", and %d more", c.faults-1)
	}
	return c.buf, c.first
}

func (c *conformer) value(v any, typ *ast.Type) {
	if v == nil {
		if typ.NonNull {
			c.wrong("is null, or missing")
		}
		c.buf = append(c.buf, "null"...)
		return
	}
	if typ.Elem != nil {
		c.list(v, typ)
		return
	}
	def := c.schema.Types[typ.NamedType]
	switch {
	case def.IsLeafType():
		c.leaf(v, typ, def)
	case def.IsAbstractType():
		c.abstract(v, typ, def)
	default:
		c.object(v, typ, def, "")
	}
}

func (c *conformer) list(v any, typ *ast.Type) {
	items, ok := v.([]any)
	if !ok {
		c.refuse(typ, "is no list: %s", brief(v))
		return
	}
	c.buf = append(c.buf, '[')
	for i, item := range items {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.path = append(c.path, step{index: i})
		c.value(item, typ.Elem)
		c.path = c.path[:len(c.path)-1]
	}
	c.buf = append(c.buf, ']')
}

func (c *conformer) leaf(v any, typ *ast.Type, def *ast.Definition) {
	if def.Kind == ast.Enum {
		name, ok := v.(string)
		if !ok || def.EnumValues.ForName(name) == nil {
			c.refuse(typ, "is no value of the enum %s: %s", def.Name, brief(v))
			return
		}
		c.buf = appendString(c.buf, name)
		return
	}
	kind, known := c.inputs.kinds[def.Name]
	if !known { // any JSON
		c.buf = appendValue(c.buf, v)
		return
	}
	value, err := kind.Parse(v)
	if err != nil {
		c.refuse(typ, "%s: %s", err, brief(v))
		return
	}
	c.buf = appendValue(c.buf, value)
}

func (c *conformer) abstract(v any, typ *ast.Type, def *ast.Definition) {
	object, _ := v.(map[string]any)
	name, _ := object["__typename"].(string)
	for _, possible := range c.schema.GetPossibleTypes(def) {
		if possible.Name == name {
			c.object(v, typ, possible, name)
			return
		}
	}
	c.refuse(typ, "has no __typename that is a type of %s: %s", def.Name, brief(v))
}

// object writes the members that the type has, after its name where that must
// be told. A record's relations are not a part of it.
func (c *conformer) object(v any, typ *ast.Type, def *ast.Definition, typename string) {
	object, ok := v.(map[string]any)
	if !ok {
		c.refuse(typ, "is no object: %s", brief(v))
		return
	}
	resource := c.model.Resource(def.Name)
	c.buf = append(c.buf, '{')
	if typename != "" {
		c.buf = appendString(append(c.buf, `"__typename":`...), typename)
	}
	for _, f := range def.Fields {
		if resource != nil && !resource.Field(f.Name).Stored() {
			continue
		}
		member, given := object[f.Name]
		if !given && !f.Type.NonNull {
			continue
		}
		if c.buf[len(c.buf)-1] != '{' {
			c.buf = append(c.buf, ',')
		}
		c.buf = append(appendString(c.buf, f.Name), ':')
		c.path = append(c.path, step{name: f.Name})
		c.value(member, f.Type)
		c.path = c.path[:len(c.path)-1]
	}
	c.buf = append(c.buf, '}')
}

// refuse stands for a value that does not fit: false is no value of any type
// but Boolean, and of those that any JSON is a value of.
func (c *conformer) refuse(typ *ast.Type, format string, args ...any) {
	c.wrong(format, args...)
	if typ.Elem == nil && typ.NamedType == "Boolean" {
		c.buf = append(c.buf, '0')
		return
	}
	c.buf = append(c.buf, "false"...)
}

func (c *conformer) wrong(format string, args ...any) {
	if c.faults++; c.faults > 1 {
		return
	}
	where := "the answer"
	if len(c.path) > 0 {
		where = textOf(c.path)
	}
	c.first = where + " " + fmt.Sprintf(format, args...)
}

// textOf writes a path as "items[2].price".
func textOf(path []step) string {
	var text []byte
	for _, s := range path {
		switch {
		case s.name == "":
			text = append(strconv.AppendInt(append(text, '['), int64(s.index), 10), ']')
		case len(text) > 0:
			text = append(append(text, '.'), s.name...)
		default:
			text = append(text, s.name...)
		}
	}
	return string(text)
}

// unfit tells the log what a service said that is not of its field's type.
func (e *Engine) unfit(ctx context.Context, b *schema.Binding, subject, wrong string) {
	leftOut, due := e.complaints[b].unfit.line()
	if !due {
		return
	}
	e.log.LogAttrs(ctx, slog.LevelError, "a service's value does not fit the type of its field",
		slog.String("subject", subject), slog.String("field", b.String()), slog.String("reason", wrong),
		slog.String("request_id", cmp.Or(ExchangeOf(ctx), &Exchange{}).ID), leftOut)
}
