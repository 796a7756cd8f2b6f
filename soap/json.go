package soap

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tidings/xmltree"
)

// jsonReader walks over JSON once, forward, without building anything. The JSON
// is the engine's own; what is not well formed is an error all the same.
type jsonReader struct {
	data []byte
	pos  int
	text []byte // of the string read last, reused
}

var errJSON = errors.New("malformed result")

const maxJSONDepth = 64

// peek returns the next byte that is not white space, 0 at the end.
func (r *jsonReader) peek() byte {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c if it comes next.
func (r *jsonReader) take(c byte) bool {
	if r.peek() != c || c == 0 {
		return false
	}
	r.pos++
	return true
}

// null consumes a null if it comes next.
func (r *jsonReader) null() bool {
	if r.peek() != 'n' {
		return false
	}
	r.pos += len("null")
	return r.pos <= len(r.data)
}

// more reports whether another member or item follows in a container that end
// closes, and consumes the comma or the end. first is whether none came yet.
func (r *jsonReader) more(first bool, end byte) (bool, error) {
	switch {
	case r.take(end):
		return false, nil
	case first || r.take(','):
		return true, nil
	}
	return false, errJSON
}

// key consumes a member's name and the colon.
func (r *jsonReader) key() ([]byte, error) {
	name, err := r.string()
	if err == nil && !r.take(':') {
		err = errJSON
	}
	return name, err
}

// string consumes a string. What it returns is valid until the next call.
func (r *jsonReader) string() ([]byte, error) {
	if !r.take('"') {
		return nil, errJSON
	}
	from := r.pos
	for ; r.pos < len(r.data); r.pos++ {
		switch r.data[r.pos] {
		case '"':
			r.pos++
			return r.data[from : r.pos-1], nil
		case '\\':
			return r.unescape(from)
		}
	}
	return nil, errJSON
}

// comes consumes a member's name, in its quotes and with its colon, if it comes next
// without any white space. first is whether no other came before it.
func (r *jsonReader) comes(first bool, key string) bool {
	at := r.pos
	if !first {
		if at == len(r.data) || r.data[at] != ',' {
			return false
		}
		at++
	}
	if len(r.data)-at < len(key) || string(r.data[at:at+len(key)]) != key {
		return false
	}
	r.pos = at + len(key)
	return true
}

// appendText consumes the string that comes next without any white space, if there is
// one of ASCII without escapes, and appends it as text of XML. Otherwise it is not ok,
// and nothing is consumed.
func (r *jsonReader) appendText(out []byte) (text []byte, ok bool) {
	from := r.pos + 1
	if from > len(r.data) || r.data[r.pos] != '"' {
		return out, false
	}
	for at := from; ; at++ {
		if at = r.stop(at); at == len(r.data) {
			return out, false
		}
		switch r.data[at] {
		case '"':
			r.pos = at + 1
			return append(out, r.data[from:at]...), true
		case '<', '>', '&':
			out = xmltree.AppendText(append(out, r.data[from:at]...), r.data[at:at+1])
			from = at + 1
		default:
			return out, false
		}
	}
}

// stop is where the first byte from a place on is that does not stand for itself in
// both a string of JSON and the text of XML, or is not of ASCII. It looks at eight
// bytes at a time, as the scanner of xmltree does.
func (r *jsonReader) stop(at int) int {
	for ; at+8 <= len(r.data); at += 8 {
		x := binary.LittleEndian.Uint64(r.data[at : at+8])
		angle, quote, back := (x|ones*2)^ones*'>', (x|ones*4)^ones*'&', x^ones*'\\'
		found := (x | (x - ones*' ') | (angle - ones) | (quote - ones) | (back - ones)) & highs
		if found != 0 {
			return at + bits.TrailingZeros64(found)>>3
		}
	}
	for at < len(r.data) && literal[r.data[at]] {
		at++
	}
	return at
}

// Eight bytes of one value; the high bits of eight bytes.
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

// literal marks the bytes that stand for themselves in a string of JSON and in XML.
var literal = func() (t [256]bool) {
	for c := ' '; c <= '~'; c++ {
		t[c] = !strings.ContainsRune(`"\<>&`, c)
	}
	return t
}()

// unescape reads the rest of a string that has an escape at the position.
func (r *jsonReader) unescape(from int) ([]byte, error) {
	r.text = append(r.text[:0], r.data[from:r.pos]...)
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		r.pos++
		switch c {
		case '"':
			return r.text, nil
		case '\\':
			if err := r.escape(); err != nil {
				return nil, err
			}
		default:
			r.text = append(r.text, c)
		}
	}
	return nil, errJSON
}

func (r *jsonReader) escape() error {
	if r.pos == len(r.data) {
		return errJSON
	}
	c := r.data[r.pos]
	r.pos++
	switch c {
	case '"', '\\', '/':
		r.text = append(r.text, c)
	case 'b':
		r.text = append(r.text, '\b')
	case 'f':
		r.text = append(r.text, '\f')
	case 'n':
		r.text = append(r.text, '\n')
	case 'r':
		r.text = append(r.text, '\r')
	case 't':
		r.text = append(r.text, '\t')
	case 'u':
		return r.escapedRune()
	default:
		return errJSON
	}
	return nil
}

func (r *jsonReader) escapedRune() error {
	first, ok := r.hex4()
	if !ok {
		return errJSON
	}
	if utf16.IsSurrogate(first) {
		if r.pos+2 <= len(r.data) && r.data[r.pos] == '\\' && r.data[r.pos+1] == 'u' {
			r.pos += 2
			second, ok := r.hex4()
			if !ok {
				return errJSON
			}
			first = utf16.DecodeRune(first, second)
		} else {
			first = utf8.RuneError
		}
	}
	r.text = utf8.AppendRune(r.text, first)
	return nil
}

func (r *jsonReader) hex4() (rune, bool) {
	if r.pos+4 > len(r.data) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(r.data[r.pos:r.pos+4]), 16, 16)
	r.pos += 4
	return rune(v), err == nil
}

// literal consumes a number, true or false.
func (r *jsonReader) literal() ([]byte, error) {
	r.peek()
	from := r.pos
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '-', c == '+', c == '.', c == 'E':
			r.pos++
			continue
		}
		break
	}
	if r.pos == from {
		return nil, errJSON
	}
	return r.data[from:r.pos], nil
}

// skip consumes any value and returns its text.
func (r *jsonReader) skip(depth int) ([]byte, error) {
	c := r.peek()
	from := r.pos
	var err error
	switch {
	case depth == maxJSONDepth:
		err = errJSON
	case c == '"':
		_, err = r.string()
	case c == '{' || c == '[':
		err = r.skipInside(c, depth+1)
	default:
		_, err = r.literal()
	}
	return r.data[from:r.pos], err
}

func (r *jsonReader) skipInside(open byte, depth int) error {
	r.pos++
	for first := true; ; first = false {
		more, err := r.more(first, open+2) // ] and } follow their [ and { by two
		if err != nil || !more {
			return err
		}
		if open == '{' {
			if _, err := r.key(); err != nil {
				return err
			}
		}
		if _, err := r.skip(depth); err != nil {
			return err
		}
	}
}
