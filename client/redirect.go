package client

import (
	"fmt"
	"net/http"
)

// mostRedirects is how many are followed, one after the other.
const mostRedirects = 10

// stay follows no redirect to another address: what is sent, token, password and
// input, is for the one that somebody has named, and not for whom that one names, be
// it the same host without TLS.
func stay(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	if to.URL.Scheme == from.Scheme && to.URL.Host == from.Host {
		if len(via) < mostRedirects {
			return nil
		}
		return &Refusal{Code: "REDIRECTED", Message: from.Redacted() + " leads round in circles"}
	}
	return &Refusal{Code: "REDIRECTED", Message: fmt.Sprintf("%s://%s leads to %s://%s, and nothing was sent there", from.Scheme, from.Host, to.URL.Scheme, to.URL.Host), Remedy: "if that is the address of the service, name it"}
}
