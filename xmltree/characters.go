package xmltree

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

func (s *scanner) text(from int) (at int, err error) {
	at = afterIndent(s.src, from)
	if s.src[at] == '<' && s.depth > 0 {
		return at, nil
	}
	at, cooked, err := s.characters(at)
	if err != nil {
		return at, err
	}
	if s.depth == 0 {
		if Trim(s.src[from:at]) != "" {
			return at, refuse(at, "there is text outside of the root element")
		}
		return at, nil
	}
	s.innermost().count |= hasText
	if !cooked {
		return at, nil
	}
	e, err := s.cook(ends{uint32(from), uint32(at)}, false)
	if err != nil {
		return at, err
	}
	return at, s.gap(from, at, e)
}

// characters reads up to the markup that ends a run of text, and reports whether
// there is anything in it that stands for something else.
func (s *scanner) characters(from int) (at int, cooked bool, err error) {
	for at = from; ; at++ {
		at = stop(s.src, at, '&')
		switch c := s.src[at]; {
		case c == '<' || at == s.end:
			return at, cooked, nil
		case c == '&' || c == '\r':
			cooked = true
		case c == '>':
			if strings.HasSuffix(s.src[from:at], "]]") {
				return at, false, refuse(at, "]]> stands outside of a CDATA section")
			}
		case class[c]&control != 0:
			return at, false, refuseControl(at, c)
		}
	}
}

// declaration reads what begins with "<!": comments and CDATA sections.
func (s *scanner) declaration(at int) (after int, err error) {
	rest := s.src[at:s.end]
	if strings.HasPrefix(rest, "<!--") {
		return s.comment(at)
	}
	body, ok := strings.CutPrefix(rest, "<![CDATA[")
	if !ok {
		return at, refuse(at, "document types and other declarations are not accepted")
	}
	if s.depth == 0 {
		return at, refuse(at, "there is a CDATA section outside of the root element")
	}
	n := strings.Index(body, "]]>")
	if n < 0 {
		return at, refuse(at, "the CDATA section is not closed")
	}
	from := at + len("<![CDATA[")
	raw := body[:n]
	if err := plain(from, raw); err != nil {
		return at, err
	}
	e := ends{uint32(from), uint32(from + n)}
	if strings.Contains(raw, "\r") {
		e = s.add(strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\r", "\n"))
	}
	s.innermost().count |= hasText
	after = from + n + len("]]>")
	return after, s.gap(at, after, e)
}

func (s *scanner) comment(at int) (after int, err error) {
	if s.comments++; s.comments > maxComments {
		return at, refuse(at, "there are more than %d comments", maxComments)
	}
	from := at + len("<!--")
	body := s.src[from:s.end]
	n := strings.Index(body, "--")
	if n < 0 || n+2 == len(body) {
		return at, refuse(at, "the comment is not closed")
	}
	if body[n+2] != '>' {
		return at, refuse(at, "-- stands inside of a comment")
	}
	if err := plain(from, body[:n]); err != nil {
		return at, err
	}
	after = from + n + len("-->")
	if s.depth == 0 {
		return after, nil
	}
	return after, s.gap(at, after, ends{})
}

// plain refuses control characters in what begins at a place.
func plain(at int, raw string) error {
	for i, c := range []byte(raw) {
		if class[c]&control != 0 {
			return refuseControl(at+i, c)
		}
	}
	return nil
}

// cook resolves references and normalises line ends, and white space as well
// in an attribute.
func (s *scanner) cook(raw ends, attribute bool) (ends, error) {
	from, text := s.buf.Len(), s.src[raw.from:raw.to]
	done := 0 // so many bytes of the text are cooked
	for i := 0; i < len(text); {
		r, n := ' ', 1
		switch c := text[i]; {
		case c == '&':
			if r, n = reference(text[i:]); n == 0 {
				return ends{}, refuse(int(raw.from)+i, "an & begins no reference to a character or to lt, gt, amp, quot, apos")
			}
		case c == '\r':
			if strings.HasPrefix(text[i:], "\r\n") {
				n = 2
			}
			if !attribute {
				r = '\n'
			}
		case attribute && (c == '\n' || c == '\t'):
		default:
			i++
			continue
		}
		s.buf.WriteString(text[done:i])
		s.buf.WriteRune(r)
		i += n
		done = i
	}
	s.buf.WriteString(text[done:])
	return ends{uint32(from), uint32(s.buf.Len())}, nil
}

// add keeps a text that the source does not hold.
func (s *scanner) add(text string) ends {
	from := s.buf.Len()
	s.buf.WriteString(text)
	return ends{uint32(from), uint32(s.buf.Len())}
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
