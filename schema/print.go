package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// printDocument writes SDL: directives, then types, each in the order of their
// names; fields in the order given. gqlparser's formatter is not used because
// it quotes as Go does and leaves `"""` inside a description as it is.
func printDocument(directives map[string]*ast.DirectiveDefinition, types map[string]*ast.Definition) string {
	var p printer
	p.line("", generatedMark+" from the files beside it. Do not edit.")
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		p.line("", "")
		p.directiveDefinition(directives[name])
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		p.line("", "")
		p.definition(types[name])
	}
	return p.String()
}

type printer struct{ strings.Builder }

func (p *printer) line(indent string, parts ...string) {
	p.WriteString(indent)
	for _, part := range parts {
		p.WriteString(part)
	}
	p.WriteByte('\n')
}

func (p *printer) directiveDefinition(def *ast.DirectiveDefinition) {
	p.description("", def.Description)
	repeatable := ""
	if def.IsRepeatable {
		repeatable = " repeatable"
	}
	locations := make([]string, len(def.Locations))
	for i, location := range def.Locations {
		locations[i] = string(location)
	}
	p.line("", "directive @", def.Name, p.arguments("", def.Arguments), repeatable, " on ", strings.Join(locations, " | "))
}

func (p *printer) definition(def *ast.Definition) {
	p.description("", def.Description)
	directives := printDirectives(def.Directives)
	implements := ""
	if len(def.Interfaces) > 0 {
		implements = " implements " + strings.Join(def.Interfaces, " & ")
	}
	switch def.Kind {
	case ast.Scalar:
		p.line("", "scalar ", def.Name, directives)
	case ast.Union:
		p.line("", "union ", def.Name, directives, " = ", strings.Join(def.Types, " | "))
	case ast.Enum:
		p.line("", "enum ", def.Name, directives, " {")
		for _, value := range def.EnumValues {
			p.description("  ", value.Description)
			p.line("  ", value.Name, printDirectives(value.Directives))
		}
		p.line("", "}")
	default:
		keyword := map[ast.DefinitionKind]string{ast.Object: "type ", ast.Interface: "interface ", ast.InputObject: "input "}[def.Kind]
		p.line("", keyword, def.Name, implements, directives, " {")
		for _, field := range def.Fields {
			p.field(field)
		}
		p.line("", "}")
	}
}

func (p *printer) field(field *ast.FieldDefinition) {
	p.description("  ", field.Description)
	p.line("  ", field.Name, p.arguments("  ", field.Arguments), ": ", field.Type.String(),
		printDefault(field.DefaultValue), printDirectives(field.Directives))
}

// arguments are printed on one line, or on one line each when some are described.
func (p *printer) arguments(indent string, args ast.ArgumentDefinitionList) string {
	if len(args) == 0 {
		return ""
	}
	described := slices.ContainsFunc(args, func(arg *ast.ArgumentDefinition) bool { return arg.Description != "" })
	var list printer
	var words []string
	for _, arg := range args {
		word := arg.Name + ": " + arg.Type.String() + printDefault(arg.DefaultValue) + printDirectives(arg.Directives)
		words = append(words, word)
		list.description(indent+"  ", arg.Description)
		list.line(indent+"  ", word)
	}
	if described {
		return "(\n" + list.String() + indent + ")"
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// description prints a block string, or a quoted one where a block string
// would lose blanks or cannot hold a character.
func (p *printer) description(indent, text string) {
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	first, last := lines[0], lines[len(lines)-1]
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }
	if strings.TrimLeft(first, " \t") != first || first == "" || strings.Trim(last, " \t") == "" || strings.ContainsFunc(text, control) {
		p.line(indent, quote(text))
		return
	}
	if len(lines) == 1 && !strings.HasSuffix(text, `"`) && !strings.HasSuffix(text, `\`) {
		p.line(indent, `"""`, escapeBlock(text), `"""`)
		return
	}
	p.line(indent, `"""`)
	for _, line := range lines {
		if line == "" {
			p.line("")
			continue
		}
		p.line(indent, escapeBlock(line))
	}
	p.line(indent, `"""`)
}

func escapeBlock(text string) string { return strings.ReplaceAll(text, `"""`, `\"""`) }

func printDefault(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return " = " + printValue(v)
}

func printDirectives(list ast.DirectiveList) string {
	var b strings.Builder
	for _, directive := range list {
		b.WriteString(" @" + directive.Name)
		for i, arg := range directive.Arguments {
			b.WriteString([]string{"(", ", "}[min(i, 1)] + arg.Name + ": " + printValue(arg.Value))
		}
		if len(directive.Arguments) > 0 {
			b.WriteByte(')')
		}
	}
	return b.String()
}

// printValue writes a literal in GraphQL's syntax.
func printValue(v *ast.Value) string {
	switch v.Kind {
	case ast.Variable:
		return "$" + v.Raw
	case ast.StringValue, ast.BlockValue:
		return quote(v.Raw)
	case ast.ListValue:
		items := make([]string, len(v.Children))
		for i, child := range v.Children {
			items[i] = printValue(child.Value)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case ast.ObjectValue:
		entries := make([]string, len(v.Children))
		for i, child := range v.Children {
			entries[i] = child.Name + ": " + printValue(child.Value)
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}
	return v.Raw
}

// quote writes a GraphQL string: JSON's escapes are a subset of GraphQL's.
func quote(s string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
