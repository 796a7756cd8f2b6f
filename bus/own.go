package bus

import "strings"

// Own reports whether a subject belongs to the service or to the server, so that
// nobody else's fields may name it: it is below the prefix or the inbox, or begins
// with $ or _ as all do that NATS keeps for itself ($JS, $KV, $SYS, _INBOX, _R_).
// Of a filter with wildcards it reports whether one of its subjects does.
func (s Subjects) Own(subject string) bool {
	first, _, _ := strings.Cut(subject, ".")
	switch {
	case first == s.Prefix, first == "*", first == ">", strings.HasPrefix(first, "$"), strings.HasPrefix(first, "_"):
		return true
	}
	return s.Inbox != "" && meet(subject, s.Inbox+".>")
}

// OwnStream reports whether a stream is the service's: the log, a queue, a bucket
// or a store of objects, of this version or of a later one.
func (s Subjects) OwnStream(name string) bool {
	for _, kind := range [...]string{"", "KV_", "OBJ_"} {
		if strings.HasPrefix(name, kind+s.Prefix+"-") {
			return true
		}
	}
	return false
}

// meet reports whether there is a subject that both filters match.
func meet(a, b string) bool {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		switch {
		case x == ">" || y == ">":
			return true
		case x != y && x != "*" && y != "*":
			return false
		case !moreA || !moreB:
			return moreA == moreB
		}
		a, b = restA, restB
	}
}
