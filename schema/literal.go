package schema

import (
	"encoding/json"
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// literal returns the Go value that an SDL literal has as a value of the type,
// with the coercions of the GraphQL specification: string, int64, float64,
// bool, nil, []any or map[string]any. The error says what was expected.
func (c *compiler) literal(v *ast.Value, typ *ast.Type) (any, error) {
	if v.Kind == ast.NullValue {
		if typ.NonNull {
			return nil, fmt.Errorf("%s cannot be null", typ)
		}
		return nil, nil
	}
	if typ.Elem == nil {
		return c.namedLiteral(v, typ.NamedType)
	}
	if v.Kind != ast.ListValue {
		item, err := c.literal(v, typ.Elem)
		return []any{item}, err
	}
	items := make([]any, len(v.Children))
	for i, child := range v.Children {
		item, err := c.literal(child.Value, typ.Elem)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

func (c *compiler) namedLiteral(v *ast.Value, name string) (any, error) {
	wrong := fmt.Errorf("%s is not a value of type %s", printValue(v), name)
	def := c.lookup(name)
	if def == nil {
		return nil, wrong
	}
	if c.stubs[name] {
		return v.Raw, nil // checked with the contract
	}
	switch def.Kind {
	case ast.Enum:
		if v.Kind != ast.EnumValue || def.EnumValues.ForName(v.Raw) == nil {
			return nil, wrong
		}
		return v.Raw, nil
	case ast.InputObject:
		return c.objectLiteral(v, def)
	case ast.Scalar:
		kind, known := kinds[name]
		if !known || kind == KindJSON {
			return untyped(v), nil
		}
		value, fits := scalarLiteral(v, kind)
		if !fits {
			return nil, wrong
		}
		parsed, err := kind.Parse(value)
		if err != nil {
			return nil, fmt.Errorf("%s: it %w", wrong, err)
		}
		return parsed, nil
	}
	return nil, wrong
}

// untyped returns a literal as JSON would have it; numbers keep their digits.
func untyped(v *ast.Value) any {
	switch v.Kind {
	case ast.NullValue:
		return nil
	case ast.IntValue, ast.FloatValue:
		return json.Number(v.Raw)
	case ast.BooleanValue:
		return v.Raw == "true"
	case ast.ListValue:
		list := make([]any, len(v.Children))
		for i, child := range v.Children {
			list[i] = untyped(child.Value)
		}
		return list
	case ast.ObjectValue:
		object := map[string]any{}
		for _, child := range v.Children {
			object[child.Name] = untyped(child.Value)
		}
		return object
	}
	return v.Raw
}

// scalarLiteral returns the literal's Go value when its syntax suits the kind.
func scalarLiteral(v *ast.Value, kind Kind) (value any, fits bool) {
	switch v.Kind {
	case ast.StringValue, ast.BlockValue:
		return v.Raw, kind.text()
	case ast.IntValue:
		return json.Number(v.Raw), kind == KindInt || kind == KindPositiveInt || kind == KindFloat || kind == KindID
	case ast.FloatValue:
		return json.Number(v.Raw), kind == KindFloat
	case ast.BooleanValue:
		return v.Raw == "true", kind == KindBoolean
	}
	return nil, false
}

func (c *compiler) objectLiteral(v *ast.Value, def *ast.Definition) (any, error) {
	if v.Kind != ast.ObjectValue {
		return nil, fmt.Errorf("%s is not a value of type %s", printValue(v), def.Name)
	}
	object := map[string]any{}
	for _, child := range v.Children {
		field := def.Fields.ForName(child.Name)
		if field == nil {
			return nil, fmt.Errorf("%s has no field %s", def.Name, child.Name)
		}
		if _, twice := object[child.Name]; twice {
			return nil, fmt.Errorf("the field %s is given twice", child.Name)
		}
		value, err := c.literal(child.Value, field.Type)
		if err != nil {
			return nil, err
		}
		object[child.Name] = value
	}
	for _, field := range def.Fields {
		if _, given := object[field.Name]; !given && field.Type.NonNull && field.DefaultValue == nil {
			return nil, fmt.Errorf("%s needs the field %s", def.Name, field.Name)
		}
	}
	if def.Directives.ForName("oneOf") != nil && len(object) != 1 {
		return nil, fmt.Errorf("%s takes exactly one of its fields", def.Name)
	}
	return object, nil
}
