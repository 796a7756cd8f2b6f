package xmltree

import "unicode/utf8"

// AppendText appends s as character data, for elements and attributes alike.
// What XML cannot hold becomes U+FFFD; a carriage return is written as a
// reference, since readers would turn it into a line feed.
func AppendText[T string | []byte](out []byte, s T) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf && !special[c] {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		instead := replacement(r, n)
		if instead != "" {
			out = append(append(out, s[from:i]...), instead...)
			from = i + n
		}
		i += n
	}
	return append(out, s[from:]...)
}

// special marks the ASCII characters that are not written as they are.
var special = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = replacement(rune(c), 1) != ""
	}
	return t
}()

// replacement is what is written in place of r, empty for r itself; n is its
// length as utf8.DecodeRune gives it.
func replacement(r rune, n int) string {
	switch {
	case r == '<':
		return "&lt;"
	case r == '>':
		return "&gt;"
	case r == '&':
		return "&amp;"
	case r == '"':
		return "&quot;"
	case r == '\r':
		return "&#xD;"
	case !xmlChar(r), r == utf8.RuneError && n == 1:
		return "\uFFFD"
	}
	return ""
}
