package soap

import (
	"context"
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
	"tidings/quota"
	"tidings/schema"
)

// The headers that an envelope has on the bus, besides Content-Type, SOAPAction
// and Authorization, which are those of the HTTP request; and those of the
// answer, besides Content-Type and Retry-After.
const (
	headerContentType     = "Content-Type"
	headerContentEncoding = "Content-Encoding" // of both: gzip or deflate, where they are packed
	headerAcceptEncoding  = "Accept-Encoding"  // gzip, where the caller takes that
	headerAction          = "SOAPAction"
	headerAuthorization   = "Authorization"
	headerRequestID       = "Tidings-Request-Id"
	headerClient          = "Tidings-Client"  // address that the request came from
	headerPrivate         = "Tidings-Private" // "1": nobody on the way could read the request
	headerStatus          = "Tidings-Status"  // HTTP status of the answer
	headerRetryAfter      = "Retry-After"     // seconds
)

// Service is the worker's end: it answers the envelopes that gateways put on
// the bus. It is safe for concurrent use.
type Service struct {
	bus      *bus.Bus
	engine   *graphql.Engine
	accounts *auth.Accounts
	verifier *auth.Verifier
	contract *contract  // of the version that it answers
	versions []*Service // one for each
	options  Options
	ready    chan struct{}
	stopping chan struct{} // closed by stop, when Run is to end
	stop     func()
	waiting  chan struct{} // a place for each pull that waits
	large    largeOnes
	packer   *packer
	// deciphering bounds what strangers can make the keys do.
	deciphering *deciphering
	meters      meters
	// fingerprint is that of the contract.
	fingerprint string
}

// NewService returns the service for the contract of m. The engine must be of
// the same model. Accounts may be nil: then every password is wrong. The error
// says which names of the schema cannot be told apart in XML.
func NewService(b *bus.Bus, m *schema.Model, e *graphql.Engine, a *auth.Accounts, v *auth.Verifier, o Options) (*Service, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	contracts, err := newContracts(m, o)
	if err != nil {
		return nil, err
	}
	for _, c := range contracts {
		if err := c.runs(e); err != nil {
			return nil, err
		}
	}
	stopping := make(chan struct{})
	s := &Service{bus: b, engine: e, accounts: a, verifier: v, contract: contracts[len(contracts)-1], options: o, ready: make(chan struct{}), packer: &packer{},
		stopping: stopping, stop: sync.OnceFunc(func() { close(stopping) }), waiting: make(chan struct{}, maxWaiting), large: make(largeOnes, maxLarge), deciphering: newDeciphering(), meters: newMeters(o.Metrics)}
	for _, c := range contracts {
		s.meters.begin(c)
	}
	for _, c := range contracts {
		s.versions = append(s.versions, s.as(c))
	}
	return s, nil
}

// Run waits for Options.Ready, then answers envelopes until ctx ends, and
// returns when the last one is answered. Any number of processes may do so side
// by side.
func (s *Service) Run(ctx context.Context) error {
	o := s.options
	if o.Ready != nil {
		select {
		case <-o.Ready:
		case <-ctx.Done():
			return nil
		}
	}
	defer context.AfterFunc(ctx, s.stop)()
	return s.bus.Serve(ctx, bus.Service{
		Name: "soap", Description: "SOAP envelopes of " + o.Service,
		Concurrency: o.Concurrency,
		Endpoints:   s.endpoints(),
		Started:     sync.OnceFunc(func() { close(s.ready) }),
	})
}

// Ready is closed once the service takes envelopes.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// answer answers one envelope. A fault is an answer like any other: it never
// returns an error.
func (s *Service) answer(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
	began := time.Now()
	ctx = callerContext(ctx, m.Header)
	open := func(r *request) *failure { return s.open(ctx, r, m.Header.Get(headerPrivate) == "1") }
	request, f := s.contract.readEnvelope(m.Data, m.Header.Get(headerContentType), s.options.MaxEnvelope, open)
	defer request.release()
	h := bus.Header{headerContentType: {request.version.contentType()}, headerStatus: {"200"}}
	var out []byte
	if f == nil {
		out, f = s.call(ctx, request, m.Header)
	}
	s.settle(ctx, request, f)
	s.meters.answered(request.name, f, began)
	if request.secrecy.timed() {
		s.evenOut(ctx, began)
	}
	if request, f = request.veiled(f); f == nil {
		out, f = s.protect(request, out)
	}
	if f == nil {
		request.markChanges(h, nil)
		return request.addressing.answered(out, h, false)
	}
	return s.refused(ctx, request, f, m.Header)
}

// refused answers with a fault.
func (s *Service) refused(ctx context.Context, r *request, f *failure, asked bus.Header) ([]byte, bus.Header, error) {
	h := bus.Header{headerContentType: {r.version.contentType()}, headerStatus: {"500"}}
	f.requestID = asked.Get(headerRequestID)
	s.refusal(ctx, f, asked)
	if f.Code == fault.Internal {
		s.options.Logger.LogAttrs(ctx, slog.LevelError, "envelope not answered", slog.String("request_id", f.requestID), slog.Any("error", f.Error))
	}
	r.markChanges(h, f)
	if after := f.retryAfter(); after > 0 {
		h.Set(headerRetryAfter, strconv.Itoa(after))
	}
	header := r.addressing.forFault().appendReply(r.echo, s.contract.faultAction(r, f))
	out := f.envelope(r.version, s.contract.namespace, header)
	if protected, f := s.protect(r, out); f == nil {
		out = protected
	}
	return r.addressing.answered(out, h, true)
}

// call does what the envelope asks for.
func (s *Service) call(ctx context.Context, r *request, h bus.Header) ([]byte, *failure) {
	r.sent, r.private, r.addresses = sentOf(h), h.Get(headerPrivate) == "1", h[headerAddress]
	op, f := s.contract.operation(r, h.Get(headerAction))
	if f != nil {
		return nil, f
	}
	r.name = op.name
	if op.kind == kindInfo {
		return s.runInfo(ctx, op, r)
	}
	who, f := s.principal(ctx, r, h)
	if f != nil {
		return nil, f
	}
	if who.Anonymous() {
		r.network = quota.Network(quota.Client(ctx)) + " "
	}
	return s.traced(ctx, who, op, r)
}

// callerContext carries the address that the gateway was called from, and whether
// the call came again.
func callerContext(ctx context.Context, h bus.Header) context.Context {
	if h.Get(headerAgain) != "" {
		ctx = context.WithValue(ctx, againKey{}, true)
	}
	client, err := netip.ParseAddr(h.Get(headerClient))
	if err != nil {
		return ctx
	}
	return quota.WithClient(ctx, client)
}

// catchUp returns when reads show what the log holds now. Callers of SOAP carry no
// position from a write to the read that follows it, and the two may reach
// different workers.
func (s *Service) catchUp(ctx context.Context) error {
	if s.options.WaitFor == nil {
		return nil
	}
	_, last, err := s.bus.State(ctx)
	if err != nil {
		return err
	}
	return s.options.WaitFor(ctx, last)
}
