package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
)

// publisher makes events at a rate.
type publisher interface {
	// publish sends one event that carries the clock of now.
	publish(i int) error
}

// core publishes on a subject of core NATS: what the other sides listen to.
type core struct{ nc *nats.Conn }

func (c core) publish(i int) error {
	return c.nc.Publish("bench.events", record(i, false))
}

// record is a user whose name is a stamp.
func record(i int, private bool) []byte {
	email := ""
	if private {
		email = fmt.Sprintf(`"email":"u%04d@example.org",`, i)
	}
	return fmt.Appendf(nil, `{"id":"user-%04d","name":"%s",%s"avatar":"https://example.org/avatars/%04d.png","createdAt":"2026-11-20T07:25:22.5Z"}`,
		i, stamp(byLoad), email, i)
}

// writers append records to the log as a worker does, each always the same
// record, so that each knows which append was the last of its subject.
type writers struct {
	work   chan struct{}
	failed atomic.Pointer[error]
	wg     sync.WaitGroup
}

const writerCount = 32

func newWriters(b *bus.Bus) *writers {
	w := &writers{work: make(chan struct{})}
	for i := range writerCount {
		w.wg.Go(func() {
			entry := bus.Entry{Subject: b.Subjects().Record("User", fmt.Sprintf("user-%04d", i))}
			if last, err := b.Last(context.Background(), entry.Subject); err == nil && last != nil {
				entry.After = last.Seq
			}
			for range w.work {
				entry.Header = bus.Header{}
				entry.Header.Set("Tidings-Kind", "UPDATED")
				entry.Data = record(i, true)
				seq, err := b.Append(context.Background(), entry)
				if err != nil {
					w.failed.Store(&err)
					continue
				}
				entry.After = seq
			}
		})
	}
	return w
}

func (w *writers) publish(int) error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	w.work <- struct{}{}
	return nil
}

func (w *writers) stop() {
	close(w.work)
	w.wg.Wait()
}

// pace publishes at a rate until ctx ends or so many were published; behind
// time it goes as fast as it can. It returns how many.
func pace(ctx context.Context, p publisher, rate float64, most int) (n int, err error) {
	begun := time.Now()
	for ctx.Err() == nil && n < most {
		due := begun.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if wait := time.Until(due); wait > 50*time.Microsecond {
			time.Sleep(wait)
		}
		if err := p.publish(n % writerCount); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
