package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

// Last returns the newest message of a subject, or nil when there is none.
//
// With one replica it is a direct get; with several the leader is asked, since
// a direct get is answered by any replica and may be behind. Even a leader may
// have been replaced without knowing it: what is decided on the answer must be
// appended with Entry.After.
func (b *Bus) Last(ctx context.Context, subject string) (*Message, error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	m, err := b.last(ctx, subject)
	if err != nil {
		return nil, fmt.Errorf("last of %s: %w", subject, err)
	}
	return m, nil
}

func (b *Bus) last(ctx context.Context, subject string) (*Message, error) {
	if b.replicated.Load() {
		return b.leaderGet(ctx, getRequest{LastFor: subject})
	}
	stream := b.subjects.Stream()
	resp, err := b.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+stream+"."+subject, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	if status := resp.Header.Get("Status"); status == "404" {
		return nil, nil
	} else if status != "" {
		return nil, directError(resp)
	}
	m, err := stored(stream, resp.Header, resp.Data)
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// Read hands fn the stored messages that match the filter, with
// after < Seq <= upto, in order, and returns the sequence of the first that it
// handed over, 0 when there was none. upto must be a sequence that the log has
// reached: Read does not wait for it. It is complete up to there even when a
// replica that answers is behind. Messages that History has trimmed are
// missing: Message.Prev tells. An error of fn ends Read and is returned as it is.
func (b *Bus) Read(ctx context.Context, filter string, after, upto uint64, fn func(Message) error) (first uint64, err error) {
	if after >= upto {
		return 0, nil
	}
	r, err := b.newReader()
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", filter, err)
	}
	defer r.close()
	pos := after
	deliver := func(m Message) error {
		if m.Seq <= pos || m.Seq > upto {
			return nil
		}
		if first == 0 {
			first = m.Seq
		}
		pos = m.Seq
		return handed(fn(m))
	}
	for pos < upto {
		end, err := r.next(ctx, filter, pos, upto, deliver)
		if h, ok := err.(fnError); ok {
			return first, h.error
		}
		if err != nil {
			return first, fmt.Errorf("read %s after %d: %w", filter, pos, err)
		}
		if end {
			break
		}
	}
	return first, nil
}

// fnError marks an error as the caller's own, to be returned as it came.
type fnError struct{ error }

func handed(err error) error {
	if err == nil {
		return nil
	}
	return fnError{err}
}

const (
	// A batch is bounded in messages and bytes, so that what waits here for fn is.
	batchMessages = 1000
	batchBytes    = 4 << 20
	// silence is how long an answer may pause before it counts as lost.
	silence = 5 * time.Second
)

// reader asks the stream for runs of messages. It serves one goroutine.
type reader struct {
	bus   *Bus
	inbox string
	asked int
	sub   *nats.Subscription
	ch    chan *nats.Msg
}

func (b *Bus) newReader() (*reader, error) {
	r := &reader{bus: b, inbox: nats.NewInbox(), ch: make(chan *nats.Msg, batchMessages+1)}
	var err error
	if r.sub, err = b.nc.ChanSubscribe(r.inbox+".*", r.ch); err != nil {
		return nil, unavailable(err)
	}
	return r, nil
}

func (r *reader) close() { _ = r.sub.Unsubscribe() } // fails only when the connection is closed

// next hands fn the next messages after pos that match the filter ("" for all).
// It may hand over some beyond upto. end is true when there is certainly no
// further one up to upto.
func (r *reader) next(ctx context.Context, filter string, pos, upto uint64, fn func(Message) error) (end bool, err error) {
	reached, more, err := r.batch(ctx, filter, pos, fn)
	switch {
	case err != nil:
		return false, err
	case reached >= upto:
		return true, nil
	case !more && !r.bus.replicated.Load(): // the only server knows
		return true, nil
	case reached > pos:
		return false, nil
	}
	// The replica that answered has nothing, and may be behind: the leader has
	// the word. If it is one that was replaced without knowing it, its log may
	// end too early, hence the look at its end first.
	s, err := r.bus.state(ctx)
	if err != nil {
		return false, err
	}
	if s.last < upto {
		return false, fault.New(fault.Unavailable, "the log's leader is at %d, behind %d", s.last, upto)
	}
	m, err := r.bus.leaderGet(ctx, getRequest{Seq: pos + 1, NextFor: filter})
	if err != nil || m == nil || m.Seq > upto {
		return err == nil, err
	}
	return m.Seq == upto, fn(*m)
}

type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// batch asks for one run after pos and returns the last sequence in it, pos
// when there was none, and whether the one who answered has more (ADR-31 of NATS).
func (r *reader) batch(ctx context.Context, filter string, pos uint64, fn func(Message) error) (reached uint64, more bool, err error) {
	r.asked++
	reply := r.inbox + "." + strconv.Itoa(r.asked)
	stream := r.bus.subjects.Stream()
	req, err := json.Marshal(getRequest{Seq: pos + 1, NextFor: filter, Batch: batchMessages, MaxBytes: batchBytes})
	if err != nil {
		return pos, false, err
	}
	if err := r.bus.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, reply, req); err != nil {
		return pos, false, unavailable(err)
	}
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return pos, false, ctx.Err()
		case <-timer.C:
			return pos, false, fault.New(fault.Unavailable, "the log did not answer within %s", silence)
		case raw, ok := <-r.ch:
			if !ok {
				return pos, false, unavailable(nats.ErrConnectionClosed)
			}
			if raw.Subject != reply { // of a request that was given up
				continue
			}
			if ended(raw) {
				pending := raw.Header.Get(headerPending)
				return pos, pending != "" && pending != "0", nil
			}
			m, err := answer(stream, raw)
			if err != nil {
				return pos, false, err
			}
			if err := fn(m); err != nil {
				return pos, false, err
			}
			pos = m.Seq
			timer.Reset(silence)
		}
	}
}

// ended tells the message after the last of a run: the end of the batch, or
// that there is none at all.
func ended(raw *nats.Msg) bool {
	status := raw.Header.Get("Status")
	return len(raw.Data) == 0 && (status == "204" || status == "404")
}

// answer reads one message of a run.
func answer(stream string, raw *nats.Msg) (Message, error) {
	if len(raw.Data) == 0 {
		switch raw.Header.Get("Status") {
		case "":
		case "503":
			return Message{}, unavailable(nats.ErrNoResponders)
		default:
			return Message{}, directError(raw)
		}
	}
	return stored(stream, raw.Header, raw.Data)
}

// leaderGet asks the stream's leader for one message; nil when there is none.
func (b *Bus) leaderGet(ctx context.Context, req getRequest) (*Message, error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	resp, err := b.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+b.subjects.Stream(), body)
	if err != nil {
		return nil, unavailable(err)
	}
	var got struct {
		Error   *apiError `json:"error"`
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(resp.Data, &got); err != nil {
		return nil, fmt.Errorf("answer of the stream: %w", err)
	}
	switch {
	case got.Error == nil:
	case got.Error.Code == codeNoMessage:
		return nil, nil
	default:
		return nil, got.Error
	}
	header := nats.Header{}
	if len(got.Message.Header) > 0 {
		if header, err = nats.DecodeHeadersMsg(got.Message.Header); err != nil {
			return nil, fmt.Errorf("headers of message %d: %w", got.Message.Seq, err)
		}
	}
	g := got.Message
	m := Message{Subject: g.Subject, Seq: g.Seq, Data: g.Data, Time: g.Time}.withHeader(header)
	return &m, nil
}

func directError(m *nats.Msg) error {
	return fmt.Errorf("the log answered %.10q %.100q", m.Header.Get("Status"), m.Header.Get("Description"))
}

// unavailable turns "nobody there" and "cannot be sent" into a fault. Every
// other error stays what it is.
func unavailable(err error) error {
	if offline(err) || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrDisconnected) {
		return fault.Wrap(err, fault.Unavailable, "the bus cannot be reached")
	}
	return err
}
