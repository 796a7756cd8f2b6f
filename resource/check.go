package resource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// check returns a value in the form in which the field keeps it, or the fault
// BadUserInput that names rule and path: the field below what it is under. Commands come from the bus, and so
// from anybody's program: nothing is taken for granted here.
func check(f *schema.Field, raw json.RawMessage, under string) (json.RawMessage, error) {
	value, ok := rawjson.Parse(raw)
	if !ok {
		return nil, fault.Input(under+f.Name, "%s is not JSON", under+f.Name)
	}
	parsed, err := f.Parse(value)
	if err != nil {
		return nil, misfit(f, err, under)
	}
	if s, ok := parsed.(string); ok {
		return quoted(s), nil
	}
	return encodeValue(parsed)
}

// misfit is the fault of a value that the field does not take.
func misfit(f *schema.Field, err error, under string) error {
	if part, ok := errors.AsType[*schema.ValueError](err); ok {
		return fault.Input(under+f.Name+part.Path, "%s%s %s", f.Name, part.Path, part.Err)
	}
	return fault.Input(under+f.Name, "%s %s", f.Name, err)
}

func encodeValue(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode value: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
