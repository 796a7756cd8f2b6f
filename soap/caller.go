package soap

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
)

// caller is whom one of a message's credentials means. The zero value is nobody:
// the credential is not there.
type caller struct {
	auth.Principal
	partner auth.Partner // zero for tokens, which belong to no account
}

// principal says who sent the request, by the signature, the UsernameToken, HTTP's password,
// the certificate of the connection, and the token. Credentials that are wrong
// are refused, and so are two that mean different callers. Nobody is anonymous.
func (s *Service) principal(ctx context.Context, r *request, h bus.Header) (auth.Principal, *failure) {
	now := time.Now()
	token, f := r.readSecurity(now)
	if f != nil {
		return auth.Principal{}, f
	}
	var who caller
	for _, look := range [...]func() (caller, *failure){
		func() (caller, *failure) { return s.proved(ctx, r, now) },
		func() (caller, *failure) { return s.byToken(ctx, token, r.private || r.confidential(token)) },
		func() (caller, *failure) { return s.byHTTP(ctx, h[headerAuthorization], r.private) },
	} {
		found, f := look()
		if f != nil {
			return auth.Principal{}, f
		}
		if who, f = who.and(found); f != nil {
			return auth.Principal{}, f
		}
	}
	if who, f = s.byCertificate(who, h, now); f != nil {
		return auth.Principal{}, f
	}
	r.secrecy.recipient = r.recipient(who.partner)
	r.secrecy.suspect = r.secrecy.suspect && r.secrecy.doubtful
	return who.Principal, who.admissible(r)
}

// and is the caller whom two credentials mean: the first one's word counts.
func (c caller) and(other caller) (caller, *failure) {
	switch {
	case c.Anonymous():
		return other, nil
	case !other.Anonymous() && c.Subject != other.Subject:
		return caller{}, insecure(invalidSecurity, "the message has credentials of different callers")
	}
	return c, nil
}

// admissible refuses what the account's own rules refuse.
func (c caller) admissible(r *request) *failure {
	if c.partner.RequireSignature && r.signed == nil {
		return insecure(invalidSecurity, "messages of this account must be signed")
	}
	return nil
}

// byToken checks a UsernameToken; nil is none.
func (s *Service) byToken(ctx context.Context, c *credentials, private bool) (caller, *failure) {
	if c == nil {
		return caller{}, nil
	}
	tries := s.options.Quota.Tries(ctx, c.user)
	if c.digest == nil {
		if !private {
			return caller{}, insecure(invalidSecurity, "a password may come over https only, or encrypted in a message that its account has signed")
		}
		who, err := s.accounts.Password(c.user, c.password, tries)
		if err != nil {
			return caller{}, unknown(err)
		}
		return s.fresh(ctx, c, who)
	}
	who, err := s.accounts.Digest(auth.Digest{User: c.user, Nonce: c.nonce, Created: c.created, Sum: c.digest}, tries)
	if err != nil {
		return caller{}, unknown(err)
	}
	return s.fresh(ctx, c, who)
}

// fresh refuses a token whose nonce has come before. Only tokens that are good
// are remembered: strangers cannot fill the memory.
func (s *Service) fresh(ctx context.Context, c *credentials, who auth.Principal) (caller, *failure) {
	if c.nonce != nil {
		if f := s.once(ctx, who, "nonce", c.user, string(c.nonce), c.created); f != nil {
			return caller{}, f
		}
	}
	partner := s.accounts.Partner(c.user)
	if partner.Name == "" {
		return caller{}, unknown(fault.New(fault.Unauthenticated, "the credentials are wrong")) // removed since
	}
	return caller{who, partner}, nil
}

// once refuses what has come before. kind and parts are those of Replays.first.
// What the caller's rate will refuse is not remembered: so nobody fills the memory
// of all, and the same may be sent again.
func (s *Service) once(ctx context.Context, who auth.Principal, kind string, parts ...string) *failure {
	if err := s.options.Quota.Peek(ctx, who); err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch err := s.options.Replays.first(ctx, kind, parts...); {
	case errors.Is(err, errReplayed):
		return unknown(fault.Wrap(err, fault.Unauthenticated, "the credentials are wrong"))
	case err != nil:
		return failed(err)
	}
	return nil
}

// byHTTP checks the Authorization header: Basic (RFC 7617), for accounts, or
// Bearer.
func (s *Service) byHTTP(ctx context.Context, headers []string, private bool) (caller, *failure) {
	if len(headers) > 1 { // what stands in front may have looked at the other
		return caller{}, insecure(invalidSecurity, "there is more than one Authorization header")
	}
	header := strings.Join(headers, "")
	scheme, text, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "Basic") {
		who, err := s.verifier.Bearer(header)
		if err != nil {
			return caller{}, unknown(err)
		}
		return caller{Principal: who}, nil
	}
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	user, password, ok := strings.Cut(string(pair), ":")
	if err != nil || !ok || len(user) > maxUsername {
		return caller{}, insecure(invalidSecurity, "the Authorization header is not Basic and the base64 of name:password")
	}
	return s.byToken(ctx, &credentials{user: user, password: password}, private)
}

// byCertificate checks the certificate that the sender has shown to the gateway.
// One that no account has is no reason to refuse who has other credentials: it
// may be that of a proxy.
func (s *Service) byCertificate(who caller, h bus.Header, now time.Time) (caller, *failure) {
	chain, err := certificatesOf(h)
	if err != nil {
		return caller{}, failed(err)
	}
	if len(chain) == 0 {
		return who, nil
	}
	owner, partner, err := s.accounts.Certificate(chain, now)
	if err != nil {
		if who.Anonymous() {
			return caller{}, unknown(err)
		}
		return who, nil
	}
	return who.and(caller{owner, partner})
}

// unknown is the failure of who is not known by credentials, or may not try any
// more.
func unknown(err error) *failure {
	if fault.Is(err, fault.Unauthenticated) {
		return &failure{Error: fault.Of(err), wire: failedAuthentication}
	}
	return failed(err)
}

// refusal logs why a caller was refused, which the answer does not say.
func (s *Service) refusal(ctx context.Context, f *failure, h bus.Header) {
	if f.Code == fault.Unauthenticated && f.Err != nil {
		s.options.Logger.LogAttrs(ctx, slog.LevelInfo, "a caller of SOAP was refused", slog.String("request_id", f.requestID),
			slog.String("remote_ip", h.Get(headerClient)), slog.Any("reason", f.Err))
	}
}
