package soap

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"tidings/fault"
	"tidings/graphql"
	"tidings/xmltree"
)

// A call that changes something may be sent again when its answer was lost. Its
// name is the idempotencyKey of the header RequestOptions, or wsa:MessageID; the
// engine keeps the answer under it, and the caller's subject, for all workers.

const (
	optionsName = "RequestOptions"
	keyName     = "idempotencyKey"
	maxKey      = 255
)

// identify tells the engine how the call is named, if it is.
func (s *Service) identify(r *request, q *graphql.Request) (f *failure) {
	q.Sent = r.sent
	q.IdempotencyKey, f = s.nameOf(r)
	return f
}

// nameOf is the name of a call under which its answer is kept; empty for none.
func (s *Service) nameOf(r *request) (name string, f *failure) {
	key, err := r.idempotencyKey(s.contract.namespace)
	switch {
	case err != nil:
		return "", failed(err)
	case key != "" && !r.intact(s.contract.namespace, optionsName):
		return "", insecure(invalidSecurity, "over http, the header "+optionsName+" of a signed message must be signed, too")
	case key != "":
		return r.storedKey("key", key), nil
	case r.addressing.messageID != "" && s.engine.KeepsAnswers() && r.intact(r.addressing.dialect.namespace, "MessageID"):
		r.named = true
		return r.storedKey("message", r.addressing.messageID), nil
	}
	return "", nil
}

// intact reports whether the header blocks of a name are what the sender wrote,
// as far as that can be told: nobody on the way could change them, or the message
// is signed and they are, too. With the name of an older message a signed one
// would get that one's answer, and not be carried out.
func (r *request) intact(space, local string) bool {
	if r.private || r.signed == nil {
		return true
	}
	for _, block := range r.headers {
		if block.Is(space, local) && !r.signed.Covers(block) {
			return false
		}
	}
	return true
}

// storedKey is a key as the engine gets it: apart from those of GraphQL and, of
// callers without a name, of those at other addresses; and of one length.
func (r *request) storedKey(kind, key string) string {
	sum := sha256.Sum256([]byte(r.network + key))
	return "soap-" + kind + "-" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// idempotencyKey reads the key of the header RequestOptions; empty without one.
func (r *request) idempotencyKey(namespace string) (key string, err error) {
	for _, block := range r.headers {
		if !block.Is(namespace, optionsName) {
			continue
		}
		for e := range block.Children() {
			n := e.Name()
			if n.Local != keyName || n.Space != "" && n.Space != namespace {
				return "", fault.New(fault.BadRequest, "the header %s has no element %.100s; it takes %s", optionsName, n.Local, keyName)
			}
			if key != "" {
				return "", fault.New(fault.BadRequest, "the header %s is given with two keys", optionsName)
			}
			if key = xmltree.Trim(e.Text()); e.HasElements() || !printable(key) || len(key) > maxKey || key == "" {
				return "", fault.New(fault.BadRequest, "an %s has 1 to %d printable ASCII characters; a UUID is a good one", keyName, maxKey)
			}
		}
	}
	return key, nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// explained says of a key that was used before which one is meant, where the
// caller sent none but a wsa:MessageID.
func (r *request) explained(f *failure) *failure {
	if f != nil && r.named && f.Code == fault.Conflict && strings.HasPrefix(f.Message, graphql.KeyConflict) {
		f.Error = fault.New(fault.Conflict, "the wsa:MessageID was used for another call, or with other rights; give each message its own")
	}
	return f
}
