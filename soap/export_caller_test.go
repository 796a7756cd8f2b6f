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
	c := &contract{namespace: "urn:tidings:v1:SocialService"}
	r, f := c.readEnvelope(envelope, "text/xml", len(envelope), nil)
	if f != nil {
		return nil, f.Error
	}
	token, f := r.readSecurity(now)
	if f != nil {
		return nil, f.Error
	}
	if token == nil {
		return nil, nil
	}
	return &Credentials{token.user, token.password, token.digest, token.nonce, token.created}, nil
}
