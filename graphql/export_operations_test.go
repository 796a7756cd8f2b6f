package graphql

import "encoding/json"

// DecodeManifest, ParseKey and DecodeEntry read what others wrote.
func DecodeManifest(content []byte) (map[string]string, error) { return decodeManifest(content) }
func ParseKey(value string) (string, error)                    { return parseKey(value) }

// DecodeEntry returns the entry as it would be written again.
func DecodeEntry(raw []byte) ([]byte, error) {
	n, err := decodeEntry(raw)
	if err != nil {
		return nil, err
	}
	return n.encode(), nil
}

// ReadExtensions returns what a request's extensions ask for.
func ReadExtensions(raw json.RawMessage) (r Request, hash string, err error) {
	r.Extensions = raw
	hash, err = r.readExtensions()
	return r, hash, err
}
