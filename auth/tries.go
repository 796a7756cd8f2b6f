package auth

import (
	"runtime"
	"sync"

	"tidings/fault"
)

// Tries says whether somebody may try a password, and is told of one that was
// wrong: quota.Tries. The passwords of different callers are tried side by side.
type Tries interface {
	// Allow returns the error of one who has been wrong too often, with the
	// fault RateLimited.
	Allow() error
	// Wrong counts a password that was wrong.
	Wrong()
}

// maxTrials is how many different passwords are looked at or wait for it at a
// time. bcrypt takes some 50 ms of a core, and who waits holds up others.
const maxTrials = 16

// trials are the passwords that are being looked at. bcrypt is slow by design
// and runs for callers whom nobody knows yet: it gets half of the cores, and
// a password that comes many times at once is looked at once.
type trials struct {
	slots chan struct{}

	mu      sync.Mutex
	running map[string]*trial // by digest
}

type trial struct {
	done  chan struct{}
	right bool
	err   error
}

func newTrials() *trials {
	return &trials{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), running: map[string]*trial{}}
}

// run returns whether look finds the password with the digest right. It waits
// for its turn, which comes soon, since few may wait.
func (t *trials) run(digest []byte, tries Tries, look func() bool) (bool, error) {
	t.mu.Lock()
	if other := t.running[string(digest)]; other != nil {
		t.mu.Unlock()
		<-other.done
		return other.right, other.err
	}
	if len(t.running) >= maxTrials {
		t.mu.Unlock()
		busy := fault.New(fault.RateLimited, "too many passwords are being checked; try again in a moment")
		busy.RetryAfter = 1
		return false, busy
	}
	own := &trial{done: make(chan struct{})}
	t.running[string(digest)] = own
	t.mu.Unlock()
	t.slots <- struct{}{}
	defer func() {
		<-t.slots
		t.mu.Lock()
		delete(t.running, string(digest))
		t.mu.Unlock()
		close(own.done)
	}()
	if own.err = tries.Allow(); own.err != nil { // others were wrong meanwhile
		return false, own.err
	}
	if own.right = look(); !own.right {
		tries.Wrong()
	}
	return own.right, nil
}

// anybody may try as often as they like.
type anybody struct{}

func (anybody) Allow() error { return nil }
func (anybody) Wrong()       {}
