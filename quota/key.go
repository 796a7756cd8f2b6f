package quota

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"

	"tidings/auth"
)

// key names a caller without saying who it is: the class and a digest of the
// subject or the address. It is the same in every process.
type key struct {
	class  class
	digest [16]byte
}

func keyOf(c class, who auth.Principal, client netip.Addr) key {
	name := who.Subject
	if c == anonymous {
		name = Network(client)
	}
	sum := sha256.Sum256([]byte(name))
	return key{class: c, digest: [16]byte(sum[:16])}
}

// Name tells callers apart within a process: one that says who it is by its subject,
// another one by the network that it comes from (WithClient). Empty is one of whom
// nothing is known.
func Name(ctx context.Context, who auth.Principal) string {
	switch client := Client(ctx); {
	case !who.Anonymous():
		return "subject " + who.Subject
	case client.IsValid():
		return Network(client)
	}
	return ""
}

// Network is what one caller has at its disposal: an address of IPv4, or the 64
// bits of an IPv6 address that are its network's.
func Network(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return p.String()
}

// The letter of each class in front of a key's text.
const classes = "ausfp"

// MarshalText writes the class's letter and the digest in base64url.
func (k key) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode([]byte{classes[k.class]}, k.digest[:]), nil
}

// parseKey reads what MarshalText wrote.
func parseKey(text string) (key, bool) {
	var k key
	if len(text) != 1+22 {
		return k, false
	}
	for i, letter := range []byte(classes) {
		if text[0] == letter {
			k.class = class(i)
			n, err := base64.RawURLEncoding.Strict().Decode(k.digest[:], []byte(text[1:]))
			return k, err == nil && n == len(k.digest)
		}
	}
	return k, false
}

func newID() string { return rand.Text() }
