package xmltree

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidings/fault"
)

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
	for i < len(s) && class[s[i]]&white != 0 {
		i++
	}
	return i
}

// afterIndent is where the line feeds, tabs and blanks at i end.
func afterIndent(s string, i int) int {
	const blanks = 0x2020202020202020
	if i < len(s) && s[i] == '\n' {
		i++
	}
	for i+8 <= len(s) {
		n := bits.TrailingZeros64(word(s[i:i+8])^blanks) >> 3
		if i += n; n < 8 {
			break
		}
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t') {
		i++
	}
	return i
}

// afterName is where the name without a prefix at i ends: at i when there is none.
func afterName(s string, i int) int {
	if i == len(s) || class[s[i]]&nameStart == 0 {
		return i
	}
	for i++; i < len(s) && class[s[i]]&nameChar != 0; i++ {
	}
	return i
}

// stop is where the first byte from i on is that is <, &, other, or below the
// blank. It looks at eight bytes at a time: of a word x the expression
// (x-ones*n) &^ x & highs has the high bit of each byte below n, up to the first
// one at least, and x^(ones*c) has 0 for each byte c.
func stop(s string, i int, other byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	others := ones * uint64(other)
	for ; i+8 <= len(s); i += 8 {
		x := word(s[i : i+8])
		less, amp, it := x^ones*'<', x^ones*'&', x^others
		found := ((x-ones*' ')&^x | (less-ones)&^less | (amp-ones)&^amp | (it-ones)&^it) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '<' && s[i] != '&' && s[i] != other {
		i++
	}
	return i
}

// word is the eight bytes of s, the first one the lowest. It compiles to one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// at returns the byte at i, 0 at the end. A NUL in the source is refused wherever
// it could stand, so the two need not be told apart.
func (s *scanner) at(i int) byte {
	if i >= len(s.src) {
		return 0
	}
	return s.src[i]
}

// qname reads a name with at most one prefix: how many bytes it has, and how many
// of them stand before the local part.
func (s *scanner) qname(from int) (at int, name uint16, prefix uint8, err error) {
	local := from
	at = afterName(s.src, from)
	if s.at(at) == ':' && at > from {
		local = at + 1
		at = afterName(s.src, local)
	}
	if c := s.at(at); at > local && at-from <= maxName && c != ':' && c < utf8.RuneSelf {
		return at, uint16(at - from), uint8(local - from), nil
	}
	return at, 0, 0, s.noName(at, at == local)
}

// noName says why what ends at a place is no name.
func (s *scanner) noName(at int, empty bool) error {
	switch {
	case s.at(at) >= utf8.RuneSelf:
		return refuse(at, "names beyond ASCII are not accepted")
	case empty:
		return refuse(at, "a name is missing")
	case s.at(at) == ':':
		return refuse(at, "a name has two colons")
	}
	return refuse(at, "a name is longer than %d bytes", maxName)
}

// ends are where a value begins and ends: in the source, or among the cooked ones.
type ends struct {
	from, to uint32
	cooked   bool
}

// quoted reads an attribute's value. Its white space is normalised: tabs and
// line ends become blanks, those written as references stay.
func (s *scanner) quoted(at int) (after int, value ends, err error) {
	quote := s.at(at)
	if quote != '"' && quote != '\'' {
		return at, value, refuse(at, "the value of an attribute is not quoted")
	}
	at++
	from, cooked := at, false
	for ; ; at++ {
		if at = stop(s.src, at, quote); at == len(s.src) {
			return at, value, refuse(at, "the value of an attribute is not closed")
		}
		switch c := s.src[at]; {
		case c == quote:
			value = ends{uint32(from), uint32(at), false}
			if cooked {
				value, err = s.cook(value, true)
			}
			return at + 1, value, err
		case c == '<':
			return at, value, refuse(at, "< stands inside of an attribute")
		case c == '&' || class[c]&white != 0:
			cooked = true
		default:
			return at, value, refuseControl(at, c)
		}
	}
}

// value is what ends stand for, as it is before the tree is whole.
func (s *scanner) value(e ends) string {
	if e.cooked {
		return s.cooked.String()[e.from:e.to]
	}
	return s.src[e.from:e.to]
}

// cook resolves references and normalises line ends, and white space as well
// in an attribute.
func (s *scanner) cook(raw ends, attribute bool) (ends, error) {
	from, text := s.cooked.Len(), s.src[raw.from:raw.to]
	s.cooked.Grow(len(text))
	for i := 0; i < len(text); {
		c := text[i]
		if c == '&' {
			r, n := reference(text[i:])
			if n == 0 {
				return ends{}, refuse(int(raw.from)+i, "an & begins no reference to a character or to lt, gt, amp, quot, apos")
			}
			s.cooked.WriteRune(r)
			i += n
			continue
		}
		i++
		if c == '\r' {
			if i < len(text) && text[i] == '\n' {
				i++
			}
			c = '\n'
		}
		if attribute && (c == '\n' || c == '\t') {
			c = ' '
		}
		s.cooked.WriteByte(c)
	}
	return ends{uint32(from), uint32(s.cooked.Len()), true}, nil
}

// add keeps a text that the source does not hold.
func (s *scanner) add(text string) ends {
	from := s.cooked.Len()
	s.cooked.WriteString(text)
	return ends{uint32(from), uint32(s.cooked.Len()), true}
}

// reference reads the reference that s begins with. A length of 0 means that it
// is none, or one to what is no character of XML.
func reference(s string) (r rune, n int) {
	end := strings.IndexByte(s[:min(len(s), 12)], ';')
	if end < 0 {
		return 0, 0
	}
	switch body := s[1:end]; body {
	case "lt":
		return '<', end + 1
	case "gt":
		return '>', end + 1
	case "amp":
		return '&', end + 1
	case "quot":
		return '"', end + 1
	case "apos":
		return '\'', end + 1
	default:
		digits, base := strings.TrimPrefix(body, "#"), 10
		if digits == body {
			return 0, 0
		}
		if hex, ok := strings.CutPrefix(digits, "x"); ok {
			digits, base = hex, 16
		}
		v, err := strconv.ParseUint(digits, base, 32)
		if err != nil || v > utf8.MaxRune || !xmlChar(rune(v)) {
			return 0, 0
		}
		return rune(v), end + 1
	}
}

// xmlChar reports whether r is a Char of XML 1.0.
func xmlChar(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	case r >= 0xD800 && r <= 0xDFFF, r == 0xFFFE, r == 0xFFFF:
		return false
	}
	return r <= utf8.MaxRune
}

// refuse makes the error of what is wrong at a place.
func refuse(at int, format string, args ...any) error {
	return fault.New(fault.BadRequest, "the XML is refused at byte %d: "+format, append([]any{at}, args...)...)
}

func refuseControl(at int, c byte) error {
	return refuse(at, "the control character %#02x is not allowed", c)
}
