package xmltree

import (
	"math/bits"
	"unicode/utf8"

	"tidings/fault"
)

// padding follows each document that is scanned, so that eight bytes can be looked
// at wherever there is one. Whatever looks for the end of something stops at it: a
// NUL is refused wherever it stands in a document.
const padding = "\x00\x00\x00\x00\x00\x00\x00\x00"

// The classes of bytes that the scanner's loops stop at.
const (
	nameStart uint8 = 1 << iota
	nameChar
	white
	control // not allowed anywhere
)

var class = classes()

func classes() (t [256]uint8) {
	for c := range t {
		switch {
		case c == ' ', c == '\t', c == '\n', c == '\r':
			t[c] = white
		case c < ' ':
			t[c] = control
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
			t[c] = nameStart | nameChar
		case c >= '0' && c <= '9', c == '-', c == '.':
			t[c] = nameChar
		}
	}
	return t
}

// afterBlanks is where the white space at i ends.
func afterBlanks(s string, i int) int {
	for class[s[i]]&white != 0 {
		i++
	}
	return i
}

// afterIndent is where the line feeds, tabs and blanks at i end.
func afterIndent(s string, i int) int {
	if s[i] == '\n' {
		i++
	}
	for n := 8; n == 8; i += n {
		n = bits.TrailingZeros64(word(s[i:i+8])^ones*' ') >> 3
	}
	for s[i] <= ' ' && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t') {
		i++
	}
	return i
}

// afterName is where the name without a prefix at i ends: at i when there is none.
func afterName(s string, i int) int {
	if class[s[i]]&nameStart == 0 {
		return i
	}
	for i++; class[s[i]]&nameChar != 0; i++ {
	}
	return i
}

// stop is where the first byte from i on is that is <, >, &, also, or below the
// blank. also is & or differs from it in one bit, as the quotes do. It looks at eight
// bytes at a time: where the high bit of a byte of x is not set, x-ones*n has it for
// a byte below n, the first of them at least, and so x^(ones*c)-ones for a byte c.
func stop(s string, i int, also byte) int {
	bit := ones * uint64(also^'&')
	amp := ones*'&' | bit
	for ; ; i += 8 {
		x := word(s[i : i+8])
		below, angle, it := x-ones*' ', ((x|ones*2)^ones*'>')-ones, ((x|bit)^amp)-ones
		if found := (below | angle | it) &^ x & highs; found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
}

const (
	ones  uint64 = 0x0101010101010101
	highs uint64 = 0x8080808080808080
)

// word is the eight bytes of s, the first one the lowest. It compiles to one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// same reports whether the n bytes at two places are the same, n being more than 0.
func (s *scanner) same(a, b, n int) bool {
	x, y := word(s.src[a:a+8]), word(s.src[b:b+8])
	switch {
	case n <= 8:
		return (x^y)<<(64-8*n) == 0
	case n <= 16:
		return x == y && word(s.src[a+n-8:a+n]) == word(s.src[b+n-8:b+n])
	}
	return s.src[a:a+n] == s.src[b:b+n]
}

// qname reads a name with at most one prefix: how many bytes it has, and how many
// of them stand before the local part.
func (s *scanner) qname(from int) (at int, name uint16, prefix uint8, err error) {
	local := from
	at = afterName(s.src, from)
	if s.src[at] == ':' && at > from {
		local = at + 1
		at = afterName(s.src, local)
	}
	if c := s.src[at]; at > local && at-from <= maxName && c != ':' && c < utf8.RuneSelf {
		return at, uint16(at - from), uint8(local - from), nil
	}
	return at, 0, 0, s.noName(at, at == local)
}

// noName says why what ends at a place is no name.
func (s *scanner) noName(at int, empty bool) error {
	switch {
	case s.src[at] >= utf8.RuneSelf:
		return refuse(at, "names beyond ASCII are not accepted")
	case empty:
		return refuse(at, "a name is missing")
	case s.src[at] == ':':
		return refuse(at, "a name has two colons")
	}
	return refuse(at, "a name is longer than %d bytes", maxName)
}

// refuse makes the error of what is wrong at a place.
func refuse(at int, format string, args ...any) error {
	return fault.New(fault.BadRequest, "the XML is refused at byte %d: "+format, append([]any{at}, args...)...)
}

func refuseControl(at int, c byte) error {
	return refuse(at, "the control character %#02x is not allowed", c)
}
