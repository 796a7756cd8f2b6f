package console

import (
	"encoding/json"
	"runtime"
	"time"
	"weak"

	"tidings/internal/proc"
)

// What tests look at.

func Sent(variables string) string      { return sent(json.RawMessage(variables)) }
func Clip(text string, most int) string { return clip(text, most) }
func DecodeLook(data []byte) error      { _, err := decodeLook(data); return err }
func DecodeReport(data []byte) error    { _, err := decodeReport(data); return err }
func DecodeOrder(data []byte) error     { _, err := decodeOrder(data); return err }
func MedianOf(upto []float64, n []uint64) *float64 {
	buckets := make([]proc.Bucket, len(upto))
	for i := range upto {
		buckets[i].Upto, buckets[i].Count = upto[i], n[i]
	}
	if l := latencyOf(buckets); l != nil {
		return &l.Median
	}
	return nil
}

// Hear takes in a report as if another process had published it, and composes what
// there is to see.
func (c *Console) Hear(data []byte) {
	if r, err := decodeReport(data); err == nil {
		c.nth = r.Nth
		c.take(r)
		c.compose(r.Nth, []change{})
	}
}

// Newest is the newest overview; nil: there is none.
func (c *Console) Newest() []byte {
	list, _ := c.nextOverviews(time.Time{})
	if len(list) == 0 {
		return nil
	}
	return list[0].json
}

// Remembers tells whether the lists of operations of the last report of a process
// are still kept.
func (c *Console) Remembers(process string) func() bool {
	answer := weak.Make(&c.reports[process].report.Answers[0])
	return func() bool {
		runtime.GC()
		defer runtime.KeepAlive(c)
		return answer.Value() != nil
	}
}
