package bus_test

import (
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestTheClockOfTheServerIsToldWithItsError(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{})
	skew, within, err := b.Clock(t.Context())
	if err != nil || skew.Abs() > within+time.Millisecond { // it is the same clock
		t.Errorf("%s, within %s, %v", skew, within, err)
	}
}

// Who comes to look creates nothing.
func TestAnExistingBusGetsNoBucket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := bustest.Open(t, bus.Options{Dir: dir})
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = bustest.Open(t, bus.Options{Dir: dir, Existing: true})
	if _, err := b.Bucket(t.Context(), bus.BucketOptions{Name: "new"}); err == nil {
		t.Error("a bucket was made")
	}
}
