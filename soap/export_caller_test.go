package soap

import "time"

// Credentials are what a UsernameToken holds.
type Credentials struct {
	User, Password string
	Digest, Nonce  []byte
	Created        string
}

// ReadCredentials reads the UsernameToken of an envelope; nil when there is none.
func ReadCredentials(envelope []byte, now time.Time) (*Credentials, error) {
	r, f := readEnvelope(envelope, "text/xml", "urn:tidings:v1:SocialService", len(envelope), nil)
	if f != nil {
		return nil, f.Error
	}
	c, f := r.readSecurity(now)
	if f != nil {
		return nil, f.Error
	}
	if c == nil {
		return nil, nil
	}
	return &Credentials{c.user, c.password, c.digest, c.nonce, c.created}, nil
}
