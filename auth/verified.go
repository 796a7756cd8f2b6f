package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// maxVerified bounds how many tokens are remembered; each takes some 200 bytes.
	maxVerified = 20_000
	// maxVerifiedToken bounds in bytes what is remembered of each.
	maxVerifiedToken = 4 << 10
	// verifiedFor is how long a token is taken for good without being verified
	// again: so soon the withdrawal of a key counts.
	verifiedFor = time.Minute
)

// verified remembers tokens that were found good, by their SHA-256, so that a
// caller of many requests is verified once a minute. It keeps two generations:
// when the younger is full the older is forgotten, and who is in use moves up.
// Safe for concurrent use. Whether a token was revoked is asked each time.
type verified struct {
	now            func() time.Time
	mu             sync.Mutex
	younger, older map[tokenSum]goodToken
}

type tokenSum [sha256.Size]byte

type goodToken struct {
	who   Principal
	until time.Time
}

func newVerified(now func() time.Time) *verified {
	if now == nil {
		now = time.Now
	}
	return &verified{now: now, younger: map[tokenSum]goodToken{}}
}

// get returns who bears the token, if it was found good a while ago.
func (v *verified) get(sum tokenSum) (Principal, bool) {
	now := v.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	good, ok := v.younger[sum]
	if !ok {
		if good, ok = v.older[sum]; !ok {
			return Principal{}, false
		}
		delete(v.older, sum)
		v.add(sum, good)
	}
	// Two clocks: the minute is told by one that nobody sets, the token's end by
	// the time of day.
	if !now.Before(good.until) || !now.Before(good.who.Expires) {
		delete(v.younger, sum)
		return Principal{}, false
	}
	return good.who, true
}

// put remembers a token that is good now, for a minute or until it expires.
func (v *verified) put(sum tokenSum, who Principal) {
	until := v.now().Add(verifiedFor)
	if who.Expires.Before(until) {
		until = who.Expires
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(sum, goodToken{who, until})
}

func (v *verified) add(sum tokenSum, good goodToken) {
	if len(v.younger) >= maxVerified/2 {
		v.younger, v.older = map[tokenSum]goodToken{}, v.younger
	}
	v.younger[sum] = good
}
