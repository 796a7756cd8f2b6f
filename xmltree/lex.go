package xmltree

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"tidings/fault"
)

// The classes of bytes that the scanner's loops stop at.
const (
	nameStart uint8 = 1 << iota
	nameChar
	textStop // in character data
	attrStop // in an attribute's value
	white
	control // not allowed anywhere
)

var class = classes()

func classes() (t [256]uint8) {
	for c := range t {
		switch {
		case c == ' ', c == '\t', c == '\n', c == '\r':
			t[c] |= white
		case c < ' ':
			t[c] |= control | textStop | attrStop
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
			t[c] |= nameStart | nameChar
		case c >= '0' && c <= '9', c == '-', c == '.':
			t[c] |= nameChar
		}
	}
	for _, c := range "<&]\r" {
		t[c] |= textStop
	}
	for _, c := range "<&\"'\t\n\r" {
		t[c] |= attrStop
	}
	return t
}

// peek returns the next byte, 0 at the end. A NUL in the source is refused
// wherever it could stand, so the two need not be told apart.
func (s *scanner) peek() byte {
	if s.pos == len(s.src) {
		return 0
	}
	return s.src[s.pos]
}

// blanks skips white space and reports whether there was any.
func (s *scanner) blanks() bool {
	from := s.pos
	for s.pos < len(s.src) && class[s.src[s.pos]]&white != 0 {
		s.pos++
	}
	return s.pos > from
}

// qname reads a name with at most one prefix.
func (s *scanner) qname() (prefix, local string, err error) {
	from := s.pos
	if local, err = s.ncname(); err != nil {
		return "", "", err
	}
	if s.peek() == ':' {
		s.pos++
		prefix = local
		if local, err = s.ncname(); err != nil {
			return "", "", err
		}
		if s.peek() == ':' {
			return "", "", s.refuse("a name has two colons")
		}
	}
	if s.pos-from > maxName {
		return "", "", s.refuse("a name is longer than %d bytes", maxName)
	}
	return prefix, local, nil
}

func (s *scanner) ncname() (string, error) {
	from := s.pos
	if class[s.peek()]&nameStart == 0 {
		if s.peek() >= utf8.RuneSelf {
			return "", s.refuse("names beyond ASCII are not accepted")
		}
		return "", s.refuse("a name is missing")
	}
	for s.pos++; class[s.peek()]&nameChar != 0; s.pos++ {
	}
	if s.peek() >= utf8.RuneSelf {
		return "", s.refuse("names beyond ASCII are not accepted")
	}
	return s.src[from:s.pos], nil
}

// quoted reads an attribute's value. Its white space is normalised: tabs and
// line ends become blanks, those written as references stay.
func (s *scanner) quoted() (string, error) {
	quote := s.peek()
	if quote != '"' && quote != '\'' {
		return "", s.refuse("the value of an attribute is not quoted")
	}
	s.pos++
	from, cooked := s.pos, false
	for ; s.pos < len(s.src); s.pos++ {
		c := s.src[s.pos]
		if class[c]&attrStop == 0 {
			continue
		}
		switch {
		case c == quote:
			raw := s.src[from:s.pos]
			s.pos++
			if cooked {
				return s.cook(raw, true)
			}
			return raw, nil
		case c == '<':
			return "", s.refuse("< stands inside of an attribute")
		case c == '&' || class[c]&white != 0:
			cooked = true
		case class[c]&control != 0:
			return "", s.refuse("the control character %#02x is not allowed", c)
		}
	}
	return "", s.refuse("the value of an attribute is not closed")
}

// cook resolves references and normalises line ends, and white space as well
// in an attribute.
func (s *scanner) cook(raw string, attribute bool) (string, error) {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		c := raw[i]
		if c == '&' {
			r, n := reference(raw[i:])
			if n == 0 {
				return "", s.refuse("an & begins no reference to a character or to lt, gt, amp, quot, apos")
			}
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		i++
		if c == '\r' {
			if i < len(raw) && raw[i] == '\n' {
				i++
			}
			c = '\n'
		}
		if attribute && (c == '\n' || c == '\t') {
			c = ' '
		}
		out = append(out, c)
	}
	return string(out), nil
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

func (s *scanner) refuse(format string, args ...any) error {
	return fault.New(fault.BadRequest, "the XML is refused at byte %d: "+format, append([]any{s.pos}, args...)...)
}
