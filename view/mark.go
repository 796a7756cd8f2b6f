package view

import (
	"encoding/json"
	"time"
)

// Mark is a message of the log by which it is recognized: a log that lost its
// end, and has grown since, holds another message at the sequence.
type Mark struct {
	Seq  uint64
	Time time.Time // when the log stored it
}

// marks are some of the messages that the view was given, the newest first and
// then ever fewer: marks[k] is the first of a run of 4^k sequences. The log may
// have trimmed the newest of a record, but seldom all of these.
type marks [8]Mark

// add takes note of the change, whose message is newer than all before.
func (m *marks) add(c *Change) {
	if c.Time.IsZero() {
		return
	}
	for k := range m {
		if k == 0 || m[k].Time.IsZero() || c.Seq>>(2*k) != m[k].Seq>>(2*k) {
			m[k] = Mark{c.Seq, c.Time}
		}
	}
}

// list returns each mark once.
func (m *marks) list() (list []Mark) {
	for k := range m {
		if !m[k].Time.IsZero() && (k == 0 || m[k].Seq != m[k-1].Seq) {
			list = append(list, m[k])
		}
	}
	return list
}

func (m *marks) encode() string {
	pairs := make([][2]int64, len(m))
	for k := range m {
		if !m[k].Time.IsZero() {
			pairs[k] = [2]int64{int64(m[k].Seq), m[k].Time.UnixNano()}
		}
	}
	text, _ := json.Marshal(pairs) // numbers always encode
	return string(text)
}

func (m *marks) decode(text string) error {
	var pairs [][2]int64
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return err
	}
	*m = marks{}
	for k, p := range pairs[:min(len(pairs), len(m))] {
		if p[0] > 0 {
			m[k] = Mark{uint64(p[0]), time.Unix(0, p[1])}
		}
	}
	return nil
}

// Marks returns messages of the log that the view was given, those that the log
// may still hold, the newest first; none when nothing was applied.
func (v *View) Marks() []Mark {
	v.apply.Lock()
	defer v.apply.Unlock()
	return v.marks.list()
}
