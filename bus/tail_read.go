package bus

import (
	"context"
	"time"
)

// read hands take the next messages of a filter, as many as a chunk has. end
// is true when the one who answered had no more of them.
func (t *tail) read(ctx context.Context, filter string, take func(Message) error) (end bool, err error) {
	if t.last.direct && t.last.replicas <= 1 {
		return t.direct(ctx, filter, take)
	}
	pos := t.pos
	for n, size := 0, 0; n < chunkMessages && size < chunkBytes; n++ {
		m, err := t.get(ctx, getRequest{Seq: pos + 1, NextFor: filter})
		if m == nil || err != nil {
			return err == nil, err
		}
		if err := take(*m); err != nil {
			return false, err
		}
		pos, size = m.Seq, size+len(m.Data)
	}
	return false, nil
}

// direct reads by one request, of which only a stream without replicas can say
// that it is the leader who answers.
func (t *tail) direct(ctx context.Context, filter string, take func(Message) error) (end bool, err error) {
	if t.reader == nil {
		if t.reader, err = t.bus.newReaderOf(t.want.Stream, chunkMessages, chunkBytes); err != nil {
			return false, err
		}
	}
	reached, ending, err := t.reader.batch(ctx, filter, t.pos, take)
	if err == nil && ending == cut && reached == t.pos {
		err = errSilent
	}
	return ending != cut, err
}

func (t *tail) get(ctx context.Context, req getRequest) (*Message, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.bus.leaderGetFrom(ctx, t.want.Stream, req)
}

// state is what the leader says from now on: nothing that it said before.
func (t *tail) state(ctx context.Context) (streamState, error) {
	return t.stateSince(ctx, time.Now())
}

func (t *tail) stateSince(ctx context.Context, moment time.Time) (streamState, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.stream.since(ctx, moment)
}
