package graphql

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// Negotiate returns the one of the offered media types that the Accept headers
// prefer, as RFC 9110 (12.5.1) says: of ranges that match an offer the most
// specific one gives its quality. Between equals the one that stands first in
// the header wins, then the one that is offered first. Without a header that is
// the first offer; it is empty when none is acceptable.
func Negotiate(accept []string, offers ...string) string {
	switch {
	case len(accept) == 0:
		return offers[0]
	case len(accept) == 1 && accept[0] == "*/*":
		return offers[0]
	case len(accept) == 1 && slices.Contains(offers, accept[0]): // what most clients send
		return accept[0]
	}
	ranges := acceptable(accept)
	best, chosen := preference{}, ""
	for _, offer := range offers {
		if p := preferenceFor(offer, ranges); p.quality > 0 && (chosen == "" || p.before(best)) {
			best, chosen = p, offer
		}
	}
	return chosen
}

// mediaRange is one item of an Accept header.
type mediaRange struct {
	media   string
	quality float64
}

// maxRanges bounds the items of a header that are looked at.
const maxRanges = 50

// acceptable reads the ranges of a header; what cannot be read is left out.
func acceptable(accept []string) []mediaRange {
	var list []mediaRange
	for item := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(item))
		if err != nil {
			continue
		}
		if list = append(list, mediaRange{media, qualityOf(params["q"])}); len(list) == maxRanges {
			break
		}
	}
	return list
}

// qualityOf reads a weight (RFC 9110, 12.4.2). One that cannot be read counts as
// none given.
func qualityOf(text string) float64 {
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 1
	}
	return q
}

// preference is how much a client wants a media type.
type preference struct {
	quality float64
	at      int // place in the header
}

func (p preference) before(o preference) bool {
	return p.quality > o.quality || p.quality == o.quality && p.at < o.at
}

func preferenceFor(offer string, ranges []mediaRange) (p preference) {
	family, _, _ := strings.Cut(offer, "/")
	specific := 0
	for i, r := range ranges {
		match := 0
		switch r.media {
		case offer:
			match = 3
		case family + "/*":
			match = 2
		case "*/*":
			match = 1
		}
		if match > specific {
			specific, p = match, preference{r.quality, i}
		}
	}
	return p
}

// AcceptsGzip reports whether the Accept-Encoding headers allow gzip, and do not
// prefer that nothing is encoded.
func AcceptsGzip(accept []string) bool {
	gzip, any, identity := -1.0, 0.0, 0.0
	for item := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		coding, params, _ := strings.Cut(item, ";")
		quality := 1.0
		if name, value, ok := strings.Cut(strings.TrimSpace(params), "="); ok && strings.EqualFold(strings.TrimSpace(name), "q") {
			quality = qualityOf(strings.TrimSpace(value))
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			gzip = quality
		case "*":
			any = quality
		case "identity":
			identity = quality
		}
	}
	if gzip < 0 {
		gzip = any
	}
	return gzip > 0 && gzip >= identity
}
