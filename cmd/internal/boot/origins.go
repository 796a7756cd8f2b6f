package boot

import (
	"fmt"
	"net/url"
	"strings"
)

// checkOrigins refuses what no browser would ever send as an Origin: it would
// be compared in vain, and nobody would know why.
func checkOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		bare := err == nil && u.Scheme != "" && u.Host != "" && o == u.Scheme+"://"+u.Host && !strings.Contains(o, "*")
		if o != "*" && !bare {
			return fmt.Errorf(`TIDINGS_ORIGINS: %q is no origin: write scheme, host and port only, such as https://app.example.com or http://localhost:5173, or "*" for all`, o)
		}
	}
	return nil
}
