package soap

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"tidings/bus"
	"tidings/fault"
	"tidings/xmltree"
)

// Envelopes cross the bus as they came, compressed or not, and are inflated by the
// worker that reads them: so a bomb costs no process that holds connections, and
// an envelope that is larger than a message of the bus may still travel, packed.

// The content codings that are spoken.
const (
	codingGzip    = "gzip"
	codingDeflate = "deflate" // zlib, or bare deflate as some clients mean it
	codings       = codingGzip + ", " + codingDeflate
)

// minGzip is the size, in bytes, from which an answer is worth compressing.
const minGzip = 1 << 10

// smallBytes is how much of an envelope is inflated without asking; for more,
// one of maxLarge places must be free.
const (
	smallBytes = xmltree.MaxBytes
	maxLarge   = 4
)

// codingOf returns the content coding of a header, empty for none, and whether it
// is spoken here.
func codingOf(header []string) (coding string, ok bool) {
	switch coding = strings.ToLower(strings.TrimSpace(strings.Join(header, ","))); coding {
	case "", "identity":
		return "", true
	case codingGzip, "x-gzip":
		return codingGzip, true
	case codingDeflate:
		return coding, true
	}
	return coding, false
}

// errInflate says that bytes are not of the coding that was named.
var errInflate = errors.New("the body is not of its Content-Encoding")

// inflater returns a reader of what data is the coding of.
func inflater(data []byte, coding string) (io.Reader, error) {
	if coding == codingGzip {
		return gzip.NewReader(bytes.NewReader(data))
	}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if errors.Is(err, zlib.ErrHeader) {
		return flate.NewReader(bufio.NewReader(bytes.NewReader(data))), nil
	}
	return z, err
}

// inflate returns the bytes that data is the coding of, at most most of them. It
// reads no further than one byte beyond. For more than smallBytes it calls large
// first, whose error it returns. Errors are errInflate and fault.PayloadTooLarge.
func inflate(data []byte, coding string, most int, large func() error) ([]byte, error) {
	r, err := inflater(data, coding)
	if err != nil {
		return nil, errInflate
	}
	var out bytes.Buffer
	for _, limit := range [...]int{min(most, smallBytes), most} {
		_, err := io.CopyN(&out, r, int64(limit+1-out.Len()))
		switch {
		case errors.Is(err, io.EOF):
			return out.Bytes(), nil
		case err != nil:
			return nil, errInflate
		case limit == most:
			return nil, fault.New(fault.PayloadTooLarge, "the envelope is larger than %d bytes", most)
		}
		if err := large(); err != nil {
			return nil, err
		}
	}
	return nil, errInflate // not reached: the second limit is most
}

// largeOnes are the places for envelopes beyond smallBytes, so that many at a time
// do not take all memory.
type largeOnes chan struct{}

// enter returns when there is a place, and what gives it back.
func (l largeOnes) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return func() {}, fault.New(fault.Unavailable, "too many large envelopes are being worked on")
	}
}

// packer compresses whole messages. The zero value is ready; it is safe for
// concurrent use.
type packer struct{ pool sync.Pool }

// pack returns data in gzip, and whether that is smaller.
func (p *packer) pack(data []byte) ([]byte, bool) {
	w, _ := p.pool.Get().(*gzip.Writer)
	if w == nil {
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // it is a level
	}
	defer p.pool.Put(w)
	out := bytes.NewBuffer(make([]byte, 0, len(data)/4))
	w.Reset(out)
	_, errWrite := w.Write(data)
	if errors.Join(errWrite, w.Close()) != nil || out.Len() >= len(data) {
		return data, false
	}
	return out.Bytes(), true
}

// room is what a message of the bus needs beside the envelope: its headers.
const room = 16 << 10

// handle answers one message of the bus: it unpacks the envelope and packs the
// answer, when the caller takes that or the bus does not carry it otherwise. It
// never returns an error.
func (s *Service) handle(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
	data, leave, err := s.unpack(ctx, m)
	defer leave()
	switch {
	case errors.Is(err, errInflate):
		return plain(http.StatusBadRequest, err.Error())
	case fault.Is(err, fault.PayloadTooLarge):
		return plain(http.StatusRequestEntityTooLarge, fault.Of(err).Message)
	case err != nil:
		f := failed(err)
		return s.refused(ctx, &request{version: versionOf(m.Header.Get(headerContentType))}, f, m.Header)
	}
	packed := m.Header.Get(headerAcceptEncoding) == codingGzip
	m.Data = data
	out, h, err := s.answer(ctx, m)
	if len(out) >= minGzip && packed || len(out)+room > s.bus.MaxPayload() {
		if zipped, smaller := s.packer.pack(out); smaller {
			out = zipped
			h.Set(headerContentEncoding, codingGzip)
		}
	}
	return out, h, err
}

// unpack returns the envelope of a message. The caller calls leave when it is done
// with it, also after an error.
func (s *Service) unpack(ctx context.Context, m bus.Message) (data []byte, leave func(), err error) {
	leave = func() {}
	large := func() (err error) { leave, err = s.large.enter(ctx); return err }
	most := s.options.MaxEnvelope
	coding := m.Header.Get(headerContentEncoding)
	switch {
	case coding != "":
		data, err = inflate(m.Data, coding, most, large)
	case len(m.Data) > most:
		err = fault.New(fault.PayloadTooLarge, "the envelope is larger than %d bytes", most)
	default:
		data = m.Data
		if len(data) > smallBytes {
			err = large()
		}
	}
	return data, leave, err
}

// plain is an answer below SOAP.
func plain(status int, text string) ([]byte, bus.Header, error) {
	return []byte(text + "\n"), bus.Header{headerContentType: {"text/plain; charset=utf-8"}, headerStatus: {strconv.Itoa(status)}}, nil
}
