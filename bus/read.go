package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	if err := checkSubject(subject); err != nil {
		return nil, err
	}
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
	resp, err := b.question(ctx, "$JS.API.DIRECT.GET."+stream+"."+subject, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	if statusOf(resp) == "404" {
		return nil, nil
	}
	m, err := answer(stream, resp)
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
	if err := checkSubject(filter); err != nil {
		return 0, err
	}
	r, err := b.newReader()
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", filter, err)
	}
	defer r.close()
	if filter == b.subjects.Log() {
		filter = everything
	}
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
	// everything is the filter that costs the server nothing.
	everything = ">"
	// A batch is bounded in messages and bytes, so that what waits here for fn is.
	batchMessages = 1000
	batchBytes    = 4 << 20
	// silence is how long an answer may pause before it counts as lost.
	silence = 5 * time.Second
)

// reader asks a stream for runs of messages. It serves one goroutine.
type reader struct {
	bus    *Bus
	stream string
	// A run is bounded by these.
	messages, bytes int

	inbox string
	asked int
	sub   *nats.Subscription
	ch    chan *nats.Msg
}

// newReader reads the log.
func (b *Bus) newReader() (*reader, error) {
	return b.newReaderOf(b.subjects.Stream(), batchMessages, batchBytes)
}

func (b *Bus) newReaderOf(stream string, messages, bytes int) (*reader, error) {
	r := &reader{bus: b, stream: stream, messages: messages, bytes: bytes, inbox: b.nc.NewInbox(), ch: make(chan *nats.Msg, messages+1)}
	var err error
	if r.sub, err = b.nc.ChanSubscribe(r.inbox+".*", r.ch); err != nil {
		return nil, unavailable(err)
	}
	return r, nil
}

func (r *reader) close() { _ = r.sub.Unsubscribe() } // fails only when the connection is closed

// next hands fn the next messages after pos that match the filter. It may hand
// over some beyond upto. end is true when there is certainly no further one up
// to upto.
func (r *reader) next(ctx context.Context, filter string, pos, upto uint64, fn func(Message) error) (end bool, err error) {
	reached, ending, err := r.batch(ctx, filter, pos, fn)
	switch {
	case err != nil:
		return false, err
	case reached >= upto:
		return true, nil
	case reached > pos:
		// The only server of a log without replicas knows that it has no more.
		return ending == lastOfAll && !r.bus.replicated.Load(), nil
	}
	// Nothing came. A server that is just stopping says so too, but it does not
	// tell the state of its log any more.
	if err := r.bus.reached(ctx, upto); err != nil {
		return false, err
	}
	if ending == noneAtAll && !r.bus.replicated.Load() {
		return true, nil
	}
	// A replica may be behind: the leader has the word. One that was replaced
	// without knowing it does not have it, hence the looks at its log before
	// and after.
	m, err := r.bus.leaderGet(ctx, getRequest{Seq: pos + 1, NextFor: filter})
	if err != nil {
		return false, err
	}
	if m == nil || m.Seq > upto {
		err := r.bus.reached(ctx, upto)
		return err == nil, err
	}
	return m.Seq == upto, fn(*m)
}

// reached is an error unless the log's leader has got as far as upto.
func (b *Bus) reached(ctx context.Context, upto uint64) error {
	s, err := b.state(ctx)
	if err == nil && s.last < upto {
		err = fault.New(fault.Unavailable, "the log's leader is at %d, behind %d", s.last, upto)
	}
	return err
}

type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// ending is how a run ended.
type ending int

const (
	cut       ending = iota // there is more, or a message was lost on the way here
	lastOfAll               // the one who answered has no more
	noneAtAll               // the one who answered has nothing
)

// batch asks for one run after pos (ADR-31 of NATS) and returns the last
// sequence in it, pos when there was none.
//
// Each message of a run names the one before it, so that one that was lost on
// the way here is not taken for one that History trimmed.
func (r *reader) batch(ctx context.Context, filter string, pos uint64, fn func(Message) error) (reached uint64, end ending, err error) {
	ctx, said, done := r.bus.about(ctx, r.stream)
	defer done()
	reply, err := r.ask(filter, pos)
	if err != nil {
		return pos, cut, err
	}
	before := "0"
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return pos, cut, said(ctx.Err())
		case <-timer.C:
			return pos, cut, fault.New(fault.Unavailable, "the log did not answer within %s", silence)
		case raw := <-r.ch:
			if raw.Subject != reply || r.bus.lose != nil && r.bus.lose(raw) { // of a run that was given up
				continue
			}
			if status := ended(raw); status == "404" {
				return pos, noneAtAll, nil
			} else if lastValue(raw.Header, headerLast) != before {
				return pos, cut, nil
			} else if status == "204" {
				return pos, pending(raw), nil
			}
			m, err := answer(r.stream, raw)
			if err != nil {
				return pos, cut, err
			}
			if err := fn(m); err != nil {
				return pos, cut, err
			}
			pos, before = m.Seq, strconv.FormatUint(m.Seq, 10)
			timer.Reset(silence)
		}
	}
}

// ask requests a run and returns the subject that its messages come to.
func (r *reader) ask(filter string, pos uint64) (reply string, err error) {
	for len(r.ch) > 0 { // of a run that was given up
		<-r.ch
	}
	r.asked++
	reply = r.inbox + "." + strconv.Itoa(r.asked)
	req, err := json.Marshal(getRequest{Seq: pos + 1, NextFor: filter, Batch: r.messages, MaxBytes: r.bytes})
	if err != nil {
		return "", err
	}
	if err := r.bus.nc.PublishRequest("$JS.API.DIRECT.GET."+r.stream, reply, req); err != nil {
		return "", unavailable(err)
	}
	return reply, nil
}

// pending reads the end of a batch: whether the one who answered has more.
func pending(raw *nats.Msg) ending {
	if lastValue(raw.Header, headerPending) == "0" {
		return lastOfAll
	}
	return cut
}

// ended returns the status of the message after the last of a run: 204 at the
// end of a batch, 404 when there is none at all; empty for any other message.
func ended(raw *nats.Msg) string {
	if status := statusOf(raw); status == "204" || status == "404" {
		return status
	}
	return ""
}

// answer reads one message that a direct get brought.
func answer(stream string, raw *nats.Msg) (Message, error) {
	switch statusOf(raw) {
	case "":
		return stored(stream, raw.Header, raw.Data)
	case "503":
		return Message{}, unavailable(nats.ErrNoResponders)
	}
	return Message{}, directError(raw)
}

// statusOf is the server's own status line, empty for a stored message: one
// whose writer set a header of that name is no status.
func statusOf(raw *nats.Msg) string {
	if len(raw.Data) > 0 || lastValue(raw.Header, headerStream) != "" {
		return ""
	}
	return raw.Header.Get("Status")
}

// leaderGet asks the stream's leader for one message; nil when there is none.
func (b *Bus) leaderGet(ctx context.Context, req getRequest) (*Message, error) {
	return b.leaderGetFrom(ctx, b.subjects.Stream(), req)
}

func (b *Bus) leaderGetFrom(ctx context.Context, stream string, req getRequest) (*Message, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	resp, err := b.question(ctx, "$JS.API.STREAM.MSG.GET."+stream, body)
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
		return nil, unavailable(got.Error)
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

// unavailable turns "nobody there", "cannot be sent" and "not just now", which
// servers say that cannot reach the others of their cluster, into a fault. Every
// other error stays what it is.
func unavailable(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok && e.Status == 503 {
		return fault.Wrap(err, fault.Unavailable, "the log is not available")
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.Code == 503 {
		return fault.Wrap(err, fault.Unavailable, "the log is not available")
	}
	if offline(err) || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrDisconnected) {
		return fault.Wrap(err, fault.Unavailable, "the bus cannot be reached")
	}
	return err
}
