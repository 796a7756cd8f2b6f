package soap

import (
	"context"
	"runtime"
	"time"

	"tidings/fault"
	"tidings/wssec"
)

// Whoever can reach the service can have it use its private keys, several times a
// message and a millisecond of a core each, before it is known who asks. So few
// messages are decrypted at a time, few more wait, and those whose messages turn
// out to be nobody's may send only so many, as with wrong passwords.

const (
	// patienceToDecipher is how long a message waits for its turn.
	patienceToDecipher = time.Second
	// waitingToDecipher is how many wait for each that is decrypted.
	waitingToDecipher = 8
)

// deciphering are the places of messages that are being decrypted.
type deciphering struct{ places, waiting chan struct{} }

// newDeciphering leaves a core for other things where there are several.
func newDeciphering() *deciphering {
	n := max(1, runtime.GOMAXPROCS(0)-1)
	return &deciphering{places: make(chan struct{}, n), waiting: make(chan struct{}, n*waitingToDecipher)}
}

// errDeciphering: the message may be sent again later.
var errDeciphering = fault.New(fault.Unavailable, "too many encrypted messages are being decrypted; nothing was done, send it again")

// enter returns when there is a place, and what gives it back; or
// fault.Unavailable, at once when too many others wait.
func (d *deciphering) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-d.places }
	select {
	case d.places <- struct{}{}:
		return leave, nil
	default:
	}
	select {
	case d.waiting <- struct{}{}:
		defer func() { <-d.waiting }()
	default:
		return nil, errDeciphering
	}
	timer := time.NewTimer(patienceToDecipher)
	defer timer.Stop()
	select {
	case d.places <- struct{}{}:
		return leave, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, errDeciphering
}

// suspect is a message that made the service use its keys, until it is known whose
// it is.
func (s *Service) suspect(ctx context.Context, r *request) error {
	if err := s.options.Quota.Tries(ctx, "").Allow(); err != nil {
		return err
	}
	r.secrecy.suspect = true
	return nil
}

// settle counts a message that failed before it was known whose it is. One for a key
// that is not here cost nothing.
func (s *Service) settle(ctx context.Context, r *request, f *failure) {
	if r.secrecy.suspect && f != nil && !f.ours() && f.wire != wire(wssec.TokenUnavailable) {
		s.options.Quota.Tries(ctx, "").Wrong()
	}
}
