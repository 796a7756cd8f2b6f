package resource

import (
	"tidings/auth"
	"tidings/schema"
	"tidings/view"
)

// Sight is what somebody sees of the changes of one resource: the records that
// may be read and, with a filter, that match. It is immutable and safe for
// concurrent use.
type Sight struct {
	resource *schema.Resource
	who      auth.Principal
	everyone bool          // may read, whoever owns a record
	matcher  *view.Matcher // nil: every record matches
}

// NewSight returns what the caller sees of r; a nil filter leaves out nothing
// that the caller may read. The faults are those of a list with the filter.
func NewSight(r *schema.Resource, who auth.Principal, filter *view.Filter) (*Sight, error) {
	s := &Sight{resource: r, who: who, everyone: who.May(r.Auth[schema.Read], "")}
	if filter == nil {
		return s, nil
	}
	var err error
	s.matcher, err = view.NewMatcher(r, filter)
	return s, err
}

// See returns the event as whoever has the sight sees it; false when it is not
// seen at all. An update is UPDATED when the record was seen before and is now,
// ENTERED when it was not, LEFT when it is not any more. Then Raw is nil if the
// caller may no longer read the record. Of a record that was never seen nothing
// is told.
//
// Before must be there where Needs says so.
func (s *Sight) See(e Event) (Event, bool) {
	switch e.Kind {
	case Created:
		return e, s.sees(e.Raw)
	case Deleted:
		return e, s.mayRead(e.Raw) && (s.matcher == nil || s.sees(e.Before))
	}
	now := s.sees(e.Raw)
	if !s.Needs(e) {
		return e, now
	}
	before := s.sees(e.Before)
	switch {
	case now && !before:
		e.Kind = Entered
	case before && !now:
		e.Kind = Left
		if !s.mayRead(e.Raw) {
			e.Raw = nil
		}
	}
	return e, now || before
}

// Needs reports whether the record before the event decides what is seen.
func (s *Sight) Needs(e Event) bool {
	switch e.Kind {
	case Created:
		return false
	case Deleted:
		return s.matcher != nil // the stub says who may know
	}
	owner := s.resource.Owner
	return s.matcher != nil || !s.everyone && owner != nil && owner.Name != "id"
}

// Sees reports whether a record is seen; nil is none.
func (s *Sight) sees(raw []byte) bool {
	return raw != nil && s.mayRead(raw) && (s.matcher == nil || s.matcher.Match(raw))
}

func (s *Sight) mayRead(raw []byte) bool {
	return s.everyone || s.who.May(s.resource.Auth[schema.Read], Owner(s.resource, raw))
}

// Keys returns a field and the values of it of which every record has one that
// is seen: an index over them finds who sees a record. No field: there is none
// such.
func (s *Sight) Keys() (f *schema.Field, keys []view.Key) {
	if s.matcher != nil {
		if f, keys = s.matcher.Keys(); f != nil {
			return f, keys
		}
	}
	if s.everyone || s.resource.Owner == nil {
		return nil, nil
	}
	own, err := view.NewMatcher(s.resource, &view.Filter{Field: s.resource.Owner, Op: "eq", Value: s.who.Subject})
	if err != nil {
		return nil, nil
	}
	return own.Keys()
}
