package bus

// touched is what the members of a batch, and those that wait before the next
// one, have to do with. The stream decides the messages of a batch in their
// order, and refuses an expectation of a subject that the batch has written to
// before. Messages that expect nothing of their own subject may share it.
type touched struct {
	written map[string]bool
	watched map[string]uint64 // what is expected of each
}

// allows reports whether the entries can stand after what is there.
func (t touched) allows(entries []Entry) bool {
	for i := range entries {
		e := &entries[i]
		expected, watched := t.watched[e.watched()]
		if t.written[e.watched()] || watched && expected != e.After {
			return false
		}
	}
	return true
}

// add notes the entries. What those that wait expect is nobody's to write to:
// a later one would overtake them.
func (t touched) add(entries []Entry, waiting bool) {
	for i := range entries {
		e := &entries[i]
		t.written[e.Subject] = true
		t.watched[e.watched()] = e.After
		if waiting {
			t.written[e.watched()] = true
		}
	}
}
