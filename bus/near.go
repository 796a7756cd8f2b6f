package bus

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// A request for what this process serves itself does not leave it: the way to
// the server and back costs more than most answers. It waits in the same queue,
// for the same workers, within the same limits, so that nobody can tell the
// difference. When no worker is free here it goes over the bus, where another
// process may have one.

// nears are the services of this process, by subject. The zero value is ready.
type nears struct {
	mu sync.RWMutex // held for reading while a request is queued: none comes after remove
	by map[string][]near
}

// near is an endpoint with the service whose workers answer it.
type near struct {
	service  *service
	endpoint *endpoint
}

// outcome is what a worker answers a caller of its own process.
type outcome struct {
	msg Message
	err error
}

func (n *nears) add(s *service, subject string, ep *endpoint) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[string][]near{}
	}
	n.by[subject] = append(n.by[subject], near{s, ep})
}

// remove takes a service out. What is queued by then is still answered.
func (n *nears) remove(s *service) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.by, func(subject string, list []near) bool {
		kept := list[:0:0]
		for _, one := range list {
			if one.service != s {
				kept = append(kept, one)
			}
		}
		n.by[subject] = kept
		return len(kept) == 0
	})
}

// take queues a job at the newest service of the subject that has a free worker,
// or room for what has to wait.
func (n *nears) take(j job, wait bool) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	list := n.by[j.msg.Subject]
	for i := len(list) - 1; i >= 0; i-- {
		j.ep = list[i].endpoint
		if list[i].service.accept(j, wait) {
			return true
		}
	}
	return false
}

// accept queues a job of this process; false when it must not wait but would, or
// when there is no room.
func (s *service) accept(j job, wait bool) bool {
	if !wait && int(s.working.Load())+len(s.queue) >= s.most {
		return false
	}
	if s.bytes.Add(int64(len(j.msg.Data))) <= queuedBytes {
		s.bus.taken.Add(1)
		select {
		case s.queue <- j:
			return true
		default:
			s.bus.taken.Add(-1)
		}
	}
	s.bytes.Add(-int64(len(j.msg.Data)))
	return false
}

// callHere makes a request of a service of this process; false when there is
// none, or none with a free worker and the request is not to wait for one. What
// the handler gets is its own, as if it had come from afar; of a caller who has
// gone it gets nothing.
func (b *Bus) callHere(ctx context.Context, subject string, h Header, data []byte, wait bool) (m Message, done bool, err error) {
	if ctx.Err() != nil {
		return Message{}, true, leftError(ctx)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(b.opts.CallTimeout)
	}
	j := job{came: time.Now(), deadline: deadline, here: make(chan outcome, 1), msg: Message{Subject: subject, Header: maps.Clone(h), Data: bytes.Clone(data)}}
	if !b.nears.take(j, wait) {
		return Message{}, false, nil
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	select {
	case out := <-j.here:
		return out.msg, true, out.err
	case <-ctx.Done():
		return Message{}, true, leftError(ctx)
	}
}

// leftError is the error of a call whose caller waits no more, as Call tells it.
func leftError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return callError(ctx.Err())
}

// answerHere hands the outcome to a caller of this process, as it would have
// come over the bus.
func (s *service) answerHere(j job, data []byte, h Header, err error) {
	m := outgoing(j.msg.Subject, h, data)
	if err == nil {
		err = s.tooLarge(m)
	}
	if err == nil {
		j.here <- outcome{msg: Message{Subject: j.msg.Subject, Header: Header(m.Header), Data: data}}
		return
	}
	j.ep.errors.Add(1)
	f := *s.fault(j, err)
	if f.Err = nil; errors.Is(err, ErrStale) { // any other cause stays with who knows it
		f.Err = ErrStale
	}
	j.here <- outcome{err: &f}
}
