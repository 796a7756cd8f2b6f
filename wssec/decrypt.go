package wssec

import (
	"crypto/rsa"
	"slices"

	"tidings/xmltree"
)

// The bounds of what one message may have decrypted.
const (
	maxKeys   = 4  // EncryptedKeys: each costs as much as a signature
	maxParts  = 16 // EncryptedData, those inside of others included
	maxRounds = 3  // EncryptedData inside each other
)

// Allow is what some partner may use although it is weak. Who is told of it must
// check that this very partner may, and that its signature covers what was
// decrypted (Opened.Weak).
type Allow struct {
	CBC   bool // content without a tag
	RSA15 bool // keys by RSAES-PKCS1-v1_5
}

// Opened is a message whose encrypted parts are in the clear.
type Opened struct {
	// Tree is the whole message, scanned again: nothing of the tree before it counts
	// any more. Without encrypted parts it is the same tree.
	Tree *xmltree.Tree
	// Weak is what was made use of.
	Weak Allow
	// Method is how the first part and its key were encrypted, for the answer.
	// The zero value means that nothing was.
	Method Method

	parts []part // that came encrypted
}

// Method is a way to encrypt: the zero value is none.
type Method struct {
	content string // URI
	key     keyTransport
}

// part is a run of bytes in the source.
type part struct{ from, to int }

// Encrypted reports whether an element of the tree came encrypted, all of it.
func (o *Opened) Encrypted(e xmltree.Elem) bool {
	from, to := e.Span()
	return slices.ContainsFunc(o.parts, func(p part) bool { return p.from <= from && to <= p.to })
}

// Undecipherable is the one answer to whatever goes wrong once a key is used. It
// has no cause: neither log nor answer helps to guess at what was encrypted.
func Undecipherable() *Error { return refuse(FailedCheck, "the message cannot be decrypted") }

// IsEncrypted reports whether a Security header holds keys or names parts to decrypt.
func IsEncrypted(security xmltree.Elem) bool {
	for e := range security.Children() {
		if IsEncryption(e) {
			return true
		}
	}
	return false
}

// IsEncryption reports whether an element of the Security header says how others
// are encrypted. Once the message is opened it means nothing any more.
func IsEncryption(e xmltree.Elem) bool {
	return e.Is(xencNS, "EncryptedKey") || e.Is(xencNS, "ReferenceList")
}

// Open decrypts the parts that a Security header lists, and those inside of them.
// Plain text takes the place of its EncryptedData in the source, where the
// namespaces of the place hold for it, and the whole is scanned anew under the
// limits of before. What cannot be seen in the message as it came fails with one
// error, whatever the cause.
//
// It works on a message that was signed and then encrypted; the reverse leaves a
// signature that does not fit what it finds.
func Open(t *xmltree.Tree, security xmltree.Elem, keys Keyring, allow Allow) (*Opened, *Error) {
	o := &Opened{Tree: t}
	if !IsEncrypted(security) {
		return o, nil
	}
	x := &opening{Opened: o, security: security, keys: keys, allow: allow, done: map[string]bool{}, clear: map[wrapped][]byte{}}
	for round := 0; ; round++ {
		if err := x.read(); err != nil {
			return nil, x.uniform(err)
		}
		if len(x.found) == 0 {
			break
		}
		if round == maxRounds {
			return nil, Undecipherable()
		}
		if err := x.decrypt(); err != nil {
			return nil, x.uniform(err)
		}
	}
	if len(x.done) == 0 || !x.complete() {
		return nil, x.uniform(refuse(InvalidSecurity, "a reference leads to no EncryptedData, or there is none"))
	}
	return o, nil
}

// opening is an Open under way.
type opening struct {
	*Opened
	security xmltree.Elem // of the tree as it is now
	keys     Keyring
	allow    Allow
	done     map[string]bool    // Ids of parts that are in the clear
	clear    map[wrapped][]byte // keys in the clear

	// Of this round:
	wrapped []encryptedKey
	listed  []string // Ids of ReferenceLists outside of keys
	found   []encryptedData
}

// wrapped names a key that was unwrapped: one that is used inside of what it
// encrypts need not be unwrapped again.
type wrapped struct {
	by    *rsa.PrivateKey
	how   keyTransport
	value string
	bytes int
}

// uniform hides which error it was, once a key was used.
func (x *opening) uniform(err *Error) *Error {
	if len(x.done) > 0 {
		return Undecipherable()
	}
	return err
}

// complete reports whether everything that is listed was decrypted.
func (x *opening) complete() bool {
	ids := x.listed
	for _, k := range x.wrapped {
		ids = append(ids, k.parts...)
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return !x.done[id] })
}

// read finds the keys, and the parts that are listed and still encrypted.
func (x *opening) read() *Error {
	x.wrapped, x.listed, x.found = nil, nil, nil
	for e := range x.security.Children() {
		switch {
		case e.Is(xencNS, "EncryptedKey"):
			k, err := readEncryptedKey(e)
			if err != nil {
				return err
			}
			if x.wrapped = append(x.wrapped, k); len(x.wrapped) > maxKeys {
				return refuse(InvalidSecurity, "there are more than %d EncryptedKeys", maxKeys)
			}
		case e.Is(xencNS, "ReferenceList"):
			ids, err := readReferenceList(e)
			if err != nil {
				return err
			}
			if x.listed = append(x.listed, ids...); len(x.listed) > maxParts {
				return refuse(InvalidSecurity, "more than %d parts are encrypted", maxParts)
			}
		}
	}
	return x.search(x.Tree.Root())
}

// search finds the EncryptedData in an element. Its depth is the tree's.
func (x *opening) search(e xmltree.Elem) *Error {
	if !e.Is(xencNS, "EncryptedData") {
		for child := range e.Children() {
			if err := x.search(child); err != nil {
				return err
			}
		}
		return nil
	}
	d, err := readEncryptedData(e)
	if err != nil {
		return err
	}
	twice := x.done[d.id] || slices.ContainsFunc(x.found, func(o encryptedData) bool { return o.id == d.id })
	switch {
	case d.id == "" || twice:
		return refuse(InvalidSecurity, "an EncryptedData has no Id, or one that is used twice")
	case len(x.done)+len(x.found) == maxParts:
		return refuse(InvalidSecurity, "more than %d parts are encrypted", maxParts)
	}
	x.found = append(x.found, d)
	return nil
}

// decrypt puts the plain text of all that was found in its place. It goes on to
// the end when something was wrong, so that it takes as long as if it were right.
func (x *opening) decrypt() *Error {
	splices := make([]splice, len(x.found))
	keys := map[int][]byte{} // in the clear, by the index in wrapped
	wrong := false
	for i, d := range x.found {
		n, err := x.keyOf(d)
		if err != nil {
			return err
		}
		key, known := keys[n]
		if !known {
			if key, err = x.unwrap(x.wrapped[n], d.cipher); err != nil {
				return err
			}
			keys[n] = key
		}
		data, bad := decodeBase64(d.value.Text())
		plain, failed := d.cipher.open(key, data)
		from, to := d.place.Span()
		splices[i] = splice{part{from, to}, d.place.Parent(), plain}
		wrong = wrong || bad != nil || failed != nil
	}
	for _, d := range x.found {
		x.done[d.id] = true
	}
	if err := x.replace(splices); err != nil || wrong {
		return Undecipherable()
	}
	return nil
}

// keyOf returns the index of the key that a part is encrypted by: the one that
// lists it, or the one that it names.
func (x *opening) keyOf(d encryptedData) (int, *Error) {
	n := slices.IndexFunc(x.wrapped, func(k encryptedKey) bool { return slices.Contains(k.parts, d.id) })
	if n < 0 && d.key != "" {
		n = slices.IndexFunc(x.wrapped, func(k encryptedKey) bool { return k.id == d.key })
	}
	if n < 0 {
		return n, refuse(TokenUnavailable, "no key of the header is that of an EncryptedData")
	}
	wrap := x.wrapped[n].wrap
	if wrap.uri == rsa15 && !x.allow.RSA15 {
		return n, refuse(UnsupportedAlgorithm, "keys encrypted by rsa-1_5 are accepted of partners that may use it: use RSA-OAEP")
	}
	if !d.cipher.gcm && !x.allow.CBC {
		return n, refuse(UnsupportedAlgorithm, "content encrypted in CBC is accepted of partners that may use it: use AES-GCM")
	}
	x.Weak.RSA15 = x.Weak.RSA15 || wrap.uri == rsa15
	x.Weak.CBC = x.Weak.CBC || !d.cipher.gcm
	if x.Method == (Method{}) {
		wrap.label = "" // is of this one key
		x.Method = Method{d.cipher.uri, wrap}
	}
	return n, nil
}

func (x *opening) unwrap(k encryptedKey, c contentCipher) ([]byte, *Error) {
	private, err := x.keys.find(k.info, x.security)
	if err != nil {
		return nil, err
	}
	w := wrapped{private, k.wrap, k.value.Text(), c.key}
	if key, known := x.clear[w]; known {
		return key, nil
	}
	data, bad := decodeBase64(w.value)
	if bad != nil {
		return nil, Undecipherable()
	}
	key, bad := k.wrap.open(private, data, c.key)
	if bad != nil {
		return nil, Undecipherable()
	}
	x.clear[w] = key
	return key, nil
}
