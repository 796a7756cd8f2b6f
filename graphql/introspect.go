package graphql

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/fault"
)

// The schema is told through the same batches as everything else: a row is the
// JSON of what one part of it says about itself, its ref is that part, and the
// fields that lead to other parts are links.

// wholeSchema stands for __Schema; the other parts are syntax nodes: a
// *ast.Definition or *ast.Type for __Type, *ast.FieldDefinition for __Field,
// inputPart for __InputValue, *ast.EnumValueDefinition, *ast.DirectiveDefinition.
type wholeSchema struct{}

// inputPart is an argument or a field of an input object.
type inputPart struct {
	name, description string
	typ               *ast.Type
	value             *ast.Value
	directives        ast.DirectiveList
}

func (r *run) introspect(f *root, args map[string]any) answer {
	if allowed := r.engine.options.Introspection; allowed != nil && !allowed(r.who) {
		return refused(fault.New(fault.IntrospectionDisabled, "introspection is not open to this caller"))
	}
	b := &batch{object: f.target}
	if f.nodes[0].Name == "__schema" {
		b.describe(wholeSchema{}, r.engine.schema)
		return single(b)
	}
	name, _ := args["name"].(string)
	def := r.engine.schema.Types[name]
	if def == nil {
		return answer{link: link{next: b, spans: []span{nothing}}}
	}
	b.describe(def, r.engine.schema)
	return single(b)
}

// describe follows a field of the introspection types for all rows.
func (r *run) describe(b *batch, f *field) link {
	l := link{next: &batch{object: f.target}, spans: make([]span, len(b.rows))}
	args, bad := r.engine.inputs.arguments(f.args, r.vars)
	if bad != nil {
		return link{err: bad.fault()}
	}
	deprecated, _ := args["includeDeprecated"].(bool)
	for i, ref := range b.refs {
		parts := partsOf(r.engine.schema, ref, f.nodes[0].Name, deprecated)
		if parts == nil {
			l.spans[i] = nothing
			continue
		}
		l.spans[i].low = int32(len(l.next.rows))
		for _, part := range parts {
			l.next.describe(part, r.engine.schema)
		}
		l.spans[i].high = int32(len(l.next.rows))
	}
	return l
}

func (b *batch) describe(part any, s *ast.Schema) {
	b.refs = append(b.refs, part)
	b.rows = append(b.rows, appendPart(nil, part, s))
}

// partsOf returns what a field of a part leads to; nil for null.
func partsOf(s *ast.Schema, part any, field string, deprecated bool) []any {
	switch part := part.(type) {
	case wholeSchema:
		return partsOfSchema(s, field)
	case *ast.Type:
		if field == "ofType" {
			return typePart(s, ofType(part))
		}
		return nil
	case *ast.Definition:
		return partsOfType(s, part, field, deprecated)
	case *ast.FieldDefinition:
		if field == "args" {
			return argumentParts(part.Arguments, deprecated)
		}
		return typePart(s, part.Type)
	case inputPart:
		return typePart(s, part.typ)
	case *ast.DirectiveDefinition:
		return argumentParts(part.Arguments, deprecated)
	}
	return nil
}

func partsOfSchema(s *ast.Schema, field string) []any {
	parts := []any{}
	switch field {
	case "types":
		for _, name := range slices.Sorted(maps.Keys(s.Types)) {
			parts = append(parts, s.Types[name])
		}
	case "directives":
		for _, name := range slices.Sorted(maps.Keys(s.Directives)) {
			parts = append(parts, s.Directives[name])
		}
	case "queryType":
		return definitionPart(s.Query)
	case "mutationType":
		return definitionPart(s.Mutation)
	case "subscriptionType":
		return definitionPart(s.Subscription)
	}
	return parts
}

func definitionPart(def *ast.Definition) []any {
	if def == nil {
		return nil
	}
	return []any{def}
}

// typePart returns the part for a type: a wrapper, or the definition itself.
func typePart(s *ast.Schema, typ *ast.Type) []any {
	if typ.NonNull || typ.Elem != nil {
		return []any{typ}
	}
	return definitionPart(s.Types[typ.NamedType])
}

// ofType takes the outermost wrapper off.
func ofType(typ *ast.Type) *ast.Type {
	if !typ.NonNull {
		return typ.Elem
	}
	inner := *typ
	inner.NonNull = false
	return &inner
}

func partsOfType(s *ast.Schema, def *ast.Definition, field string, deprecated bool) []any {
	parts := []any{}
	switch {
	case field == "fields" && (def.Kind == ast.Object || def.Kind == ast.Interface):
		for _, f := range def.Fields {
			if !strings.HasPrefix(f.Name, "__") && (deprecated || f.Directives.ForName("deprecated") == nil) {
				parts = append(parts, f)
			}
		}
	case field == "interfaces" && (def.Kind == ast.Object || def.Kind == ast.Interface):
		for _, name := range def.Interfaces {
			parts = append(parts, s.Types[name])
		}
	case field == "possibleTypes" && def.IsAbstractType():
		for _, possible := range s.GetPossibleTypes(def) {
			parts = append(parts, possible)
		}
	case field == "enumValues" && def.Kind == ast.Enum:
		for _, v := range def.EnumValues {
			if deprecated || v.Directives.ForName("deprecated") == nil {
				parts = append(parts, v)
			}
		}
	case field == "inputFields" && def.Kind == ast.InputObject:
		for _, f := range def.Fields {
			if deprecated || f.Directives.ForName("deprecated") == nil {
				parts = append(parts, inputPart{f.Name, f.Description, f.Type, f.DefaultValue, f.Directives})
			}
		}
	default:
		return nil
	}
	return parts
}

func argumentParts(list ast.ArgumentDefinitionList, deprecated bool) []any {
	parts := []any{}
	for _, a := range list {
		if deprecated || a.Directives.ForName("deprecated") == nil {
			parts = append(parts, inputPart{a.Name, a.Description, a.Type, a.DefaultValue, a.Directives})
		}
	}
	return parts
}

// appendPart appends the JSON of what a part says of itself.
func appendPart(buf []byte, part any, s *ast.Schema) []byte {
	switch part := part.(type) {
	case wholeSchema:
		buf = append(buf, '{')
		return append(appendText(buf, "description", s.Description), '}')
	case *ast.Type:
		if part.NonNull {
			return append(buf, `{"kind":"NON_NULL"}`...)
		}
		return append(buf, `{"kind":"LIST"}`...)
	case *ast.Definition:
		return appendDefinition(buf, part)
	case *ast.FieldDefinition:
		buf = appendNamed(buf, part.Name, part.Description)
		return append(appendDeprecation(buf, part.Directives), '}')
	case inputPart:
		buf = appendNamed(buf, part.name, part.description)
		if part.value != nil {
			buf = appendText(append(buf, ','), "defaultValue", string(appendLiteral(nil, part.value)))
		}
		return append(appendDeprecation(buf, part.directives), '}')
	case *ast.EnumValueDefinition:
		buf = appendNamed(buf, part.Name, part.Description)
		return append(appendDeprecation(buf, part.Directives), '}')
	case *ast.DirectiveDefinition:
		buf = appendNamed(buf, part.Name, part.Description)
		buf = strconv.AppendBool(append(buf, `,"isRepeatable":`...), part.IsRepeatable)
		buf = append(buf, `,"locations":[`...)
		for i, location := range part.Locations {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = appendString(buf, string(location))
		}
		return append(buf, `]}`...)
	}
	return append(buf, `{}`...)
}

func appendDefinition(buf []byte, def *ast.Definition) []byte {
	buf = appendNamed(buf, def.Name, def.Description)
	buf = appendText(append(buf, ','), "kind", string(def.Kind))
	if d := def.Directives.ForName("specifiedBy"); d != nil {
		buf = appendText(append(buf, ','), "specifiedByURL", d.Arguments.ForName("url").Value.Raw)
	}
	if def.Kind == ast.InputObject {
		buf = strconv.AppendBool(append(buf, `,"isOneOf":`...), def.Directives.ForName("oneOf") != nil)
	}
	return append(buf, '}')
}

func appendNamed(buf []byte, name, description string) []byte {
	buf = appendText(append(buf, '{'), "name", name)
	return appendText(append(buf, ','), "description", description)
}

// appendText appends a member whose empty text is null.
func appendText(buf []byte, name, text string) []byte {
	buf = append(appendString(buf, name), ':')
	if text == "" {
		return append(buf, "null"...)
	}
	return appendString(buf, text)
}

func appendDeprecation(buf []byte, list ast.DirectiveList) []byte {
	d := list.ForName("deprecated")
	buf = strconv.AppendBool(append(buf, `,"isDeprecated":`...), d != nil)
	if d == nil {
		return buf
	}
	reason := "No longer supported"
	if arg := d.Arguments.ForName("reason"); arg != nil {
		reason = arg.Value.Raw
	}
	return appendString(append(buf, `,"deprecationReason":`...), reason)
}

// appendLiteral prints a value as GraphQL writes it. (ast.Value.String quotes
// as Go does.)
func appendLiteral(buf []byte, v *ast.Value) []byte {
	switch v.Kind {
	case ast.StringValue, ast.BlockValue:
		return appendString(buf, v.Raw)
	case ast.ListValue:
		buf = append(buf, '[')
		for i, child := range v.Children {
			if i > 0 {
				buf = append(buf, ", "...)
			}
			buf = appendLiteral(buf, child.Value)
		}
		return append(buf, ']')
	case ast.ObjectValue:
		if len(v.Children) == 0 {
			return append(buf, "{}"...)
		}
		buf = append(buf, "{ "...)
		for i, child := range v.Children {
			if i > 0 {
				buf = append(buf, ", "...)
			}
			buf = append(append(buf, child.Name...), ": "...)
			buf = appendLiteral(buf, child.Value)
		}
		return append(buf, " }"...)
	}
	return append(buf, v.String()...)
}
