package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tidings/bus"
	"tidings/client"
)

// A clock that is further off than this makes tokens end at the wrong time, and
// digests of SOAP be refused.
const (
	skewWarning = 2 * time.Second
	skewFailure = time.Minute
)

// bus looks at the bus, and at what the service keeps there.
func (x *examination) bus(ctx context.Context) {
	c := x.config
	if c.NATSURL == "" {
		if _, err := os.Stat(filepath.Join(c.Data, "log")); errors.Is(err, fs.ErrNotExist) {
			x.add("bus", stateSkipped, "", "%s has no log yet: the first start makes it", c.Data)
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	log := discard()
	may := x.rights(ctx)
	if len(may) == 0 {
		return
	}
	role := may[len(may)-1]
	b, err := c.OpenLogAs(ctx, role, log)
	if err != nil {
		x.unopened(err)
		return
	}
	defer func() { _ = b.Close(context.WithoutCancel(ctx)) }() // nothing was written
	x.servers(ctx, b)
	x.usage(ctx, b)
	for _, err := range c.Missing(ctx, role, b, log) {
		x.fail("streams", err, "tidings bus setup, with the credentials of the admin role")
	}
	for _, k := range b.Kept() {
		state, remedy := stateOK, ""
		if k.Replicas < c.Replicas {
			state, remedy = stateWarning, "tidings bus setup --edit --replicas "+fmt.Sprint(c.Replicas)
		}
		x.add("streams", state, remedy, "%s: copies %d, %s", k.Stream, k.Replicas, k.Storage)
	}
	if skew, within, err := b.Clock(ctx); err == nil {
		x.clock("the bus", skew, within)
	}
	x.processes(ctx, b, may)
}

// unopened says why the log could not be looked at.
func (x *examination) unopened(err error) {
	switch {
	case x.config.NATSURL == "" && errors.Is(err, bus.ErrInUse):
		x.add("bus", stateOK, "", "the log in %s is open: a service runs with it", x.config.Data)
	case errors.Is(err, bus.ErrAbsent):
		x.fail("bus", err, "start the NATS servers, and see that they can be reached from here")
	case errors.Is(err, bus.ErrNoLog):
		x.fail("streams", err, "tidings bus setup, with the credentials of the admin role")
	case errors.Is(err, bus.ErrDenied):
		x.fail("bus", err, "come with credentials that may do it: docs/nats.md")
	default:
		x.fail("bus", err, "docs/nats.md")
	}
}

// servers looks at the servers and the copies.
func (x *examination) servers(ctx context.Context, b *bus.Bus) {
	s, err := b.Survey(ctx)
	if err != nil {
		x.fail("bus", err, "docs/nats.md")
		return
	}
	x.add("bus", stateOK, "", "JetStream answers: version %s, servers %d", s.Version, s.Servers)
	if s.Servers >= 3 && s.Replicas < 3 {
		x.add("bus", stateWarning, "tidings bus setup --edit --replicas 3", "the log has %d copy on %d servers: it is lost with its server", s.Replicas, s.Servers)
	}
	if !x.config.Dev && x.config.NATSURL != "" && s.Servers < 3 {
		x.add("bus", stateWarning, "three servers and --replicas 3: docs/operations.md, A cluster of NATS servers", "one server keeps the log: a lost disk loses it, and an update stops the service")
	}
}

// usage looks how full the log is, and whether all copies are whole.
func (x *examination) usage(ctx context.Context, b *bus.Bus) {
	u, err := b.Usage(ctx)
	if err != nil {
		x.fail("log", err, "docs/nats.md")
		return
	}
	state, remedy := stateOK, ""
	full := func(used, most int64) bool { return most > 0 && used > most/10*8 }
	switch {
	case u.Replicas > 1 && u.Current < u.Replicas:
		state, remedy = stateWarning, "see that all servers run; a copy that was away catches up by itself"
	case full(u.Bytes, u.MaxBytes) || full(u.Messages, u.MaxMessages) || full(u.Stored, u.MaxStored):
		state, remedy = stateWarning, "raise the bound before it is full and refuses changes: docs/runbook.md"
	}
	x.add("log", state, remedy, "messages %d, bytes %d, copies %d of %d", u.Messages, u.Bytes, max(1, u.Current), max(1, u.Replicas))
}

// clock judges how far a clock is from this one.
func (x *examination) clock(whose string, skew, within time.Duration) {
	state, remedy := stateOK, ""
	switch off := max(0, skew.Abs()-within); {
	case off > skewFailure:
		state = stateFailure
	case off > skewWarning:
		state = stateWarning
	}
	if state != stateOK {
		remedy = "have both machines take their time from NTP: tokens, digests and times of records go by it"
	}
	x.add("clocks", state, remedy, "%s is %s off, within %s", whose, skew.Round(time.Millisecond), within.Round(time.Millisecond))
}

// service looks at a service that runs somewhere.
func (x *examination) service(ctx context.Context) {
	if x.url == "" {
		x.add("service", stateSkipped, "", "none is named by --url")
		return
	}
	r := remote{url: x.url}
	s, err := r.service(x.environ)
	if err != nil {
		x.fail("service", err, "")
		return
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	answer, err := s.Do(ctx, client.Operation{Query: "{ __typename }"})
	switch {
	case err != nil:
		x.fail("service", err, "see that it runs, and that --url is the address of GraphQL")
		return
	case len(answer.Errors) > 0:
		x.fail("service", answer.Errors[0], "docs/http.md, Errors")
	default:
		x.add("service", stateOK, "", "%s answers", s.URL)
	}
	if skew, within, err := s.Clock(ctx); err == nil {
		x.clock("the service", skew, within)
	}
}
