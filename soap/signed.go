package soap

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/wssec"
)

// bySignature checks the signature of a message, if it has one: it must cover the
// Body that is carried out and a recent Timestamp, by the certificate of an
// account, and must not have come before where that could do harm. What it says of
// where it goes must be here. Only messages that are good are remembered.
func (s *Service) bySignature(ctx context.Context, r *request, now time.Time) (caller, *failure) {
	security := r.security() // readSecurity has found no other
	if !security.Exists() || !wssec.HasSignature(security) {
		return caller{}, nil
	}
	t := &trust{accounts: s.accounts, now: now}
	signed, err := wssec.Verify(wssec.Message{Envelope: r.tree.Root(), Body: r.body, Security: security}, t, now)
	if err != nil {
		return caller{}, unproved(err)
	}
	r.signed = signed
	if f := r.checkTo(s.contract); f != nil {
		return caller{}, f
	}
	if s.mustComeOnce(r) {
		if f := s.once(ctx, t.caller.Principal, "signature", string(signed.Sum[:])); f != nil {
			r.signed = nil // the answer to it is worth no signature
			return caller{}, repeated(f)
		}
	}
	if s.seals(r) {
		r.echo = nil
	}
	return t.caller, nil
}

// mustComeOnce reports whether a signed message does harm when it comes again: it
// changes something, and the engine does not know by its name that it has.
func (s *Service) mustComeOnce(r *request) bool {
	if r.op != nil && !r.op.mutation {
		return false
	}
	name, err := s.nameOf(r)
	return err != nil || name == ""
}

// repeated says of a message that has come before that it has: its sender may be
// one whose Timestamps have whole seconds, and whoever has overheard it knows.
func repeated(f *failure) *failure {
	if errors.Is(f.Error, errReplayed) {
		f.Error = fault.Wrap(errReplayed, fault.Unauthenticated, "the same message has come before: give each a Timestamp with milliseconds, or a name of its own, an %s or a wsa:MessageID, which must be signed too over http", keyName)
	}
	return f
}

// trust is what wssec asks about certificates: accounts know.
type trust struct {
	accounts *auth.Accounts
	now      time.Time
	caller   caller // whom the certificate means, once it is believed
}

// Find returns the certificates of accounts that a name may mean.
func (t *trust) Find(n wssec.Name) []*x509.Certificate {
	return t.accounts.FindCertificates(auth.CertificateRef{Thumbprint: n.Thumbprint, KeyID: n.KeyID, Serial: n.Serial})
}

// Believe keeps whom a chain means.
func (t *trust) Believe(chain []*x509.Certificate) (allowSHA1 bool, err error) {
	t.caller.Principal, t.caller.partner, err = t.accounts.Certificate(chain, t.now)
	return t.caller.partner.AllowSHA1, err
}

// protect signs and encrypts an answer, as far as its request was.
func (s *Service) protect(r *request, out []byte) ([]byte, *failure) {
	out, f := s.seal(r, out)
	if f != nil {
		return nil, f
	}
	return r.conceal(out)
}

// seal signs an answer, if its request was signed and there is a key.
func (s *Service) seal(r *request, out []byte) ([]byte, *failure) {
	if !s.seals(r) {
		return out, nil
	}
	var confirm []byte
	if r.signed.Eleven {
		confirm = r.signed.Value
	}
	out, err := s.options.Keys.Ring().Sign(out, confirm, time.Now())
	if err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// seals reports whether the answer is signed. The signature brings the Timestamp
// of the answer with it.
func (s *Service) seals(r *request) bool { return r.signed != nil && len(s.options.Keys.Ring()) > 0 }

// unproved is the failure of a message whose signature proves nothing. A forger
// learns the code and no more; the reason is for the log.
func unproved(err error) *failure {
	e, ok := errors.AsType[*wssec.Error](err)
	if !ok {
		return failed(err)
	}
	text := "the Security header is malformed, or has no Timestamp beside its signature"
	switch e.Code {
	case wssec.FailedAuthentication:
		text = "the credentials are wrong"
	case wssec.MessageExpired:
		text = "the message has expired: check the clock of the sender"
	case wssec.UnsupportedAlgorithm:
		text = "an algorithm of the signature is not accepted: use RSA or ECDSA with SHA-256 and exclusive canonicalization"
	case wssec.UnsupportedSecurityToken, wssec.InvalidSecurityToken, wssec.TokenUnavailable:
		text = "the certificate of the signature is not found, or cannot be read"
	case wssec.FailedCheck:
		text = "the signature is wrong, or does not cover the Body and the Timestamp"
	}
	return &failure{Error: fault.Wrap(err, fault.Unauthenticated, "%s", text), wire: wire(e.Code)}
}
