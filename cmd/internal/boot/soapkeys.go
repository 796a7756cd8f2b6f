package boot

import (
	"errors"
	"fmt"

	"tidings/wssec"
)

// checkSOAPKeys refuses a key without its certificate, and the reverse.
func (c Config) checkSOAPKeys() error {
	if (c.SOAPKey == "") != (c.SOAPCert == "") {
		return errors.New("TIDINGS_SOAP_KEY and TIDINGS_SOAP_CERT belong together: name both files")
	}
	return nil
}

// openSOAPKeys reads the keys of SOAP messages, whose files may be exchanged
// while messages come.
func (r *Rooms) openSOAPKeys() error {
	c := r.config
	if c.SOAPKey == "" || !r.role.Writes {
		return nil
	}
	r.soapKeys = new(wssec.Keys)
	k, err := keep("the keys of SOAP messages", func(texts [][]byte) error {
		ring, err := wssec.ParseKeys(texts[0], texts[1])
		if err != nil {
			return fmt.Errorf("the keys %s and the certificates %s: %w", c.SOAPKey, c.SOAPCert, err)
		}
		r.soapKeys.Replace(ring)
		r.expiries.note("soap", newest(ring))
		return nil
	}, c.SOAPKey, c.SOAPCert)
	if err != nil {
		return err
	}
	r.kept = append(r.kept, k)
	return nil
}
