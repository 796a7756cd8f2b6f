package soap

import (
	"tidings/fault"
	"tidings/schema"
)

// Fault writes a fault with a code, and that of WS-Security if it has one.
func Fault(twelve bool, code fault.Code, security string) []byte {
	f := &failure{Error: fault.New(code, "because"), wire: wire(security)}
	if twelve {
		return f.envelope(soap12, "urn:x", nil)
	}
	return f.envelope(soap11, "urn:x", nil)
}

// NewCodecWith returns the codec of a schema with options of its own.
func NewCodecWith(m *schema.Model, o Options) (*Codec, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newContract(m, o)
	return &Codec{c}, err
}
