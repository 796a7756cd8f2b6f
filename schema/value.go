package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Parse checks a value for the field, null included, and returns it as it is
// stored: nil, string, int64, float64, bool, or []any of them. It takes what
// Kind.Parse takes and []any for lists; a single value becomes a list of one,
// as GraphQL has it. Type, enum values and @constraint are checked; the text of
// the error may be shown to the caller after the field's name.
func (f *Field) Parse(value any) (any, error) {
	if value == nil {
		if f.Type.NonNull {
			return nil, errors.New("must not be null")
		}
		return nil, nil
	}
	parsed, err := f.parseValue(value)
	if err != nil {
		return nil, err
	}
	if err := f.Constraint.Check(parsed); err != nil {
		return nil, err
	}
	return parsed, nil
}

func (f *Field) parseValue(value any) (any, error) {
	if f.Type.Elem == nil {
		return f.parseLeaf(value)
	}
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	parsed := make([]any, len(items))
	for i, item := range items {
		if item == nil && !f.Type.Elem.NonNull {
			continue
		}
		leaf, err := f.parseLeaf(item)
		if err != nil {
			return nil, fmt.Errorf("item %d %w", i, err)
		}
		parsed[i] = leaf
	}
	return parsed, nil
}

func (f *Field) parseLeaf(value any) (any, error) {
	if value == nil {
		return nil, errors.New("must not be null")
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
