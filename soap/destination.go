package soap

import (
	"net/url"
	"slices"
	"strings"

	"tidings/bus"
	"tidings/xmltree"
)

// headerAddress has the public addresses of the service, on the bus: a worker need
// not be told them.
const headerAddress = "Tidings-Address"

// AnyAddress among Options.Addresses: a signed wsa:To may name any service.
const AnyAddress = "*"

// setAddresses tells a worker how the service is reached.
func (g *Gateway) setAddresses(h bus.Header) {
	if !slices.Contains(g.options.Addresses, AnyAddress) {
		h[headerAddress] = g.addresses
	}
}

// checkTo refuses a message whose signature covers a wsa:To that names another
// service: what was signed for that one must not be carried out here. Proxies
// change schemes and ports, so hosts and paths are held against each other alone.
// Without a signature over it wsa:To says nothing, since anybody may have written
// it.
func (r *request) checkTo(c *contract) *failure {
	to := r.addressing.to
	if len(r.addresses) == 0 || !to.Exists() || !r.signed.Covers(to) {
		return nil
	}
	said := xmltree.Trim(to.Text())
	if said == r.addressing.dialect.anonymous || slices.ContainsFunc(r.addresses, func(a string) bool { return c.isAt(a, said) }) {
		return nil
	}
	return r.addressing.refuse(invalidAddress, "To", "the message is signed for another service: wsa:To must be "+r.addresses[0]+c.path())
}

// isAt reports whether an address is that of this service below a base URL, or the
// base itself, for those that are no URLs.
func (c *contract) isAt(base, address string) bool {
	here, errHere := url.Parse(strings.TrimRight(base, "/"))
	there, errThere := url.Parse(strings.TrimRight(address, "/"))
	if errHere != nil || errThere != nil || here.Host == "" {
		return base == address
	}
	if !strings.EqualFold(here.Hostname(), there.Hostname()) {
		return false
	}
	path, below := strings.CutPrefix(there.Path, here.Path)
	return below && (path == c.path() || path == "/"+c.service)
}
