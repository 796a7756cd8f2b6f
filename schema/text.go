package schema

import (
	"errors"
	"net/url"
	"strings"
	"time"
)

// The checks of the scalars that are text. They run over strings on the way in
// and over stored bytes on the way out, where they must not allocate.

func parseDateTime(s string) (any, error) {
	refused := errors.New("must be a moment with its offset as RFC 3339 writes it, such as 2026-11-20T07:25:22.5Z")
	if !isDateTime(s) {
		return nil, refused
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil, refused
	}
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return nil, refused
	}
	return t.Format(time.RFC3339Nano), nil
}

// isDateTime checks the shape of RFC 3339 section 5.6 with at most nine digits
// of a second; time.Parse alone takes more than that, and does the calendar.
func isDateTime[T string | []byte](s T) bool {
	const shape = "0000-00-00T00:00:00"
	if len(s) <= len(shape) || !matches(s[:len(shape)], shape) {
		return false
	}
	rest := s[len(shape):]
	if rest[0] == '.' {
		digits := 1
		for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
			digits++
		}
		if digits == 1 || digits > 10 {
			return false
		}
		rest = rest[digits:]
	}
	if len(rest) == 1 {
		return rest[0] == 'Z'
	}
	return matches(rest, "+00:00") && (rest[1] < '2' || rest[1] == '2' && rest[2] <= '3') && rest[4] <= '5'
}

// isDate checks an RFC 3339 full-date against the calendar.
func isDate[T string | []byte](s T) bool {
	if !matches(s, "0000-00-00") {
		return false
	}
	number := func(low, high int) (n int) {
		for i := low; i < high; i++ {
			n = n*10 + int(s[i]-'0')
		}
		return n
	}
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	if month < 1 || month > 12 || day < 1 {
		return false
	}
	return day <= time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// matches compares s with a shape where 0 stands for any digit, + for either sign.
func matches[T string | []byte](s T, shape string) bool {
	if len(s) != len(shape) {
		return false
	}
	for i := range len(shape) {
		switch c := s[i]; shape[i] {
		case '0':
			if c < '0' || c > '9' {
				return false
			}
		case '+':
			if c != '+' && c != '-' {
				return false
			}
		default:
			if c != shape[i] {
				return false
			}
		}
	}
	return true
}

// isEmail takes what mail servers take: one @, a local part of at most 64
// bytes in dot-atom form, a domain of labels. Letters beyond ASCII pass
// (RFC 6531); quoted local parts and address literals do not.
func isEmail[T string | []byte](s T) bool {
	if len(s) > 254 {
		return false
	}
	at := -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '@' && at >= 0, c <= ' ', c == 0x7f:
			return false
		case c == '@':
			at = i
		}
	}
	return at > 0 && at <= 64 && isDotted(s[:at], isLocalByte) && isDotted(s[at+1:], isDomainByte) &&
		s[at+1] != '-' && s[len(s)-1] != '-'
}

// isDotted reports whether s is words of good bytes with single dots between.
func isDotted[T string | []byte](s T, good func(byte) bool) bool {
	if len(s) == 0 || s[len(s)-1] == '.' {
		return false
	}
	word := false
	for i := range len(s) {
		if s[i] != '.' {
			word = good(s[i])
		} else if !word {
			return false
		} else {
			word = false
			continue
		}
		if !word {
			return false
		}
	}
	return true
}

func isLocalByte(c byte) bool {
	return c >= 0x80 || isAlnum(c) || strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}
func isDomainByte(c byte) bool { return c >= 0x80 || isAlnum(c) || c == '-' }
func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// isURL checks the outside of an absolute web address: scheme, a host, no
// blanks, control characters, quotes or angle brackets.
func isURL[T string | []byte](s T) bool {
	host := 0
	switch {
	case len(s) > 8 && string(s[:8]) == "https://":
		host = 8
	case len(s) > 7 && string(s[:7]) == "http://":
		host = 7
	default:
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || c == '"' || c == '<' || c == '>' || c == '\\' {
			return false
		}
	}
	return s[host] != '/' && s[host] != '?' && s[host] != '#' && s[host] != ':'
}

func parsesAsURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Hostname() != ""
}

func isUUID[T string | []byte](s T) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
			continue
		}
		if c := s[i]; !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}
