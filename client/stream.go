package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// stream is one connection by graphql-sse, with a connection of its own
// (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md).
func (w *watching) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errors.New("nothing was heard for " + silence.String())) })
	defer quiet.Stop()
	resp, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	w.began(SSE)
	s := &streamed{watching: w}
	lines := newLines(resp.Body)
	for {
		f, err := lines.next()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return &lost{why: "the stream ended: " + err.Error(), after: s.retry, token: s.expired}
		}
		quiet.Reset(silence)
		if over, err := s.frame(f); over || err != nil {
			return err
		}
	}
}

// open asks for the stream.
func (w *watching) open(ctx context.Context) (*http.Response, error) {
	body, err := json.Marshal(w.payload())
	if err != nil {
		return nil, err
	}
	r, err := post(ctx, w.URL, w.token, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := w.client().Do(r)
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, unanswered(err)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // what it says beside the status is for people
	var said struct {
		Errors []Error `json:"errors"`
	}
	if json.Unmarshal(text, &said) == nil && len(said.Errors) > 0 && resp.StatusCode != http.StatusUnauthorized {
		err := ended(said.Errors)
		if l, ok := errors.AsType[*lost](err); ok {
			l.asks(resp)
		}
		return nil, err
	}
	return nil, answered(resp, text)
}

// streamed is what a stream has said beside its events.
type streamed struct {
	*watching
	retry   time.Duration
	expired bool
}

// frame takes one frame. over means that the operation is complete.
func (s *streamed) frame(f frame) (over bool, err error) {
	if f.retry > 0 {
		s.retry = min(f.retry, maxAfter)
	}
	s.expired = s.expired || strings.HasPrefix(f.comment, "4403")
	switch {
	case f.event == "complete":
		return true, nil
	case f.data != nil:
		return false, s.event(f.data, f.id)
	default:
		s.learn(f.id)
		s.pauses.over()
	}
	return false, nil
}

// frame is what stands between two empty lines of an event stream
// (https://html.spec.whatwg.org/#event-stream-interpretation).
type frame struct {
	event, id string
	data      []byte
	retry     time.Duration
	comment   string // the last one
}

// lines reads the frames of an event stream.
type lines struct {
	from *bufio.Reader
	room int  // of bytes for the rest of the frame
	cr   bool // the last line ended with CR, whose LF may follow
}

func newLines(from io.Reader) *lines { return &lines{from: bufio.NewReaderSize(from, 16<<10)} }

// errLong says that a frame is longer than anything of ours.
var errLong = errors.New("an event is longer than 64 MiB")

// next returns a frame when its empty line has come. What a stream ends in the
// middle of is no frame.
func (l *lines) next() (f frame, err error) {
	l.room = maxMessage
	for {
		line, err := l.line()
		if err != nil {
			return frame{}, err
		}
		if len(line) == 0 {
			return f, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "":
			f.comment = string(value)
		case "event":
			f.event = string(value)
		case "id":
			if !bytes.ContainsRune(value, 0) {
				f.id = string(value)
			}
		case "data":
			if f.data != nil {
				f.data = append(f.data, '\n')
			}
			f.data = append(f.data, value...)
			if f.data == nil {
				f.data = []byte{}
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				f.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line reads up to CR, LF or both, without them.
func (l *lines) line() (line []byte, err error) {
	for {
		c, err := l.from.ReadByte()
		switch {
		case err != nil:
			return nil, err
		case c == '\n' && l.cr && len(line) == 0: // the second half of an end
			l.cr = false
			continue
		case c == '\n', c == '\r':
			l.cr = c == '\r'
			return line, nil
		}
		l.cr = false
		if l.room--; l.room < 0 {
			return nil, errLong
		}
		line = append(line, c)
	}
}
