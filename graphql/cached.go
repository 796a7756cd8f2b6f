package graphql

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"tidings/auth"
	"tidings/schema"
)

// varies are further request headers that an answer depends on: a shared cache
// must not give a request with a position what it got before.
const varies = ", " + HeaderPosition + ", " + HeaderWant + ", " + HeaderCost

// freshen sets what a cache may do with the answer to a GET, and reports
// whether the client has this very answer already, so that there is nothing
// more to send (RFC 9111 and 9110, 13.1.2). An answer with an error is not to
// be stored. What everybody may see and an anonymous caller got, shared caches
// may keep for Options.CacheMaxAge; all else is the caller's own.
func (a *answerer) freshen(op *operation, who auth.Principal, resp *Response) (unchanged bool) {
	if resp.Failed || resp.Code != "" || op.asked.tell || op.asked.cost {
		return false
	}
	h := a.w.Header()
	a.vary = varies
	if age := int(a.engine.options.CacheMaxAge.Seconds()); op.public(who) {
		h.Set("Cache-Control", "public, max-age="+strconv.Itoa(age))
	} else {
		h.Set("Cache-Control", "private, no-cache")
		a.vary += ", Authorization"
	}
	sum := sha256.Sum256(resp.Body)
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"` // weak: gzip has other bytes
	h.Set("ETag", tag)
	return matches(a.r.Header.Values("If-None-Match"), tag)
}

// matches compares a weak tag with an If-None-Match header.
func matches(header []string, tag string) bool {
	for _, line := range header {
		for item := range strings.SplitSeq(line, ",") {
			item = strings.TrimSpace(item)
			if item == "*" || strings.TrimPrefix(item, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}

// tell sets the headers of what an answer tells beside its body.
func (a *answerer) tell(resp *Response) {
	if resp.Position != "" {
		a.w.Header().Set(HeaderPosition, resp.Position)
	}
	if resp.Replayed {
		a.w.Header().Set(HeaderReplayed, "true")
	}
}

// notModified answers with the headers alone.
func (a *answerer) notModified() {
	a.exchange.Status = http.StatusNotModified
	a.w.Header().Add("Vary", "Accept, Accept-Encoding"+a.vary)
	a.w.WriteHeader(http.StatusNotModified)
}

// public reports whether the answer is the same for everybody: the caller is
// nobody, no rule asks for more than that, and neither a function nor
// introspection, which may look at the caller, has a part in it.
func (op *operation) public(who auth.Principal) bool {
	if !who.Anonymous() || op.rules()&^schema.Anyone != 0 {
		return false
	}
	for _, f := range op.plan.roots {
		if f.source != sourceTypename && f.generated == nil {
			return false
		}
	}
	return true
}
