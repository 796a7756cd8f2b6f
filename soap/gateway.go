package soap

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/quota"
	"tidings/schema"
)

// Gateway is the edge: GET prints the WSDL, POST carries an envelope over the
// bus to a Service and its answer back. It reads no XML and authenticates
// nobody. It is safe for concurrent use.
type Gateway struct {
	bus     *bus.Bus
	options Options
	packer  packer
	offers  []offer // the oldest first
	// addresses are the base URLs by which callers may know the service.
	addresses []string
	// unanswered spares the log in an outage.
	unanswered sparing
	waiting    *proc.Level // for workers
	meters     meters
}

// document is a printed WSDL.
type document struct {
	text, gzip []byte // gzip is nil where that is no smaller
	etag       string
}

// NewGateway returns the gateway for the contract of m. The error says what is
// missing in o, or which names of the schema cannot be told apart in XML.
func NewGateway(b *bus.Bus, m *schema.Model, o Options) (*Gateway, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	base, err := o.base()
	if err != nil {
		return nil, err
	}
	contracts, err := newContracts(m, o)
	if err != nil {
		return nil, err
	}
	g := &Gateway{bus: b, options: o, addresses: append([]string{base}, o.Addresses...), waiting: bus.Waiting(o.Metrics), meters: newMeters(o.Metrics)}
	for _, c := range contracts {
		for _, why := range c.left {
			o.Logger.Warn("an operation of SOAP is left out: nobody could call it; let the field be null, or give it a default", slog.String("version", c.version), slog.String("reason", why))
		}
		g.offers = append(g.offers, g.newOffer(c, base))
	}
	return g, nil
}

// ServeHTTP implements http.Handler. What goes wrong below SOAP is answered in
// plain text: 405, 413, 415. A fault is an envelope with the status 500, in
// both versions of SOAP, because most clients lose it under any other.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		g.post(w, r)
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && asksForWSDL(r):
		g.wsdl(w, r)
	default:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST an envelope, or GET ?wsdl", http.StatusMethodNotAllowed)
	}
}

// asksForWSDL reports whether the query is ?wsdl or ?singleWsdl, in any case.
func asksForWSDL(r *http.Request) bool {
	for key := range r.URL.Query() {
		if k := strings.ToLower(key); k == "wsdl" || k == "singlewsdl" {
			return true
		}
	}
	return false
}

func (g *Gateway) wsdl(w http.ResponseWriter, r *http.Request) {
	doc := g.offer(r).wsdls[soap11]
	if r.URL.Query().Get("soap") == "1.2" {
		doc = g.offer(r).wsdls[soap12]
	}
	text, etag := doc.text, doc.etag
	if doc.gzip != nil && graphql.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
		text, etag = doc.gzip, strings.TrimSuffix(etag, `"`)+`-gzip"`
		w.Header().Set("Content-Encoding", codingGzip)
	}
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.Header().Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request) {
	media := mediaOf(r.Header.Get("Content-Type"))
	if !slices.Contains(mediaType[:], media.kind) {
		w.Header().Set("Accept-Post", strings.Join(mediaType[:], ", "))
		http.Error(w, "send the envelope as text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2)", http.StatusUnsupportedMediaType)
		return
	}
	coding, ok := codingOf(r.Header.Values("Content-Encoding"))
	if !ok {
		w.Header().Set("Accept-Encoding", codings)
		http.Error(w, "send the envelope as it is, or in one of the codings "+codings, http.StatusUnsupportedMediaType)
		return
	}
	envelope, err := g.read(w, r)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		g.meters.tooLarge()
		http.Error(w, "the envelope is larger than "+strconv.Itoa(g.options.MaxEnvelope)+" bytes", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the envelope ended early", http.StatusBadRequest)
		return
	}
	g.forward(w, r, envelope, coding)
}

// admit waits for a place among the calls at work. It is asked when the envelope is
// there, and left before the answer is written: who sends or takes byte by byte
// must not hold one.
func (g *Gateway) admit(ctx context.Context) (leave func(), err error) {
	if g.options.Admit == nil {
		return func() {}, nil
	}
	return g.options.Admit(ctx)
}

// read reads the envelope. For what the caller says there will be, up to
// roomAtOnce, there is room at once; for more only as it comes.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	const roomAtOnce = 64 << 10
	likely := min(max(r.ContentLength, 0), roomAtOnce)
	envelope := bytes.NewBuffer(make([]byte, 0, likely+bytes.MinRead))
	_, err := envelope.ReadFrom(http.MaxBytesReader(w, r.Body, int64(g.options.MaxEnvelope)))
	return envelope.Bytes(), err
}

// forward hands the envelope to a worker and its answer to the caller.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, envelope []byte, coding string) {
	id := rand.Text()
	w.Header().Set("X-Request-Id", id)
	h := g.headers(r, id)
	if err := g.setCertificates(h, r); err != nil {
		g.options.Logger.LogAttrs(r.Context(), slog.LevelWarn, "the certificate of a client cannot be read", slog.String("request_id", id), slog.Any("error", err))
		http.Error(w, "the certificate that the proxy tells of cannot be read", http.StatusBadRequest)
		return
	}
	ctx, cancel := patient(r.Context(), envelope, coding != "")
	defer cancel()
	sent := envelope
	if coding == "" && !g.carries(sent) {
		if packed, smaller := g.packer.pack(sent); smaller {
			sent, coding = packed, codingGzip
		}
	}
	if !g.carries(sent) {
		g.meters.tooLarge()
		http.Error(w, "the envelope is larger than what the bus carries: send less at a time", http.StatusRequestEntityTooLarge)
		return
	}
	if coding != "" {
		h.Set(headerContentEncoding, coding)
	}
	leave, err := g.admit(ctx)
	if err != nil {
		answer := g.failed(r, envelope, id, err)
		noteStatus(r, answer)
		reply(w, answer, len(answer.Data))
		return
	}
	var name *naming
	answer, err := func() (bus.Message, error) {
		defer leave()
		name = g.options.Undelivered.name(r, h, envelope)
		name.set(h)
		if err := name.abandoned(); err != nil {
			return bus.Message{}, err
		}
		return g.call(ctx, r, h, sent, name)
	}()
	if err == nil && answer.Header.Get(headerContentEncoding) != "" && h.Get(headerAcceptEncoding) == "" {
		answer.Data, err = inflate(answer.Data, codingGzip, maxAnswer, func() error { return nil })
		delete(answer.Header, headerContentEncoding)
	}
	if err != nil {
		name.lost()
		answer = g.failed(r, envelope, id, err)
	}
	noteStatus(r, answer)
	name.deliver(w, r, answer)
}

// maxAnswer is how many bytes an answer may have that was packed for the bus alone.
const maxAnswer = 2 * maxEnvelope

// carries reports whether an envelope fits into a message of the bus.
func (g *Gateway) carries(envelope []byte) bool { return len(envelope)+room <= g.bus.MaxPayload() }

// headers are those that an envelope has on the bus.
func (g *Gateway) headers(r *http.Request, id string) bus.Header {
	h := bus.Header{
		headerContentType:   {r.Header.Get("Content-Type")},
		headerAction:        {r.Header.Get("SOAPAction")},
		headerAuthorization: r.Header.Values("Authorization"),
		headerRequestID:     {id},
	}
	if client := quota.Client(r.Context()); client.IsValid() {
		h.Set(headerClient, client.String())
	}
	if r.TLS != nil || g.options.TrustTransport {
		h.Set(headerPrivate, "1")
	}
	if graphql.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
		h.Set(headerAcceptEncoding, codingGzip)
	}
	g.setAddresses(h)
	return h
}

// reply writes a worker's answer, of its body so many bytes.
func reply(w http.ResponseWriter, answer bus.Message, body int) {
	for _, key := range [...]string{headerContentType, headerContentEncoding, headerRetryAfter} {
		if value := answer.Header.Get(key); value != "" {
			w.Header().Set(key, value)
		}
	}
	status, err := strconv.Atoi(answer.Header.Get(headerStatus))
	if err != nil || http.StatusText(status) == "" {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Data)))
	w.WriteHeader(status)
	_, _ = w.Write(answer.Data[:body]) // the caller may have gone
}

// failed is the answer when no service gave one.
func (g *Gateway) failed(r *http.Request, envelope []byte, id string, err error) bus.Message {
	f := failed(err)
	if f.Code == fault.Timeout {
		f = failed(fault.Wrap(err, fault.Timeout, "no answer came in time, and whether the call was carried out is not known: look before you send a change again, or send it with an idempotency key"))
	}
	f.requestID = id
	g.meters.count("", f)
	if f.ours() && r.Context().Err() == nil {
		if held, ok := g.unanswered.line(time.Now()); ok {
			g.options.Logger.LogAttrs(r.Context(), slog.LevelWarn, "envelope not answered", slog.String("request_id", id), slog.Any("error", err), slog.Int("left_out", held))
		}
	}
	v := guessVersion(envelope, r.Header.Get("Content-Type"))
	h := bus.Header{headerContentType: {v.contentType()}, headerStatus: {"500"}}
	if after := f.retryAfter(); after > 0 {
		h.Set(headerRetryAfter, strconv.Itoa(after))
	}
	return bus.Message{Header: h, Data: f.envelope(v, g.offer(r).namespace, nil)}
}

// guessVersion tells the version of an envelope that is not parsed: by the
// namespace that comes first in it, or else by its media type.
func guessVersion(envelope []byte, contentType string) version {
	head := envelope[:min(len(envelope), 4096)]
	twelve := bytes.Index(head, []byte(envelopeNS[soap12]))
	eleven := bytes.Index(head, []byte(envelopeNS[soap11]))
	switch {
	case twelve < 0 && eleven < 0:
		return versionOf(contentType)
	case twelve >= 0 && (eleven < 0 || twelve < eleven):
		return soap12
	}
	return soap11
}
