package soap

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"tidings/bus"
	"tidings/fault"
)

// Replays remembers which messages have come, for all workers together: who has
// overheard one cannot send it again. It is a bucket of the bus with a key for
// each message. It is safe for concurrent use. A nil *Replays can tell nothing.
type Replays struct{ bucket *bus.Bucket }

const (
	replayBucket = "soap-seen"
	// remembered is how long a message is remembered: twice as long as it is good,
	// since the clocks of workers may differ too.
	remembered = 2 * (window + clockSkew)
)

// OpenReplays opens the bucket, and creates it when it is absent, with room for
// maxBytes: a message takes some 200. When it is full messages that must not
// come twice are refused with UNAVAILABLE. It is an error when the bucket that
// is there forgets earlier than messages are safe. p bears it that nobody leads the
// bucket for a moment; nil does not.
func OpenReplays(ctx context.Context, b *bus.Bus, maxBytes int64, p *bus.Patience) (*Replays, error) {
	k, err := b.Bucket(ctx, bus.BucketOptions{
		Name: replayBucket, Description: "Messages of SOAP callers that must not come twice, by their SHA-256.",
		MaxAge: remembered, MaxBytes: maxBytes, Patience: p,
	})
	if err != nil {
		return nil, err
	}
	if age, forgets := k.Keeps(); forgets || age > 0 && age < remembered {
		return nil, fmt.Errorf("the bucket %s forgets messages while they could still be repeated: let it keep them for %s and refuse new ones when it is full, or delete it, so that it is created anew", b.Subjects().Bucket(replayBucket), remembered)
	}
	return &Replays{bucket: k}, nil
}

// errReplayed: the message has come before.
var errReplayed = errors.New("the message has come before")

// first returns nil when no worker was asked for these parts lately, and
// errReplayed when one was. Any other error is a fault that lies with us, and
// nothing is known: the message must not be taken. kind tells apart what could
// otherwise have equal parts.
func (p *Replays) first(ctx context.Context, kind string, parts ...string) error {
	if p == nil {
		return fault.New(fault.Unavailable, "messages that must not come twice are not taken here")
	}
	h := sha256.New()
	for _, part := range append([]string{kind}, parts...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	key := base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	_, err := p.bucket.Put(ctx, key, nil, 0)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bus.ErrConflict) && cameAgain(ctx): // by the same caller, whose answer was lost
		return nil
	case errors.Is(err, bus.ErrConflict):
		return errReplayed
	}
	return fault.Wrap(err, fault.Unavailable, "it cannot be told now whether the message came before; send another one later")
}

// patience is how long it may take to look whether a message has come before.
const patience = 5 * time.Second
