package xmltree

import (
	"bytes"
	"strings"

	"tidings/fault"
)

// readProlog finds out the encoding, writes the document to text in UTF-8, with the
// padding after it, and reads the XML declaration. It returns the position after
// that. A byte order mark outranks the charset of the media type, and that the
// declaration.
func readProlog(text *strings.Builder, data []byte, charset string, most int) (after int, err error) {
	enc, data, err := encodingOf(data, charset)
	if err != nil {
		return 0, err
	}
	if enc == asDeclared {
		if enc, err = declaredEncoding(data); err != nil {
			return 0, err
		}
	}
	if data, err = enc.decode(data, most); err != nil {
		return 0, err
	}
	text.Grow(len(data) + len(padding) + len(data)/32)
	text.Write(data)
	text.WriteString(padding)
	src := text.String()
	if err := allowed(src); err != nil {
		return 0, err
	}
	_, after, err = readDeclaration(src)
	return after, err
}

// declaredEncoding reads the encoding out of a declaration in ASCII. Without one
// it is UTF-8.
func declaredEncoding(data []byte) (encoding, error) {
	for _, usual := range usualDeclarations {
		if len(data) >= len(usual) && string(data[:len(usual)]) == usual {
			return isUTF8, nil
		}
	}
	if !bytes.HasPrefix(data, []byte("<?")) {
		return isUTF8, nil
	}
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

// usualDeclarations are those that nearly all clients write, and which need no
// reading.
var usualDeclarations = [...]string{
	`<?xml version="1.0" encoding="utf-8"?>`, `<?xml version="1.0" encoding="UTF-8"?>`,
	`<?xml version='1.0' encoding='utf-8'?>`, `<?xml version='1.0' encoding='UTF-8'?>`,
}

// usualEncoding is what they declare.
const usualEncoding = "utf-8"

// readDeclaration reads `<?xml version="1.0" encoding="…" standalone="…"?>`.
func readDeclaration(src string) (encoding string, after int, err error) {
	for _, usual := range usualDeclarations {
		if strings.HasPrefix(src, usual) {
			return usualEncoding, len(usual), nil
		}
	}
	const begin = "<?xml"
	if !strings.HasPrefix(src, begin) || len(src) == len(begin) || class[src[len(begin)]]&white == 0 {
		return "", 0, nil
	}
	end := strings.Index(src[:min(len(src), maxDeclaration)], "?>")
	if end < 0 || strings.Contains(src[:end], "&") {
		return "", 0, badDeclaration("it is malformed")
	}
	s := &scanner{end: end}
	s.buf.WriteString(src[:end])
	s.buf.WriteString(padding)
	s.src = s.buf.String()
	at := len(begin)
	allowed := []string{"version", "encoding", "standalone"}
	for first := true; ; first = false {
		from := at
		at = afterBlanks(s.src, from)
		spaced := at > from
		if at == end {
			if first {
				return "", 0, badDeclaration("the version is missing")
			}
			return encoding, end + len("?>"), nil
		}
		var key, value string
		at, key, value, err = s.pseudoAttribute(at)
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

func (s *scanner) pseudoAttribute(from int) (at int, key, value string, err error) {
	at = afterName(s.src, from)
	key = s.src[from:at]
	at = afterBlanks(s.src, at)
	if s.src[at] != '=' {
		return at, "", "", refuse(at, "= is missing")
	}
	at, quoted, err := s.quoted(afterBlanks(s.src, at+1))
	return at, key, s.value(quoted), err
}

func badDeclaration(why string) error {
	return fault.New(fault.BadRequest, "the XML declaration is refused: %s", why)
}
