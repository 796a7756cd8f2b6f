package soap

import (
	"encoding/json"
	"time"

	"tidings/fault"
	"tidings/schema"
	"tidings/xmltree"
)

// WSDL prints the contract of a schema.
func WSDL(m *schema.Model, o Options, twelve bool) ([]byte, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	base, err := o.base()
	if err != nil {
		return nil, err
	}
	c, err := newContract(m, o)
	if err != nil {
		return nil, err
	}
	return c.wsdl(base+c.path(), twelve), nil
}

// Document returns the GraphQL document behind an operation.
func Document(m *schema.Model, operation string) (string, error) {
	o, err := Options{}.withDefaults()
	if err != nil {
		return "", err
	}
	c, err := newContract(m, o)
	if err != nil {
		return "", err
	}
	return c.byName[operation].document, nil
}

// Documents returns those behind all operations, by their names.
func Documents(m *schema.Model) (map[string]string, error) {
	c, err := newContract(m, Options{Service: "Service", Version: "v1", Namespace: "urn:x"})
	if err != nil {
		return nil, err
	}
	documents := map[string]string{}
	for _, op := range c.operations {
		if op.document != "" {
			documents[op.name] = op.document
		}
	}
	return documents, nil
}

// Codec reads requests and writes answers without a service.
type Codec struct{ contract *contract }

// NewCodec returns the codec of a schema, with the default options.
func NewCodec(m *schema.Model) (*Codec, error) {
	o, err := Options{}.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newContract(m, o)
	return &Codec{c}, err
}

// Decode reads an envelope to the operation's name and its variables as JSON.
func (c *Codec) Decode(envelope []byte, contentType string) (operation string, variables []byte, err error) {
	r, f := c.contract.readEnvelope(envelope, contentType, xmltree.MaxBytes, nil)
	defer r.release()
	if f != nil {
		return "", nil, f.Error
	}
	if _, f := r.readSecurity(time.Now()); f != nil {
		return "", nil, f.Error
	}
	op, f := c.contract.operation(r, "")
	if f != nil {
		return "", nil, f.Error
	}
	if op.kind == kindBatch {
		variables, err = c.decodeBatch(op, r)
		return op.name, variables, err
	}
	variables, err = c.contract.variables(op, r.payload)
	return op.name, variables, err
}

// Encode writes the answer to a response of the engine, or the fault.
func (c *Codec) Encode(operation string, response []byte) ([]byte, error) {
	op := c.contract.byName[operation]
	out, f := c.contract.answered(op, &request{}, response)
	if f != nil {
		return nil, f.Error
	}
	return out, nil
}

// Lexical reads a value of a GraphQL scalar and returns it as JSON.
func Lexical(m *schema.Model, scalar, text string) (string, error) {
	b := newBuilder(m)
	out, err := b.leaf(scalar).appendValue(nil, text)
	return string(out), err
}

// Waiting is how many pulls wait at a service.
func (s *Service) Waiting() int { return len(s.waiting) }

// Crowd takes the places of all pulls that may wait.
func (s *Service) Crowd() {
	for range maxWaiting {
		s.waiting <- struct{}{}
	}
}

// decodeBatch reads a batch to the list of its items' variables; null for one
// that cannot be read.
func (c *Codec) decodeBatch(op *operation, r *request) ([]byte, error) {
	call, err := c.contract.readBatch(op, r.payload)
	if err != nil {
		return nil, err
	}
	list := make([]json.RawMessage, len(call.items))
	for i, item := range call.items {
		if fault.Is(item.err, fault.Internal) {
			return nil, item.err
		}
		list[i] = item.variables
	}
	return json.Marshal(map[string]any{"items": list})
}

// Len is how many calls are remembered.
func (u *Undelivered) Len() int { return int(u.count.Load()) }
