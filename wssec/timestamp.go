package wssec

import (
	"time"

	"tidings/xmltree"
)

// The window in which a Timestamp counts.
const (
	window = 5 * time.Minute // from when a signed message was made
	skew   = time.Minute     // by which clocks may differ
)

// CheckTime refuses a Timestamp that has expired, that was made in the future, or
// that is malformed. It may be empty. The error is an *Error.
func CheckTime(stamp xmltree.Elem, now time.Time) error {
	_, err := checkTime(stamp, now)
	return err
}

// checkTime reads a Timestamp and refuses one that has expired, or that was made
// in the future. It returns when it was made, zero when it does not say.
func checkTime(stamp xmltree.Elem, now time.Time) (created time.Time, err error) {
	var expires time.Time
	for e := range stamp.Children() {
		at := &expires
		switch {
		case e.Is(UtilityNS, "Created") && created.IsZero():
			at = &created
		case e.Is(UtilityNS, "Expires") && expires.IsZero():
		default:
			return created, refuse(InvalidSecurity, "the Timestamp is malformed at %.100s", e.Name().Local)
		}
		if *at, err = xmltree.ParseDateTime(xmltree.Trim(e.Text())); err != nil || e.HasElements() {
			return created, &Error{InvalidSecurity, "the Timestamp is malformed", err}
		}
	}
	switch {
	case !expires.IsZero() && now.After(expires.Add(skew)):
		return created, refuse(MessageExpired, "it has expired at %s", expires.UTC().Format(time.RFC3339))
	case created.After(now.Add(skew)):
		return created, refuse(MessageExpired, "it was made in the future, at %s", created.UTC().Format(time.RFC3339))
	}
	return created, nil
}

// checkSignedTime is checkTime for a signed message, which must say when it was
// made, and is too old some minutes later. until is when it will be.
func checkSignedTime(stamp xmltree.Elem, now time.Time) (until time.Time, err error) {
	created, err := checkTime(stamp, now)
	switch {
	case err != nil:
		return until, err
	case created.IsZero():
		return until, refuse(InvalidSecurity, "the Timestamp does not say when the message was made")
	}
	until = created.Add(window + skew)
	if now.After(until) {
		return until, refuse(MessageExpired, "it was made at %s", created.UTC().Format(time.RFC3339))
	}
	return until, nil
}
