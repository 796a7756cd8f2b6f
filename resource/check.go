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
// BadUserInput that names path and rule. Commands come from the bus, and so
// from anybody's program: nothing is taken for granted here.
func check(f *schema.Field, raw json.RawMessage, path string) (json.RawMessage, error) {
	value, ok := rawjson.Parse(raw)
	if !ok {
		return nil, fault.Input(path, "%s is not JSON", path)
	}
	parsed, err := f.Parse(value)
	if part, ok := errors.AsType[*schema.ValueError](err); ok {
		return nil, fault.Input(path+part.Path, "%s%s %s", f.Name, part.Path, part.Err)
	}
	if err != nil {
		return nil, fault.Input(path, "%s %s", f.Name, err)
	}
	if s, ok := parsed.(string); ok {
		return quoted(s), nil
	}
	return encodeValue(parsed)
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
