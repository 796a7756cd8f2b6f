package xmltree

// binding is a namespace declaration in scope.
type binding struct {
	key uint64 // of the prefix
	id  spaceID
}

// keySize is how many bytes of a prefix are in its key.
const keySize = 8

// key is made of the first bytes of the prefix at a place. Equal ones of less than
// keySize bytes have one key and no others have it: no prefix holds a NUL.
func (s *scanner) key(at, n int) uint64 {
	first := word(s.src[at : at+keySize])
	if n < keySize {
		first <<= 8 * (keySize - n)
	}
	return first
}

// prefixSize is how many bytes of a name are its prefix, of which so many stand before the
// local part.
func prefixSize(before uint8) int { return int(before) - int(min(before, 1)) }

// resolve finds the namespace of a name at a place, of which so many bytes stand
// before the local part. at is where to refuse it.
func (s *scanner) resolve(at, name int, before uint8) (spaceID, error) {
	n := prefixSize(before)
	key := s.key(name, n)
	for i := len(s.scope) - 1; i >= 0; i-- {
		if b := &s.scope[i]; b.key == key && (n < keySize || s.prefix(b.id) == s.src[name:name+n]) {
			return b.id, nil
		}
	}
	switch prefix := s.src[name : name+n]; prefix {
	case "":
		return noSpace, nil
	case "xml":
		return xmlSpace, nil
	default:
		return 0, refuse(at, "the prefix %s is not declared", prefix)
	}
}

// prefix is what a declaration binds.
func (s *scanner) prefix(id spaceID) string {
	d := &s.declarations[id-1]
	return s.src[d.at : d.at+uint32(d.prefix)]
}

// declare binds the prefix between two places in the source.
func (s *scanner) declare(at, outer, from, end int, value ends) error {
	prefix, uri := s.src[from:end], s.value(value)
	switch {
	case prefix == "xml" && uri == xmlNS:
		return nil
	case prefix == "xml" || prefix == "xmlns" || uri == xmlNS || uri == xmlnsNS:
		return refuse(at, "the prefixes xml and xmlns cannot be bound")
	case prefix != "" && uri == "":
		return refuse(at, "the prefix %s is bound to no namespace", prefix)
	case len(uri) > maxNamespace:
		return refuse(at, "the URI of a namespace is longer than %d bytes", maxNamespace)
	case len(s.scope) == maxScope:
		return refuse(at, "there are more than %d namespace declarations in scope", maxScope)
	}
	key := s.key(from, len(prefix))
	for _, b := range s.scope[outer:] {
		if b.key == key && s.prefix(b.id) == prefix {
			return refuse(at, "an element declares the prefix %q twice", prefix)
		}
	}
	s.declarations = append(s.declarations, declaration{element: uint32(len(s.nodes) - 1), at: uint32(from), from: value.from, to: value.to, prefix: uint8(len(prefix))})
	s.scope = append(s.scope, binding{key, spaceID(len(s.declarations))})
	return nil
}
