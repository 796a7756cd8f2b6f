package soap

import (
	"crypto/x509"

	"tidings/fault"
	"tidings/wssec"
	"tidings/xmltree"
)

// secrecy is what of a message came encrypted, and for whom its answer is to be.
// The zero value is that of a message in the clear.
type secrecy struct {
	message   *wssec.Opened     // nil: nothing was encrypted
	recipient *x509.Certificate // of the sender; nil: none is known
}

// open decrypts a message to us.
func (s *Service) open(r *request) *failure {
	security := r.security()
	if !security.Exists() || !wssec.IsEncrypted(security) {
		return nil
	}
	o, err := wssec.Open(r.tree, security, s.options.Keys.Ring(), wssec.Allow{})
	if err != nil {
		return undecipherable(err)
	}
	r.tree, r.secrecy.message = o.Tree, o
	return nil
}

// security is the first Security header for us.
func (r *request) security() xmltree.Elem {
	for header := range r.tree.Root().Children() {
		if !header.Is(envelopeNS[r.version], "Header") {
			continue
		}
		for block := range header.Children() {
			if block.Is(wsseNS, "Security") && r.forUs(block) {
				return block
			}
		}
	}
	return xmltree.Elem{}
}

// opened reports whether an element of the Security header says how others were
// encrypted, all of which was decrypted.
func (s *secrecy) opened(e xmltree.Elem) bool {
	return s.message != nil && wssec.IsEncryption(e)
}

// conceal encrypts an answer: where the request was encrypted, and its sender's
// certificate is known.
func (r *request) conceal(out []byte) ([]byte, *failure) {
	if r.secrecy.message == nil || r.secrecy.recipient == nil {
		return out, nil
	}
	out, err := wssec.Encrypt(out, r.secrecy.recipient, r.secrecy.message.Method)
	if err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// undecipherable is the failure of a message that cannot be decrypted. The code
// and the message are all that its sender learns.
func undecipherable(err *wssec.Error) *failure {
	message := "the message cannot be decrypted"
	if err.Code == wssec.UnsupportedAlgorithm {
		message = "the message is encrypted by an algorithm that is not accepted: use AES-GCM and RSA-OAEP"
	}
	return &failure{Error: fault.Wrap(err, fault.Unauthenticated, "%s", message), wire: wire(err.Code)}
}
