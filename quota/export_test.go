package quota

import (
	"net/netip"

	"tidings/auth"
)

// Hear takes in a report, as if another process had sent it.
func (l *Limiter) Hear(data []byte) { l.hear(data) }

// Sample is a key in its form on the bus.
func Sample(letter byte) string {
	text, _ := key{}.MarshalText()
	return string(letter) + string(text[1:])
}

// Key is a known caller's key in its form on the bus.
func Key(who auth.Principal) string {
	text, _ := keyOf(classOf(who), who, netip.Addr{}).MarshalText()
	return string(text)
}
