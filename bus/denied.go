package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

// ErrDenied says that the server does not let this process publish or subscribe
// where it must: its credentials lack a permission. docs/bus.md lists what each
// role needs.
var ErrDenied = errors.New("the credentials of this process lack a permission of the NATS server")

// A server tells a refusal apart from the request that it refuses: nobody
// answers that. denials join the two again, so that nobody waits for the end of
// his time. The zero value is ready.
type denials struct {
	mu      sync.Mutex
	waiting map[*waiting]struct{}
	told    map[string]time.Time // subjects, and when the log named them last
}

type waiting struct {
	about  func(subject string) bool
	cancel context.CancelCauseFunc
}

// watch returns a context that ends with the refusal of a subject that the
// caller asks about, as its cause, and what ends the watch.
func (d *denials) watch(ctx context.Context, about func(subject string) bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &waiting{about, cancel}
	d.mu.Lock()
	if d.waiting == nil {
		d.waiting = map[*waiting]struct{}{}
	}
	d.waiting[w] = struct{}{}
	d.mu.Unlock()
	return ctx, func() {
		d.mu.Lock()
		delete(d.waiting, w)
		d.mu.Unlock()
		cancel(nil)
	}
}

// maxTold bounds the subjects that are remembered because the log named them.
const maxTold = 1000

// tell hands a refusal to those who wait for an answer, and to the log.
func (d *denials) tell(l *link, err error) {
	action, subject := refusedSubject(err)
	denial := denied(action, subject)
	d.mu.Lock()
	for w := range d.waiting {
		if w.about(subject) || l.bus.deaf(action, subject) {
			w.cancel(denial)
		}
	}
	key, now := action+" "+subject, time.Now()
	silent := now.Sub(d.told[key]) < complainEvery
	if !silent {
		if d.told == nil || len(d.told) >= maxTold {
			d.told = map[string]time.Time{}
		}
		d.told[key] = now
	}
	d.mu.Unlock()
	if !silent {
		l.bus.log.LogAttrs(context.Background(), slog.LevelError, "the bus denies a subject", slog.String("link", l.name), slog.String("action", action), slog.String("subject", subject),
			slog.String("remedy", "give the credentials of this process the permission: docs/bus.md, What each role may do"))
	}
}

func denied(action, subject string) error {
	return fault.Wrap(fmt.Errorf("%w: to %s %q", ErrDenied, action, subject), fault.Unavailable, "the bus does not permit this service to do that")
}

var quoted = regexp.MustCompile(`(?i)permissions violation for (publish|subscription)[^"]* to "([^"]*)"`)

// refusedSubject reads the server's words.
func refusedSubject(err error) (action, subject string) {
	m := quoted.FindStringSubmatch(err.Error())
	if m == nil {
		return "use", err.Error()
	}
	action = "publish on"
	if strings.EqualFold(m[1], "subscription") {
		action = "subscribe to"
	}
	return action, m[2]
}

// held returns the refusal if the server has refused a subscription of this
// subject: without it, it can be relied on. Call it after a flush.
func (b *Bus) held(subject string) error {
	const action = "subscribe to"
	if b.denials.knows(action + " " + subject) {
		return denied(action, subject)
	}
	if err := b.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) { // which comes before it is told
		if was, refused := refusedSubject(err); was == action && refused == subject {
			return denied(action, subject)
		}
	}
	return nil
}

// deaf reports whether a refusal is that of the subject on which all answers come:
// credentials of another role were given, as a rule.
func (b *Bus) deaf(action, subject string) bool {
	return action == "subscribe to" && b.opts.Inbox != "" && strings.HasPrefix(subject, b.opts.Inbox+".")
}

// knows reports whether something was refused a moment ago.
func (d *denials) knows(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.told[what]) < patience
}

// exchange sends a request and waits for the answer, or for the server's refusal.
func (b *Bus) exchange(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	if b.server != nil { // which denies its own process nothing
		return b.nc.RequestMsgWithContext(ctx, m)
	}
	watched, done := b.denials.watch(ctx, func(subject string) bool { return subject == m.Subject })
	defer done()
	resp, err := b.nc.RequestMsgWithContext(watched, m)
	return resp, b.denials.cause(ctx, watched, err)
}

// exchangeOn is exchange without headers.
func (b *Bus) exchangeOn(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	return b.exchange(ctx, &nats.Msg{Subject: subject, Data: data})
}

// about lets calls of the API of JetStream end with a refusal that concerns one
// of the streams; said turns their error into it.
func (b *Bus) about(ctx context.Context, stream string) (watched context.Context, said func(error) error, done func()) {
	watched, done = b.denials.watch(ctx, func(subject string) bool { return strings.Contains(subject+".", "."+stream+".") })
	return watched, func(err error) error { return b.denials.cause(ctx, watched, err) }, done
}

// cause returns the refusal that ended watched, and otherwise err.
func (d *denials) cause(ctx, watched context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if refusal := context.Cause(watched); errors.Is(refusal, ErrDenied) {
		return refusal
	}
	return err
}
