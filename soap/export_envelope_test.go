package soap

import (
	"context"

	"tidings/auth"
	"tidings/bus"
	"tidings/schema"
	"tidings/wssec"
)

// Reader reads envelopes as a Service does, up to who sent them.
type Reader struct{ service *Service }

// NewReader returns a reader with keys and accounts, without a bus.
func NewReader(m *schema.Model, keys *wssec.Keys, a *auth.Accounts) (*Reader, error) {
	v, err := auth.NewVerifier(auth.Options{Secret: make([]byte, 32)})
	if err != nil {
		return nil, err
	}
	o, err := Options{Keys: keys}.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newContract(m, o)
	return &Reader{&Service{contract: c, accounts: a, verifier: v, options: o, deciphering: newDeciphering()}}, err
}

// Read reads an envelope as far as it can be read; the error is the fault.
func (r *Reader) Read(envelope []byte, contentType string) error {
	h := bus.Header{headerPrivate: {"1"}}
	request, f := r.service.contract.readEnvelope(envelope, contentType, len(envelope), func(q *request) *failure { return r.service.open(context.Background(), q, true) })
	defer request.release()
	if f == nil {
		_, f = r.service.principal(context.Background(), request, h)
	}
	var op *operation
	if f == nil {
		op, f = r.service.contract.operation(request, "")
	}
	if f != nil {
		return f.Error
	}
	_, err := r.service.contract.variables(op, request.payload)
	return err
}
