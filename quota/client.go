package quota

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type clientKey struct{}

// WithClient returns a context that carries the address that a call comes from.
func WithClient(ctx context.Context, a netip.Addr) context.Context {
	return context.WithValue(ctx, clientKey{}, a)
}

// Client returns the address that WithClient stored; the zero one when there is
// none: all such callers count as one.
func Client(ctx context.Context) netip.Addr {
	a, _ := ctx.Value(clientKey{}).(netip.Addr)
	return a
}

// Proxies are the networks of the proxies in front, whose X-Forwarded-For is
// believed. The zero value believes nobody.
type Proxies struct{ networks []netip.Prefix }

// ParseProxies reads a list of networks and addresses, separated by commas,
// such as "10.0.0.0/8, 2001:db8::/32, 192.0.2.7".
func ParseProxies(list string) (Proxies, error) {
	var p Proxies
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		network, err := parseNetwork(item)
		if err != nil {
			return Proxies{}, fmt.Errorf("%.60q is no network: write it as 10.0.0.0/8 or 2001:db8::/32, or a single address", item)
		}
		p.networks = append(p.networks, network)
	}
	return p, nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return netip.Prefix{}, err
		}
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("the network mixes IPv4 and IPv6")
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

func (p Proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Trust reports whether a request comes from one of the proxies.
func (p Proxies) Trust(r *http.Request) bool {
	at, ok := parseHop(r.RemoteAddr)
	return ok && p.trusts(at)
}

// maxHops bounds the proxies that a request is followed through.
const maxHops = 32

// Client returns the address that a request comes from: that of the connection,
// or, as far as the connection and each hop before it are proxies of ours, the
// one that X-Forwarded-For says, read from its end. So nobody can claim another
// address by sending the header. A hop that is no address ends the way: then it
// is the last proxy that counts. The address is zero when the request has none.
func (p Proxies) Client(r *http.Request) netip.Addr {
	at, ok := parseHop(r.RemoteAddr)
	if !ok || !p.trusts(at) {
		return at
	}
	values := r.Header.Values("X-Forwarded-For")
	hops := 0
	for _, value := range slices.Backward(values) {
		for value != "" {
			var hop string
			if i := strings.LastIndexByte(value, ','); i >= 0 {
				value, hop = value[:i], value[i+1:]
			} else {
				value, hop = "", value
			}
			next, ok := parseHop(strings.TrimSpace(hop))
			if hops++; !ok || hops > maxHops {
				return at
			}
			if at = next; !p.trusts(at) {
				return at
			}
		}
	}
	return at
}

// parseHop reads an address, with or without a port.
func parseHop(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")); err == nil {
		return a.Unmap().WithZone(""), true
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}
