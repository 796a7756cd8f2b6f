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
	doubtful  bool              // not known to be of who encrypted it, where that matters
	suspect   bool              // it was decrypted, and its sender is not known yet
	weak      bool              // a weak cipher was used, or may have been: some partner may use one
	recipient *x509.Certificate // of the sender; nil: none is known
}

// open decrypts a message to us; private: nobody on the way could read it.
//
// Anybody can encrypt for us, and who has overheard a message can send what is
// encrypted in it as a part of another: the answer, or a fault, would tell what it
// says. So where messages can be overheard, and wherever a cipher is weak, such a
// message is doubtful until a signature is found that covers what was encrypted,
// which nobody can make who does not know it.
func (s *Service) open(ctx context.Context, r *request, private bool) *failure {
	security := r.security()
	if !security.Exists() || !wssec.IsEncrypted(security) {
		return nil
	}
	if err := s.suspect(ctx, r); err != nil {
		return failed(err)
	}
	leave, busy := s.deciphering.enter(ctx)
	if busy != nil {
		return failed(busy)
	}
	defer leave()
	some := s.accounts.Allowances()
	o, err := wssec.Open(r.tree, security, s.options.Keys.Ring(), wssec.Allow{CBC: some.AllowCBC, RSA15: some.AllowRSA15})
	r.secrecy.weak = some.AllowCBC || some.AllowRSA15
	if err != nil {
		return undecipherable(err)
	}
	r.secrecy.weak = o.Weak != wssec.Allow{}
	r.tree, r.secrecy.message, r.secrecy.doubtful = o.Tree, o, !private || o.Weak != wssec.Allow{}
	return nil
}

// proved is bySignature, for messages that are not doubtful after it.
func (s *Service) proved(ctx context.Context, r *request, now time.Time) (caller, *failure) {
	who, f := s.bySignature(ctx, r, now)
	if f != nil || !r.secrecy.doubtful {
		return who, f
	}
	if !r.vouched(who.partner) {
		return caller{}, r.secrecy.doubt()
	}
	r.secrecy.doubtful = false
	return who, nil
}

// vouched reports whether the signature is of a partner that may encrypt as was
// done, and covers what was encrypted. What stands in the Security header is
// excepted unless it was encrypted weakly: no answer tells anything of it, and
// credentials in it must mean the same caller.
func (r *request) vouched(p auth.Partner) bool {
	weak := r.secrecy.message.Weak
	if r.signed == nil || weak.CBC && !p.AllowCBC || weak.RSA15 && !p.AllowRSA15 {
		return false
	}
	if weak == (wssec.Allow{}) {
		return r.secrecy.message.CoveredBy(r.signed, r.security())
	}
	return r.secrecy.message.CoveredBy(r.signed)
}

// veiled is the failure of a request as its sender may learn it. While it is
// doubtful whether that is who encrypted it, all failures are one, and the answer
// has no trace of the request: by its differences somebody could read what others
// sent.
func (r *request) veiled(f *failure) (*request, *failure) {
	if !r.secrecy.doubtful {
		return r, f
	}
	return &request{version: r.version}, r.secrecy.doubt()
}

// timed reports whether the time that the refusal of a message takes could tell
// what it says.
func (s *secrecy) timed() bool { return s.weak && (s.doubtful || s.message == nil) }

// doubt is the one failure of doubtful messages. Whether they are weak can be seen
// by everybody.
func (s *secrecy) doubt() *failure {
	if s.weak {
		return undecipherable(wssec.Undecipherable())
	}
	return insecure(wire(wssec.FailedCheck), "over http, all that is encrypted must be covered by the signature of its sender; until it is, no other mistake of the message is told")
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
