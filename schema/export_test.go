package schema

// ParseSubject is parseSubject without what is wrong.
func ParseSubject(text string, wildcards bool) (Subject, bool) {
	s, wrong := parseSubject(text, wildcards)
	return s, wrong == nil
}
