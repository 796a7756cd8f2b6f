package graphql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// Input values follow the specification's input coercion to the letter, as
// graphql-js does: an Int is a whole number of 32 bits (a variable may write it
// 2.0), no string stands for a number and no number for a string (an ID takes
// whole numbers), enum values are exact, one item stands for a list of it.
//
// A coerced value is nil, bool, int64, float64, string, []any or
// map[string]any; an input object has the members that were given or have a
// default, no others.

// inputTypes coerces values of the contract's input types.
type inputTypes struct {
	schema *ast.Schema
	kinds  map[string]schema.Kind // of scalars, but for those that take any JSON
}

func newInputTypes(s *ast.Schema) inputTypes {
	t := inputTypes{schema: s, kinds: map[string]schema.Kind{}}
	for k := schema.KindString; k < schema.KindObject; k++ {
		if k != schema.KindEnum && k != schema.KindJSON {
			t.kinds[k.String()] = k
		}
	}
	return t
}

// inputError is a value that is not of its type.
type inputError struct {
	steps []string // to the value, the last one first
	text  string
	at    *ast.Position // in the document; nil for the whole field
	limit string        // that it goes beyond; empty: none
}

func wrong(format string, args ...any) *inputError {
	return &inputError{text: fmt.Sprintf(format, args...)}
}

// below adds the step by which the value was reached: a name with a dot before
// it, an index in brackets.
func (bad *inputError) below(step string) *inputError {
	bad.steps = append(bad.steps, step)
	return bad
}

func (bad *inputError) item(index int) *inputError {
	return bad.below("[" + strconv.Itoa(index) + "]")
}

// path leads from the variable or argument to the value: "input.tags[2]".
func (bad *inputError) path() string {
	slices.Reverse(bad.steps)
	path := strings.TrimPrefix(strings.Join(bad.steps, ""), ".")
	slices.Reverse(bad.steps)
	return path
}

// argumentError is an inputError as the error of a field.
type argumentError struct {
	cause *fault.Error
	at    *ast.Position
	limit string // see inputError
}

func (bad *inputError) fault() error {
	return &argumentError{cause: fault.Input(bad.path(), "%s", bad.text), at: bad.at, limit: bad.limit}
}

func (e *argumentError) Error() string { return e.cause.Error() }
func (e *argumentError) Unwrap() error { return e.cause }

// variables decodes and coerces the variables that an operation declares. What
// it does not declare is ignored. The errors are the request's.
func (t inputTypes) variables(defs ast.VariableDefinitionList, raw json.RawMessage) (map[string]any, gqlerror.List) {
	if len(defs) == 0 {
		return nil, nil
	}
	given, ok := decodeObject(raw)
	if !ok {
		return nil, gqlerror.List{refuse(nil, fault.BadRequest, "variables must be a JSON object")}
	}
	vars := make(map[string]any, len(defs))
	var errs gqlerror.List
	for _, def := range defs {
		value, ok := given[def.Variable]
		switch {
		case !ok && def.DefaultValue != nil:
			vars[def.Variable], _, _ = t.literal(def.DefaultValue, def.Type, nil)
		case !ok && !def.Type.NonNull:
		case !ok:
			errs = append(errs, refuse(def.Position, fault.BadUserInput,
				"Variable %q of required type %q was not provided.", "$"+def.Variable, def.Type))
		default:
			coerced, bad := t.value(value, def.Type)
			if bad != nil {
				errs = append(errs, badVariable(def, bad.below(def.Variable)))
			}
			vars[def.Variable] = coerced
		}
		if len(errs) == maxShownErrors {
			break
		}
	}
	return vars, errs
}

func badVariable(def *ast.VariableDefinition, bad *inputError) *gqlerror.Error {
	at, path := "", short(bad.path())
	if path != def.Variable {
		at = " at " + strconv.Quote(path)
	}
	err := refuse(def.Position, fault.BadUserInput, "Variable %q got an invalid value%s: %s", "$"+def.Variable, at, bad.text)
	err.Extensions["field"] = path
	return err
}

// decodeObject reads a JSON object; nothing and null are an empty one.
func decodeObject(raw json.RawMessage) (map[string]any, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	value, ok := rawjson.Parse(raw)
	object, isObject := value.(map[string]any)
	return object, ok && (isObject || value == nil)
}

// value coerces what came out of JSON.
func (t inputTypes) value(v any, typ *ast.Type) (any, *inputError) {
	if v == nil {
		if typ.NonNull {
			return nil, wrong("Expected a value of type %q, found null.", typ)
		}
		return nil, nil
	}
	if typ.Elem != nil {
		return t.list(v, typ.Elem)
	}
	def := t.schema.Types[typ.NamedType]
	switch {
	case def == nil:
		return nil, wrong("Unknown type %q.", typ.NamedType)
	case def.Kind == ast.InputObject:
		object, ok := v.(map[string]any)
		if !ok {
			return nil, wrong("Expected type %q to be an object.", def.Name)
		}
		return t.object(object, def)
	case def.Kind == ast.Enum:
		name, ok := v.(string)
		if !ok || def.EnumValues.ForName(name) == nil {
			return nil, wrong("Value %s does not exist in %q enum.", brief(v), def.Name)
		}
		return name, nil
	}
	return t.scalar(v, def.Name)
}

func (t inputTypes) list(v any, elem *ast.Type) (any, *inputError) {
	items, ok := v.([]any)
	if !ok {
		item, err := t.value(v, elem)
		return []any{item}, err
	}
	list := make([]any, len(items))
	for i, item := range items {
		coerced, err := t.value(item, elem)
		if err != nil {
			return nil, err.item(i)
		}
		list[i] = coerced
	}
	return list, nil
}

func (t inputTypes) object(given map[string]any, def *ast.Definition) (any, *inputError) {
	object := make(map[string]any, len(given))
	for _, f := range def.Fields {
		value, ok := given[f.Name]
		if !ok {
			if err := t.absent(object, f); err != nil {
				return nil, err
			}
			continue
		}
		coerced, err := t.value(value, f.Type)
		if err != nil {
			return nil, err.below("." + f.Name)
		}
		object[f.Name] = coerced
	}
	for name := range given {
		if def.Fields.ForName(name) == nil {
			return nil, wrong("Field %q is not defined by type %q.", short(name), def.Name)
		}
	}
	return object, oneOf(def, object)
}

// absent gives a field that was left out its default.
func (t inputTypes) absent(object map[string]any, f *ast.FieldDefinition) *inputError {
	if f.DefaultValue != nil {
		object[f.Name], _, _ = t.literal(f.DefaultValue, f.Type, nil)
		return nil
	}
	if f.Type.NonNull {
		return wrong("Field %q of required type %q was not provided.", f.Name, f.Type)
	}
	return nil
}

func oneOf(def *ast.Definition, object map[string]any) *inputError {
	if def.Directives.ForName("oneOf") == nil {
		return nil
	}
	if len(object) != 1 {
		return wrong("Exactly one key must be specified for OneOf type %q.", def.Name)
	}
	for name, value := range object {
		if value == nil {
			return wrong("Field %q must be non-null.", name).below("." + name)
		}
	}
	return nil
}

func (t inputTypes) scalar(v any, name string) (any, *inputError) {
	kind, ok := t.kinds[name]
	if !ok {
		return v, nil
	}
	coerced, err := kind.Parse(v)
	if err != nil {
		return nil, wrong("%s cannot represent the value %s: it %s.", name, brief(v), err)
	}
	return coerced, nil
}

// literal coerces a value of a document. With vars nil, variables are taken to
// fit (validation has compared their types). It reports false for a variable
// that has no value, which counts as not given.
func (t inputTypes) literal(v *ast.Value, typ *ast.Type, vars map[string]any) (any, bool, *inputError) {
	if v.Kind == ast.Variable {
		value, ok := vars[v.Raw]
		if ok && value == nil && typ.NonNull {
			bad := wrong("Expected a value of type %q, found the variable %q, which is null.", typ, "$"+v.Raw)
			bad.at = v.Position
			return nil, true, bad
		}
		return value, ok, nil
	}
	if v.Kind == ast.NullValue {
		if typ.NonNull {
			return nil, true, wrong("Expected a value of type %q, found null.", typ)
		}
		return nil, true, nil
	}
	var value any
	var err *inputError
	switch def := t.schema.Types[typ.Name()]; {
	case typ.Elem != nil:
		value, err = t.literalList(v, typ.Elem, vars)
	case def == nil:
		err = wrong("Unknown type %q.", typ.NamedType)
	case def.Kind == ast.InputObject:
		value, err = t.literalObject(v, def, vars)
	case def.Kind == ast.Enum:
		if value = v.Raw; v.Kind != ast.EnumValue || def.EnumValues.ForName(v.Raw) == nil {
			err = wrong("Value %s does not exist in %q enum.", brief(v), def.Name)
		}
	default:
		value, err = t.literalScalar(v, def.Name, vars)
	}
	return value, true, err
}

func (t inputTypes) literalList(v *ast.Value, elem *ast.Type, vars map[string]any) (any, *inputError) {
	if v.Kind != ast.ListValue {
		item, _, err := t.literal(v, elem, vars)
		return []any{item}, err
	}
	list := make([]any, len(v.Children))
	for i, child := range v.Children {
		item, ok, err := t.literal(child.Value, elem, vars)
		if err != nil {
			return nil, err.item(i)
		}
		if !ok && elem.NonNull && vars != nil {
			bad := wrong("Expected a value of type %q, found the variable %q, which has none.", elem, "$"+child.Value.Raw)
			bad.at = child.Value.Position
			return nil, bad.item(i)
		}
		list[i] = item
	}
	return list, nil
}

func (t inputTypes) literalObject(v *ast.Value, def *ast.Definition, vars map[string]any) (any, *inputError) {
	if v.Kind != ast.ObjectValue {
		return nil, wrong("Expected a value of type %q, found %s.", def.Name, brief(v))
	}
	object := make(map[string]any, len(v.Children))
	for _, child := range v.Children {
		f := def.Fields.ForName(child.Name)
		if f == nil {
			return nil, wrong("Field %q is not defined by type %q.", child.Name, def.Name)
		}
		value, ok, err := t.literal(child.Value, f.Type, vars)
		if err == nil && vars == nil {
			err = oneOfVariable(def, child.Value)
		}
		if err != nil {
			return nil, err.below("." + f.Name)
		}
		if ok || vars == nil {
			object[f.Name] = value
		}
	}
	for _, f := range def.Fields {
		if _, ok := object[f.Name]; ok {
			continue
		}
		if err := t.absent(object, f); err != nil {
			return nil, err
		}
	}
	if vars == nil && len(v.Children) == 1 && v.Children[0].Value.Kind == ast.Variable {
		return object, nil // its value is never null: see oneOfVariable
	}
	return object, oneOf(def, object)
}

// oneOfVariable refuses a variable that may be null, or absent, as the one field
// of a @oneOf input.
func oneOfVariable(def *ast.Definition, v *ast.Value) *inputError {
	if v.Kind != ast.Variable || v.VariableDefinition == nil || def.Directives.ForName("oneOf") == nil || v.VariableDefinition.Type.NonNull {
		return nil
	}
	return wrong("Variable %q is of type %q but must be non-nullable to be used for OneOf Input Object %q.",
		"$"+v.Raw, v.VariableDefinition.Type, def.Name)
}

// literalScalar coerces a literal. Unlike a variable, it is of the kind that
// its spelling says: 2.0 is no Int.
func (t inputTypes) literalScalar(v *ast.Value, name string, vars map[string]any) (any, *inputError) {
	kind, known := t.kinds[name]
	if !known {
		return untyped(v, vars), nil
	}
	var value any
	switch v.Kind {
	case ast.IntValue:
		value = json.Number(v.Raw)
		if kind == schema.KindID {
			value = v.Raw // however long
		}
	case ast.FloatValue:
		if kind != schema.KindFloat {
			return nil, wrong("%s cannot represent the value %s.", name, brief(v))
		}
		value = json.Number(v.Raw)
	case ast.StringValue, ast.BlockValue:
		value = v.Raw
	case ast.BooleanValue:
		value = v.Raw == "true"
	default:
		return nil, wrong("%s cannot represent the value %s.", name, brief(v))
	}
	return t.scalar(value, name)
}

// untyped returns a literal as JSON has it, for scalars that take any. A
// variable without a value leaves its member out, and is null in a list.
func untyped(v *ast.Value, vars map[string]any) any {
	switch v.Kind {
	case ast.Variable:
		return vars[v.Raw]
	case ast.NullValue:
		return nil
	case ast.IntValue, ast.FloatValue:
		return json.Number(v.Raw)
	case ast.BooleanValue:
		return v.Raw == "true"
	case ast.ListValue:
		list := make([]any, len(v.Children))
		for i, child := range v.Children {
			list[i] = untyped(child.Value, vars)
		}
		return list
	case ast.ObjectValue:
		object := make(map[string]any, len(v.Children))
		for _, child := range v.Children {
			if _, given := vars[child.Value.Raw]; given || child.Value.Kind != ast.Variable {
				object[child.Name] = untyped(child.Value, vars)
			}
		}
		return object
	}
	return v.Raw
}

// brief shows a value in a message.
func brief(v any) string {
	switch v := v.(type) {
	case *ast.Value:
		return short(string(appendLiteral(nil, v)))
	case json.Number:
		return short(v.String())
	}
	return short(string(appendValue(nil, v)))
}

// short cuts a text where it is too long for a message.
func short(text string) string {
	const limit = 60
	if len(text) <= limit {
		return text
	}
	cut := limit
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
