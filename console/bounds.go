package console

import (
	"maps"
	"math"
	"slices"
	"time"

	"tidings/internal/proc"
)

// What another process says is counted with: sums and quotients of it must be
// numbers that the contract can tell. A report that goes beyond is refused whole.

const (
	// maxNumber bounds every number of a report: no count of bytes or messages comes
	// near, and sums of it over all processes are exact enough to be drawn.
	maxNumber = 1e18
	// maxObserved bounds the count of a bucket, maxBuckets how many there are, and
	// maxOpen the circuit breakers.
	maxObserved = 1e15
	maxBuckets  = 100
	maxOpen     = 100
	// minElapsed is the shortest time that a rate is over.
	minElapsed = time.Millisecond
)

// bounded reports whether all numbers and times of a report are such as a process
// tells. Numbers that are not known, as of a newer version, are taken out.
func (r *report) bounded() bool {
	return areNumbers(r.Numbers, numbers) && areNumbers(r.Log, logNumbers) && isTime(r.At) && isTime(r.Started) &&
		len(r.Open) <= maxOpen && areBuckets(r.Late) &&
		!slices.ContainsFunc(r.Groups, func(g group) bool { return !isCount(g.Members) || !isCount(g.Processes) }) &&
		!slices.ContainsFunc(r.Answers, func(l list) bool { return !l.bounded() })
}

// areNumbers leaves those that are known, and reports whether they are within the
// bounds: what has no limit is told as -1.
func areNumbers(told map[string]float64, known []number) bool {
	maps.DeleteFunc(told, func(name string, _ float64) bool {
		return !slices.ContainsFunc(known, func(k number) bool { return k.name == name })
	})
	for _, n := range told {
		if math.Abs(n) > maxNumber {
			return false
		}
	}
	return true
}

// areBuckets reports whether bounds and counts grow.
func areBuckets(list []proc.Bucket) bool {
	var last proc.Bucket
	for _, b := range list {
		if b.Upto < last.Upto || b.Count < last.Count || b.Count > maxObserved {
			return false
		}
		last = b
	}
	return len(list) <= maxBuckets
}

func (l list) bounded() bool {
	return isCount(l.Total) && !slices.ContainsFunc(l.Nodes, func(o operation) bool {
		return !isCount(o.Queue) || !isTime(o.Begun) || o.Expires != nil && !isTime(*o.Expires)
	})
}

// isCount reports whether a number is one that Int of the contract can tell.
func isCount(n int) bool { return n >= 0 && n <= math.MaxInt32 }

// isTime reports whether a time can be told in any zone; the zero one is none.
func isTime(t time.Time) bool { return t.IsZero() || t.Year() > 0 && t.Year() < 9999 }

// plus adds two counts up, as far as Int of the contract goes.
func plus(a, b int) int { return min(a+b, math.MaxInt32) }
