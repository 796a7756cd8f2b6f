package xmltree

import (
	"strings"

	"tidings/fault"
)

// readProlog finds out the encoding, converts the document to UTF-8 and reads
// the XML declaration. It returns the document and the position after the
// declaration. A byte order mark outranks the charset of the media type, and that
// the declaration.
func readProlog(data []byte, charset string, most int) (src string, after int, err error) {
	enc, data, err := encodingOf(data, charset)
	if err != nil {
		return "", 0, err
	}
	if enc == asDeclared {
		if enc, err = declaredEncoding(data); err != nil {
			return "", 0, err
		}
	}
	if src, err = enc.decode(data, most); err != nil {
		return "", 0, err
	}
	if strings.Contains(src, "\uFFFE") || strings.Contains(src, "\uFFFF") {
		return "", 0, fault.New(fault.BadRequest, "U+FFFE and U+FFFF are not allowed in XML")
	}
	_, after, err = readDeclaration(src)
	return src, after, err
}

// declaredEncoding reads the encoding out of a declaration in ASCII. Without one
// it is UTF-8.
func declaredEncoding(data []byte) (encoding, error) {
	name, _, err := readDeclaration(string(data[:min(len(data), maxDeclaration)]))
	if err != nil {
		return 0, err
	}
	enc, ok := encodings[strings.ToLower(name)]
	if !ok || enc >= isUTF16 { // what is declared in bytes is not written in pairs of them
		return 0, unreadable(name)
	}
	return enc, nil
}

// maxDeclaration is how many bytes of an XML declaration are looked at.
const maxDeclaration = 256

// readDeclaration reads `<?xml version="1.0" encoding="…" standalone="…"?>`.
func readDeclaration(src string) (encoding string, after int, err error) {
	const begin = "<?xml"
	if !strings.HasPrefix(src, begin) || len(src) == len(begin) || class[src[len(begin)]]&white == 0 {
		return "", 0, nil
	}
	end := strings.Index(src[:min(len(src), maxDeclaration)], "?>")
	if end < 0 || strings.Contains(src[:end], "&") {
		return "", 0, badDeclaration("it is malformed")
	}
	s := &scanner{src: src[:end], pos: len(begin)}
	allowed := []string{"version", "encoding", "standalone"}
	for first := true; ; first = false {
		spaced := s.blanks()
		if s.pos == end {
			if first {
				return "", 0, badDeclaration("the version is missing")
			}
			return encoding, end + len("?>"), nil
		}
		key, value, err := s.pseudoAttribute()
		if err != nil || !spaced {
			return "", 0, badDeclaration("it is malformed")
		}
		for len(allowed) > 0 && allowed[0] != key {
			if first {
				return "", 0, badDeclaration("the version is missing")
			}
			allowed = allowed[1:]
		}
		if len(allowed) == 0 {
			return "", 0, badDeclaration("it is malformed")
		}
		allowed = allowed[1:]
		switch {
		case key == "version" && value != "1.0":
			return "", 0, badDeclaration("the version is not 1.0")
		case key == "standalone" && value != "yes" && value != "no":
			return "", 0, badDeclaration("standalone is neither yes nor no")
		case key == "encoding":
			encoding = value
		}
	}
}

func (s *scanner) pseudoAttribute() (key, value string, err error) {
	if key, err = s.ncname(); err != nil {
		return "", "", err
	}
	s.blanks()
	if s.peek() != '=' {
		return "", "", s.refuse("= is missing")
	}
	s.pos++
	s.blanks()
	value, err = s.quoted()
	return key, value, err
}

func badDeclaration(why string) error {
	return fault.New(fault.BadRequest, "the XML declaration is refused: %s", why)
}
