package schema

import "github.com/vektah/gqlparser/v2/ast"

// filterWord is one comparison of a filter. The argument is a value of the
// field's type; shape says how it is wrapped.
type filterWord struct{ name, shape, description string }

// The shapes of a comparison's argument, %s being the compared type.
const (
	oneValue = "value"
	allOf    = "list"
)

var (
	equality = []filterWord{
		{"eq", oneValue, "Equal to the value; null finds the records without one."},
		{"ne", oneValue, "Not equal to the value; null finds the records with one."},
	}
	sets = []filterWord{
		{"in", allOf, "Equal to one of the values."},
		{"notIn", allOf, "Equal to none of the values."},
	}
	order = []filterWord{
		{"lt", oneValue, "Less than the value."},
		{"le", oneValue, "Less than the value or equal to it."},
		{"gt", oneValue, "Greater than the value."},
		{"ge", oneValue, "Greater than the value or equal to it."},
		{"between", allOf, "From the first to the second of exactly two values, both included."},
	}
	substrings = []filterWord{
		{"beginsWith", oneValue, "Begins with the text."},
		{"contains", oneValue, "Contains the text."},
		{"notContains", oneValue, "Does not contain the text."},
	}
)

// filterType returns the filter for a field's kind: the input's name, the type
// it compares and the words that suit it.
func filterType(f *Field) (name, compared string, words [][]filterWord) {
	switch f.Kind {
	case KindString, KindEmail, KindURL:
		return "StringFilter", "String", [][]filterWord{equality, order, sets, substrings}
	case KindInt, KindPositiveInt:
		return "IntFilter", "Int", [][]filterWord{equality, order, sets}
	case KindFloat, KindDateTime, KindDate:
		return f.Kind.String() + "Filter", f.Kind.String(), [][]filterWord{equality, order, sets}
	case KindBoolean:
		return "BooleanFilter", "Boolean", [][]filterWord{equality}
	case KindID, KindUUID:
		return f.Kind.String() + "Filter", f.Kind.String(), [][]filterWord{equality, sets}
	}
	compared = f.Type.Name()
	return compared + "Filter", compared, [][]filterWord{equality, sets}
}

// filterDefinition returns the input type by which a field is compared.
func filterDefinition(f *Field) *ast.Definition {
	name, compared, words := filterType(f)
	def := &ast.Definition{Kind: ast.InputObject, Name: name, Position: f.Position,
		Description: "Compares a field of the type " + compared + ". Every comparison that is given must hold."}
	for _, group := range words {
		for _, word := range group {
			typ := ast.NamedType(compared, nil)
			if word.shape == allOf {
				typ = ast.ListType(ast.NonNullNamedType(compared, nil), nil)
			}
			def.Fields = append(def.Fields, &ast.FieldDefinition{Name: word.name, Type: typ, Description: word.description})
		}
	}
	return def
}
