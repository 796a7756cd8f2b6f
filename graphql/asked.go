package graphql

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"

	"tidings/fault"
	"tidings/internal/rawjson"
)

// The headers by which a request asks for more than its operation, and by
// which its answer tells more. docs/operations.md says what they mean.
const (
	// HeaderPosition of a request waits for a position, of an answer tells one.
	HeaderPosition = "Tidings-Position"
	// HeaderWant lists what the answer's extensions shall tell: "position".
	HeaderWant = "Tidings-Want"
	// HeaderCost asks by "1" for extensions.cost: what the operation was
	// estimated to cost, the caller's budget, and what it did cost.
	HeaderCost = "Tidings-Cost"
	// HeaderIdempotencyKey makes a mutation that is sent again harmless.
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderReplayed of an answer says that it is the one that was given before.
	HeaderReplayed = "Idempotency-Replayed"
)

// ReadHeader takes from a request's header what may also stand in the
// request's extensions. The fault is BadRequest.
func (r *Request) ReadHeader(h http.Header) error {
	r.Position = h.Get(HeaderPosition)
	r.WantCost = r.WantCost || h.Get(HeaderCost) == "1"
	for _, list := range h.Values(HeaderWant) {
		for word := range strings.SplitSeq(list, ",") {
			r.WantPosition = r.WantPosition || strings.TrimSpace(word) == "position"
		}
	}
	keys := h.Values(HeaderIdempotencyKey)
	if len(keys) == 0 {
		return nil
	}
	if len(keys) > 1 {
		return fault.New(fault.BadRequest, "send one %s", HeaderIdempotencyKey)
	}
	var err error
	r.IdempotencyKey, err = parseKey(keys[0])
	return err
}

// asked is what a request asks for beside its operation. It does not hold the
// request itself, which may be large, while a subscription lasts.
type asked struct {
	position string // to wait for
	tell     bool   // a position
	cost     bool   // is to be told
	key      string // of idempotency
	sent     *Sent  // of a mutation without a key
}

func (r *Request) asked() asked {
	return asked{position: r.Position, tell: r.WantPosition, cost: r.WantCost, key: r.IdempotencyKey, sent: r.Sent}
}

// readExtensions reads what the extensions ask for into r, where the headers
// have not asked already, and returns the hash of Apollo's persisted query.
// Members that are not known here are ignored. The fault is BadRequest.
func (r *Request) readExtensions() (hash string, err error) {
	raw := bytes.TrimSpace(r.Extensions)
	if rawjson.IsNull(raw) {
		return "", nil
	}
	notObject := rawjson.Members(raw, func(key, value []byte) {
		if err != nil || rawjson.IsNull(value) {
			return
		}
		switch plainKey(key) {
		case "persistedQuery":
			hash, err = readPersistedQuery(value)
		case "position":
			err = r.readPosition(value)
		case "idempotencyKey":
			err = r.readKey(value)
		case "cost":
			r.WantCost = r.WantCost || string(value) == "true"
		}
	})
	if notObject != nil {
		return "", fault.New(fault.BadRequest, "\"extensions\" must be an object")
	}
	return hash, err
}

// plainKey is the name of a member, whichever way it was written.
func plainKey(key []byte) string {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key)
	}
	return rawjson.Unquote(slices.Concat([]byte(`"`), key, []byte(`"`)))
}

func readPersistedQuery(raw []byte) (hash string, err error) {
	version := ""
	notObject := rawjson.Members(raw, func(key, value []byte) {
		switch plainKey(key) {
		case "version":
			version = string(value)
		case "sha256Hash":
			hash = rawjson.Unquote(value)
		}
	})
	if notObject != nil || version != "1" || hash == "" {
		return "", fault.New(fault.BadRequest, "Unsupported persisted query: send {version: 1, sha256Hash: String}")
	}
	return hash, nil
}

// readPosition reads a position to wait for, or the wish to be told one.
func (r *Request) readPosition(raw []byte) error {
	switch {
	case string(raw) == "false":
		return nil
	case string(raw) == "true":
	case raw[0] == '"':
		r.Position = cmp.Or(r.Position, rawjson.Unquote(raw))
	default:
		return fault.New(fault.BadRequest, "extensions.position must be a position to wait for, or true to be told one")
	}
	r.WantPosition = true
	return nil
}

func (r *Request) readKey(raw []byte) error {
	key := rawjson.Unquote(raw)
	if !validKey(key) {
		return errKey
	}
	r.IdempotencyKey = cmp.Or(r.IdempotencyKey, key)
	return nil
}

// maxKey bounds an idempotency key, in bytes.
const maxKey = 255

var errKey = fault.New(fault.BadRequest, "an idempotency key has 1 to %d printable ASCII characters; a UUID is a good one", maxKey)

// parseKey reads the header's value: a string of Structured Fields (RFC 8941,
// 3.3.3), or the bare key, as most clients send it.
func parseKey(value string) (string, error) {
	value = strings.Trim(value, " \t")
	key := value
	if inner, quoted := strings.CutPrefix(value, `"`); quoted {
		var ok bool
		if key, ok = unescape(inner); !ok {
			return "", errKey
		}
	}
	if !validKey(key) {
		return "", errKey
	}
	return key, nil
}

// unescape reads a string of Structured Fields after its opening quote.
func unescape(text string) (string, bool) {
	var out []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return string(out), i == len(text)-1
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			out = append(out, text[i])
		case c == '\\':
			return "", false
		default:
			out = append(out, c)
		}
	}
	return "", false
}

func validKey(key string) bool {
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return key != "" && len(key) <= maxKey
}
