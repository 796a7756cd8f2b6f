package graphql

import (
	"maps"
	"slices"
	"strings"

	"tidings/fault"
	"tidings/resource"
)

// In a transaction the key of a relation may be "$" and the name of an earlier
// field, which creates the record that it refers to: nobody knows its id yet.

// linked takes such keys out of an input and returns it with where they lead,
// among the fields before this one. The arguments are not changed.
func linked(f *root, args map[string]any, before []*root) (input map[string]any, refs map[string]int, err error) {
	input, _ = args["input"].(map[string]any)
	for _, stored := range f.generated.Resource.Fields {
		rel := stored.Relation
		if rel == nil || rel.Many {
			continue
		}
		text, _ := input[rel.Field].(string)
		name, marked := strings.CutPrefix(text, "$")
		if !marked {
			continue
		}
		place := slices.IndexFunc(before, func(other *root) bool {
			return other.name == name && verbs[other.generated.Kind] == resource.Create && other.generated.Resource == rel.Target
		})
		if place < 0 {
			return nil, nil, fault.Input("input."+rel.Field, "%s names no earlier field of the transaction that creates a %s", text, rel.Target.Name)
		}
		if refs == nil {
			refs, input = map[string]int{}, maps.Clone(input) // others share it
		}
		refs[rel.Field] = place
		delete(input, rel.Field)
	}
	return input, refs, nil
}
