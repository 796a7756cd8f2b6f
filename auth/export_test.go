package auth

// ParseJWKS returns the public keys of a set.
func ParseJWKS(text []byte) ([]any, error) {
	keys, err := parseJWKS(text)
	var list []any
	for _, k := range keys {
		list = append(list, k.key)
	}
	return list, err
}
