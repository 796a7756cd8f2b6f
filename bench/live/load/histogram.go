package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are at most 3 % wide.
type histogram struct {
	counts [64 * 32]uint64
	total  uint64
}

func bucket(d time.Duration) int {
	us := uint64(max(d, 0)) / 1000
	if us < 32 {
		return int(us)
	}
	exp := bits.Len64(us) - 6
	return (exp+1)*32 + int(us>>exp) - 32
}

func (h *histogram) add(d time.Duration, n uint64) {
	h.counts[bucket(d)] += n
	h.total += n
}

// quantile returns the lower edge of the bucket that holds the q-th value.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.total))
	for i, n := range h.counts {
		if rank < n {
			if i < 32 {
				return time.Duration(i) * time.Microsecond
			}
			exp := i/32 - 1
			return time.Duration(uint64(i%32+32)<<exp) * time.Microsecond
		}
		rank -= n
	}
	return 0
}
