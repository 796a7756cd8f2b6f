package resource

import "sort"

// RecentOf returns the changes of one type with after < Seq <= upto from the
// ring, oldest first, at most limit, and the position up to which they are all
// there are: upto or, when there may be more, the last of them. The error is
// ErrBehind when the ring does not reach back to after.
func (f *Feed) RecentOf(typ string, after, upto uint64, limit int) (events []Event, reached uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &f.ring
	if after < r.floor {
		return nil, after, ErrBehind
	}
	from := sort.Search(r.count, func(i int) bool { return r.at(i).Seq > after })
	for i := from; i < r.count && r.at(i).Seq <= upto; i++ {
		if r.at(i).Type != typ {
			continue
		}
		events = append(events, *r.at(i))
		if len(events) == limit {
			return events, r.at(i).Seq, nil
		}
	}
	return events, upto, nil
}
