package xmltree

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"tidings/fault"
)

// readProlog finds out the encoding, checks every byte against it and reads the
// XML declaration. It returns the document as a string and the position after
// the declaration.
func readProlog(data []byte, charset string) (src string, after int, err error) {
	data, marked := bytes.CutPrefix(data, []byte("\xEF\xBB\xBF"))
	if marked {
		charset = "utf-8"
	}
	if bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF")) {
		return "", 0, unreadable("UTF-16")
	}
	src = string(data)
	declared, after, err := readDeclaration(src)
	if err != nil {
		return "", 0, err
	}
	if charset == "" {
		charset = declared
	}
	switch strings.ToLower(charset) {
	case "", "utf-8", "utf8":
	case "us-ascii", "ascii":
		if i := strings.IndexFunc(src, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
			return "", 0, fault.New(fault.BadRequest, "byte %d is not of the declared encoding, US-ASCII", i)
		}
	default:
		return "", 0, unreadable(charset)
	}
	if !utf8.ValidString(src) {
		return "", 0, fault.New(fault.BadRequest, "the envelope is not valid UTF-8")
	}
	if strings.Contains(src, "\uFFFE") || strings.Contains(src, "\uFFFF") {
		return "", 0, fault.New(fault.BadRequest, "U+FFFE and U+FFFF are not allowed in XML")
	}
	return src, after, nil
}

// readDeclaration reads `<?xml version="1.0" encoding="…" standalone="…"?>`.
func readDeclaration(src string) (encoding string, after int, err error) {
	const begin = "<?xml"
	if !strings.HasPrefix(src, begin) || len(src) == len(begin) || class[src[len(begin)]]&white == 0 {
		return "", 0, nil
	}
	end := strings.Index(src[:min(len(src), 256)], "?>")
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

func unreadable(encoding string) error {
	return fault.New(fault.BadRequest, "the encoding %.40q is not read here: send UTF-8", encoding)
}
