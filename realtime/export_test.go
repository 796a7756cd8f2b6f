package realtime

// NameOf is what the stream of a token is called on the bus.
func NameOf(token string) string { return nameOf(token) }
