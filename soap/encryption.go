package soap

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/wssec"
	"tidings/xmltree"
)

// secrecy is what of a message came encrypted, and for whom its answer is to be.
// The zero value is that of a message in the clear.
type secrecy struct {
	message   *wssec.Opened     // nil: nothing was encrypted
	doubtful  bool              // encrypted weakly, and not known to be a partner's that may do so
	recipient *x509.Certificate // of the sender; nil: none is known
}

// open decrypts a message to us.
func (s *Service) open(r *request) *failure {
	security := r.security()
	if !security.Exists() || !wssec.IsEncrypted(security) {
		return nil
	}
	some := s.accounts.Allowances()
	o, err := wssec.Open(r.tree, security, s.options.Keys.Ring(), wssec.Allow{CBC: some.AllowCBC, RSA15: some.AllowRSA15})
	if err != nil {
		return undecipherable(err)
	}
	r.tree, r.secrecy.message, r.secrecy.doubtful = o.Tree, o, o.Weak != wssec.Allow{}
	return nil
}

// proved is bySignature. What was encrypted weakly is taken from partners that may
// do so, and that signed all of it.
func (s *Service) proved(ctx context.Context, r *request, now time.Time) (caller, *failure) {
	who, f := s.bySignature(ctx, r, now)
	if f != nil || !r.secrecy.doubtful {
		return who, f
	}
	weak, may := r.secrecy.message.Weak, who.partner
	if r.signed == nil || weak.CBC && !may.AllowCBC || weak.RSA15 && !may.AllowRSA15 || !r.secrecy.message.CoveredBy(r.signed) {
		return caller{}, undecipherable(wssec.Undecipherable())
	}
	r.secrecy.doubtful = false
	return who, nil
}

// veiled is the failure of a request as its sender may learn it. While it is
// doubtful whether that is the partner who encrypted it, all failures are one, and
// the answer has no trace of the request: by its differences somebody could read
// what others sent.
func (r *request) veiled(f *failure) (*request, *failure) {
	if !r.secrecy.doubtful {
		return r, f
	}
	return &request{version: r.version}, undecipherable(wssec.Undecipherable())
}

// confidential reports whether nobody on the way could read a password, or send
// it again with something else: its token came encrypted in a signed message.
// Whose signature that is does not matter here: it must be the same caller's.
func (r *request) confidential(c *credentials) bool {
	return c != nil && r.signed != nil && r.secrecy.message != nil && r.secrecy.message.Encrypted(c.element)
}

// recipient is the certificate that answers are encrypted for: the partner's own
// choice, or that of the signature, if it is for that.
func (r *request) recipient(p auth.Partner) *x509.Certificate {
	if p.Encryption != nil || r.signed == nil {
		return p.Encryption
	}
	c := r.signed.Certificate
	if _, ok := c.PublicKey.(*rsa.PublicKey); !ok || c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageKeyEncipherment == 0 {
		return nil
	}
	return c
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
