package resource

// Digest is what a reservation of a value is called.
func Digest(value string) string { return digest([]byte(value)) }
