package wssec

import (
	"crypto"
	"strings"

	"tidings/xmltree"
)

// encryptedKey is an xenc:EncryptedKey of the header.
type encryptedKey struct {
	id    string
	wrap  keyTransport
	info  xmltree.Elem // or none
	value xmltree.Elem // CipherValue
	parts []string     // Ids of the EncryptedData that it lists
}

// encryptedData is an xenc:EncryptedData, wherever it stands.
type encryptedData struct {
	id     string
	cipher contentCipher
	key    string // Id of the EncryptedKey that it names, or empty
	value  xmltree.Elem
	place  xmltree.Elem // what the plain text replaces
}

// readEncryptedKey reads what anybody can see of a key.
func readEncryptedKey(e xmltree.Elem) (encryptedKey, *Error) {
	var k encryptedKey
	k.id, _ = e.Attr("", "Id")
	method, info, value, err := readEncrypted(e)
	if err != nil {
		return k, err
	}
	k.info, k.value = info, value
	if k.wrap, err = readKeyTransport(method); err != nil {
		return k, err
	}
	for list := range e.Children() {
		if !list.Is(xencNS, "ReferenceList") {
			continue
		}
		ids, err := readReferenceList(list)
		if err != nil {
			return k, err
		}
		k.parts = append(k.parts, ids...)
	}
	return k, nil
}

// readEncrypted finds what EncryptedKey and EncryptedData have in common.
func readEncrypted(e xmltree.Elem) (method, info, value xmltree.Elem, err *Error) {
	for child := range e.Children() {
		into := &method
		switch {
		case child.Is(xencNS, "EncryptionMethod"):
		case child.Is(SignatureNS, "KeyInfo"):
			into = &info
		case child.Is(xencNS, "CipherData"):
			for v := range child.Children() {
				if !v.Is(xencNS, "CipherValue") || value.Exists() || v.HasElements() {
					return method, info, value, refuse(InvalidSecurity, "%s: CipherData holds more than one CipherValue", e.Name().Local)
				}
				value = v
			}
			continue
		case child.Is(xencNS, "ReferenceList"), child.Is(xencNS, "EncryptionProperties"), child.Is(xencNS, "CarriedKeyName"):
			continue
		default:
			return method, info, value, refuse(InvalidSecurity, "%s holds %s", e.Name().Local, child.Name().Local)
		}
		if into.Exists() {
			return method, info, value, refuse(InvalidSecurity, "%s holds two of %s", e.Name().Local, child.Name().Local)
		}
		*into = child
	}
	if !method.Exists() || !value.Exists() {
		return method, info, value, refuse(InvalidSecurity, "%s has no method or no value", e.Name().Local)
	}
	return method, info, value, nil
}

// readKeyTransport reads the EncryptionMethod of a key.
func readKeyTransport(method xmltree.Elem) (keyTransport, *Error) {
	uri, _ := method.Attr("", "Algorithm")
	k := keyTransport{uri: uri, digest: crypto.SHA1, mgf: crypto.SHA1}
	switch uri {
	case rsa15:
		return k, nil
	case oaepMGF1P, oaep11:
	default:
		return k, refuse(UnsupportedAlgorithm, "keys cannot be encrypted by %.200q", uri)
	}
	for e := range method.Children() {
		algorithm, _ := e.Attr("", "Algorithm")
		known := true
		switch {
		case e.Is(SignatureNS, "DigestMethod"):
			k.digest, known = digests[algorithm]
		case e.Is(xenc11NS, "MGF") && uri == oaep11:
			k.mgf, known = mgfs[algorithm]
		case e.Is(xencNS, "OAEPparams"):
			label, err := decodeBase64(e.Text())
			k.label, known = string(label), err == nil
		case e.Is(xencNS, "KeySize"):
		default:
			known = false
		}
		if !known {
			return k, refuse(UnsupportedAlgorithm, "%s %.200q of RSA-OAEP is not supported", e.Name().Local, algorithm)
		}
	}
	return k, nil
}

func readReferenceList(list xmltree.Elem) ([]string, *Error) {
	var ids []string
	for e := range list.Children() {
		uri, _ := e.Attr("", "URI")
		id, local := strings.CutPrefix(uri, "#")
		if !e.Is(xencNS, "DataReference") || !local || id == "" {
			return nil, refuse(InvalidSecurity, "a ReferenceList holds something else than a DataReference within the message")
		}
		if ids = append(ids, id); len(ids) > maxParts {
			return nil, refuse(InvalidSecurity, "more than %d parts are encrypted", maxParts)
		}
	}
	return ids, nil
}

// readEncryptedData reads what anybody can see of a part.
func readEncryptedData(e xmltree.Elem) (encryptedData, *Error) {
	d := encryptedData{place: e}
	d.id, _ = e.Attr("", "Id")
	kind, _ := e.Attr("", "Type")
	if kind != xencNS+"Content" && kind != xencNS+"Element" {
		return d, refuse(InvalidSecurity, "an EncryptedData is of the type %.200q: encrypt an element or its content", kind)
	}
	if parent := e.Parent(); parent.Exists() && parent.Is(Security11, "EncryptedHeader") {
		d.place = parent
	}
	method, info, value, err := readEncrypted(e)
	if err != nil {
		return d, err
	}
	d.value = value
	uri, _ := method.Attr("", "Algorithm")
	known := false
	if d.cipher, known = cipherOf(uri); !known {
		return d, refuse(UnsupportedAlgorithm, "content cannot be encrypted by %.200q", uri)
	}
	if info.Exists() {
		d.key, err = keyReference(info)
	}
	return d, err
}

// keyReference reads the KeyInfo of a part: a reference to an EncryptedKey.
func keyReference(info xmltree.Elem) (string, *Error) {
	for e := range info.Children() {
		switch {
		case e.Is(SecurityNS, "SecurityTokenReference"):
			return keyReference(e)
		case e.Is(SecurityNS, "Reference"):
			uri, _ := e.Attr("", "URI")
			if id, local := strings.CutPrefix(uri, "#"); local && id != "" {
				return id, nil
			}
		}
	}
	return "", refuse(UnsupportedSecurityToken, "an EncryptedData names no EncryptedKey of the header")
}
