package boot

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"sync"
	"time"

	"tidings/internal/proc"
	"tidings/wssec"
)

// expiries is until when the certificates are good that this process shows, by what
// it shows them for. The zero value has none.
type expiries struct {
	mu sync.Mutex
	by map[string]time.Time
}

// note takes what is in force from now on. One that stands in the way of a chain ends
// it: the first that ends counts.
func (e *expiries) note(use string, chain ...*x509.Certificate) {
	if len(chain) == 0 {
		return
	}
	end := chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by == nil {
		e.by = map[string]time.Time{}
	}
	e.by[use] = end
}

func (e *expiries) measure(m *proc.Metrics) {
	m.Read("tidings_certificate_expires_timestamp_seconds", "Until when a certificate that this process shows is good, in seconds of Unix time: the one in force, or the first of its chain that ends.", func(tell func(float64, ...string)) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for use, end := range maps.All(e.by) {
			tell(float64(end.Unix()), use)
		}
	}, "use")
}

// certificates are those of a PEM text that was found good before.
func certificates(text []byte) (list []*x509.Certificate) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, c)
		}
	}
	return list
}

// newest is the certificate of a ring that is good for longest: partners change from
// the others to it.
func newest(ring wssec.Keyring) *x509.Certificate {
	last := ring[0].Certificate
	for _, k := range ring[1:] {
		if k.Certificate.NotAfter.After(last.NotAfter) {
			last = k.Certificate
		}
	}
	return last
}
