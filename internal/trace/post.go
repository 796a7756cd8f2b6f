package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// post sends batches by OTLP over HTTP with binary protobuf
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp). The library's own client
// does the same but brings all of gRPC along.
type post struct {
	to *destination
	// hurry is closed when the process ends: then nothing is tried twice.
	hurry <-chan struct{}
	// rejected is told how many spans of a batch the receiver did not want.
	rejected func(n int)
}

const (
	// tries is how often a batch is sent that the receiver does not take just now.
	tries = 4
	// pause is how long it waits then, and twice as long each time, unless the
	// receiver says how long, up to longest.
	pause   = time.Second
	longest = 15 * time.Second
	// answered bounds what is read of an answer.
	answered = 64 << 10
)

// Start implements otlptrace.Client.
func (p *post) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (p *post) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client.
func (p *post) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the form of the request that the protocol names, field by field.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	if p.to.gzip {
		body = packed(body)
	}
	for try := 1; ; try++ {
		wait, err := p.once(ctx, body)
		if err == nil || wait < 0 || try == tries || !p.sleep(ctx, max(wait, pause<<(try-1))) {
			return err
		}
	}
}

// once sends a batch. After an error it says how long to wait before it is sent
// again; less than nothing: it never is.
func (p *post) once(ctx context.Context, body []byte) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.to.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to.url, bytes.NewReader(body))
	if err != nil {
		return -1, bare(err)
	}
	for name, values := range p.to.headers {
		r.Header[name] = slices.Clone(values)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "tidings")
	if p.to.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := p.to.client.Do(r)
	if err != nil {
		return 0, bare(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answered))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if n := rejected(answer); err == nil && n > 0 {
			p.rejected(min(n, batched))
		}
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // a date, or nothing, is no number
		return min(time.Duration(max(seconds, 0))*time.Second, longest), fmt.Errorf("the receiver answers %s", resp.Status)
	}
	return -1, fmt.Errorf("the receiver answers %s", resp.Status)
}

// bare is the error without the URL, which may hold a password.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// sleep waits before another try, by chance a little longer; false when there is
// no time for one.
func (p *post) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d + rand.N(d/4+1))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.hurry:
	case <-ctx.Done():
	}
	return false
}

func packed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	return b.Bytes()
}

// rejected reads from an ExportTraceServiceResponse how many spans were refused:
// its field 1 is a message, whose field 1 is the number. What is not of that form
// refuses none.
func rejected(answer []byte) int {
	partial, ok := field(answer, protowire.BytesType)
	if !ok {
		return 0
	}
	message, n := protowire.ConsumeBytes(partial)
	if n < 0 {
		return 0
	}
	number, ok := field(message, protowire.VarintType)
	if !ok {
		return 0
	}
	count, n := protowire.ConsumeVarint(number)
	if n < 0 || count > math.MaxInt32 {
		return 0
	}
	return int(count)
}

// field finds field 1 of a message, and returns what begins with its value.
func field(message []byte, typ protowire.Type) ([]byte, bool) {
	for len(message) > 0 {
		number, t, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, false
		}
		if message = message[n:]; number == 1 && t == typ {
			return message, true
		}
		if n = protowire.ConsumeFieldValue(number, t, message); n < 0 {
			return nil, false
		}
		message = message[n:]
	}
	return nil, false
}
