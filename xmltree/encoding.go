package xmltree

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tidings/fault"
)

// encoding is a way to write characters as bytes.
type encoding int

const (
	asDeclared encoding = iota // not known from outside: UTF-8 until the XML declaration says otherwise
	isUTF8
	isASCII
	isLatin1
	isWindows1252
	isUTF16 // with a byte order that the first bytes tell
	isUTF16LE
	isUTF16BE
)

// encodings are those that are read, by the names that IANA and clients use.
var encodings = map[string]encoding{
	"": asDeclared, "utf-8": isUTF8, "utf8": isUTF8,
	"us-ascii": isASCII, "ascii": isASCII, "ansi_x3.4-1968": isASCII, "iso646-us": isASCII,
	"iso-8859-1": isLatin1, "iso_8859-1": isLatin1, "iso8859-1": isLatin1, "latin1": isLatin1, "l1": isLatin1,
	"windows-1252": isWindows1252, "cp1252": isWindows1252, "x-cp1252": isWindows1252,
	"utf-16": isUTF16, "utf16": isUTF16, "utf-16le": isUTF16LE, "utf-16be": isUTF16BE,
}

// marks are byte order marks with what they say. Nothing outranks them.
var marks = [...]struct {
	mark []byte
	enc  encoding
}{
	{[]byte("\xEF\xBB\xBF"), isUTF8},
	{[]byte("\xFF\xFE"), isUTF16LE},
	{[]byte("\xFE\xFF"), isUTF16BE},
}

// encodingOf returns what the first bytes and the media type say, and the document
// without its byte order mark.
func encodingOf(data []byte, charset string) (encoding, []byte, error) {
	for _, m := range marks {
		if rest, ok := bytes.CutPrefix(data, m.mark); ok {
			return m.enc, rest, nil
		}
	}
	enc, ok := isUTF8, true
	if charset != "utf-8" {
		enc, ok = encodings[strings.ToLower(charset)]
	}
	if !ok {
		return 0, nil, unreadable(charset)
	}
	if enc == isUTF16 || enc == asDeclared {
		switch {
		case bytes.HasPrefix(data, []byte("<\x00")):
			return isUTF16LE, data, nil
		case bytes.HasPrefix(data, []byte("\x00<")), enc == isUTF16:
			return isUTF16BE, data, nil
		}
	}
	return enc, data, nil
}

// decode returns the document in UTF-8; one that is said to be in UTF-8 as it is.
// What is no character of another encoding is refused, and so is a document that is
// larger than most in either form.
func (enc encoding) decode(data []byte, most int) ([]byte, error) {
	switch enc {
	case asDeclared, isUTF8:
		return data, nil
	case isASCII:
		if i := slices.IndexFunc(data, func(b byte) bool { return b >= utf8.RuneSelf }); i >= 0 {
			return nil, fault.New(fault.BadRequest, "byte %d is not of the encoding US-ASCII", i)
		}
		return data, nil
	case isUTF16BE:
		return decodeUTF16(data, binary.BigEndian, most)
	case isUTF16LE:
		return decodeUTF16(data, binary.LittleEndian, most)
	}
	return enc.decodeBytes(data, most)
}

// ascii reports whether all characters of a document are of US-ASCII.
func ascii(s string) bool {
	for ; len(s) >= 32; s = s[32:] {
		if (word(s[:8])|word(s[8:16])|word(s[16:24])|word(s[24:32]))&highs != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// allowed refuses a document with what is no character of XML in any encoding, or no
// UTF-8. Characters below the blank are the scanner's to refuse.
func allowed(src string) error {
	switch {
	case ascii(src):
		return nil
	case !utf8.ValidString(src):
		return fault.New(fault.BadRequest, "the envelope is not valid UTF-8")
	case strings.Contains(src, "\uFFFE") || strings.Contains(src, "\uFFFF"):
		return fault.New(fault.BadRequest, "U+FFFE and U+FFFF are not allowed in XML")
	}
	return nil
}

// decodeBytes reads an encoding of one byte a character.
func (enc encoding) decodeBytes(data []byte, most int) ([]byte, error) {
	out := make([]byte, 0, min(len(data)+len(data)/8, most))
	for i, b := range data {
		r := rune(b)
		if enc == isWindows1252 && b >= 0x80 && b < 0xA0 {
			if r = windows1252[b-0x80]; r == 0 {
				return nil, fault.New(fault.BadRequest, "byte %d, %#02x, is not of the encoding Windows-1252", i, b)
			}
		}
		if out = utf8.AppendRune(out, r); len(out) > most {
			return nil, tooLarge(most)
		}
	}
	return out, nil
}

// windows1252 are the characters of the bytes 0x80 to 0x9F, 0 for none.
var windows1252 = [...]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

func decodeUTF16(data []byte, order binary.ByteOrder, most int) ([]byte, error) {
	if len(data)%2 != 0 {
		return nil, fault.New(fault.BadRequest, "the envelope is not valid UTF-16: half a character is at its end")
	}
	out := make([]byte, 0, min(len(data)/2+len(data)/16, most))
	for i := 0; i < len(data); i += 2 {
		r := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+2 < len(data) {
				low = rune(order.Uint16(data[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return nil, fault.New(fault.BadRequest, "the envelope is not valid UTF-16: a surrogate stands alone at byte %d", i)
			}
			i += 2
		}
		if out = utf8.AppendRune(out, r); len(out) > most {
			return nil, tooLarge(most)
		}
	}
	return out, nil
}

func tooLarge(most int) error {
	return fault.New(fault.PayloadTooLarge, "the envelope is larger than %d bytes", most)
}

func unreadable(encoding string) error {
	return fault.New(fault.BadRequest, "the encoding %.40q is not read here: send UTF-8", encoding)
}
