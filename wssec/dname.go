package wssec

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// sameName reports whether text is the distinguished name in DER. Stacks write
// names in either order, with other abbreviations and other blanks, so what is
// compared is the set of attributes, without regard to case and blanks. It finds
// one of the certificates that are known; it proves nothing.
func sameName(text string, der []byte) bool {
	var rdns pkix.RDNSequence
	if rest, err := asn1.Unmarshal(der, &rdns); err != nil || len(rest) > 0 {
		return false
	}
	var want []string
	for _, set := range rdns {
		for _, a := range set {
			want = append(want, a.Type.String()+"="+folded(fmt.Sprint(a.Value)))
		}
	}
	got, ok := readName(text)
	slices.Sort(want)
	slices.Sort(got)
	return ok && slices.Equal(got, want)
}

// attributeTypes are the abbreviations of RFC 2253 and those of other tools.
var attributeTypes = map[string]string{
	"CN": "2.5.4.3", "SN": "2.5.4.4", "SURNAME": "2.5.4.4", "SERIALNUMBER": "2.5.4.5", "C": "2.5.4.6", "L": "2.5.4.7",
	"ST": "2.5.4.8", "S": "2.5.4.8", "STREET": "2.5.4.9", "O": "2.5.4.10", "OU": "2.5.4.11", "T": "2.5.4.12", "TITLE": "2.5.4.12",
	"POSTALCODE": "2.5.4.17", "GN": "2.5.4.42", "G": "2.5.4.42", "GIVENNAME": "2.5.4.42", "DNQ": "2.5.4.46", "DNQUALIFIER": "2.5.4.46",
	"ORGANIZATIONIDENTIFIER": "2.5.4.97", "UID": "0.9.2342.19200300.100.1.1", "DC": "0.9.2342.19200300.100.1.25",
	"E": "1.2.840.113549.1.9.1", "EMAIL": "1.2.840.113549.1.9.1", "EMAILADDRESS": "1.2.840.113549.1.9.1",
}

// maxDName bounds a name in bytes.
const maxDName = 2048

// readName reads a name as RFC 2253, RFC 1779 and their relatives write it, into
// "type=value", types as numbers.
func readName(text string) (list []string, ok bool) {
	if len(text) > maxDName {
		return nil, false
	}
	for part := range splitUnquoted(text) {
		key, value, found := strings.Cut(part, "=")
		if !found {
			return nil, false
		}
		key = strings.ToUpper(strings.TrimSpace(key))
		if number, known := attributeTypes[key]; known {
			key = number
		}
		key = strings.TrimPrefix(key, "OID.")
		value, ok := unescapeValue(strings.TrimSpace(value))
		if !ok {
			return nil, false
		}
		list = append(list, key+"="+folded(value))
	}
	return list, true
}

// splitUnquoted yields what stands between the separators , ; and +.
func splitUnquoted(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		from, quoted := 0, false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case !quoted && (c == ',' || c == ';' || c == '+'):
				if !yield(text[from:i]) {
					return
				}
				from = i + 1
			}
		}
		yield(text[from:])
	}
}

// unescapeValue reads "quoted", \, and \C3 forms, and #hex of DER.
func unescapeValue(s string) (string, bool) {
	if digits, isHex := strings.CutPrefix(s, "#"); isHex {
		der, err := hex.DecodeString(digits)
		if err != nil {
			return "", false
		}
		var value any
		if rest, err := asn1.Unmarshal(der, &value); err != nil || len(rest) > 0 {
			return "", false
		}
		return fmt.Sprint(value), true
	}
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i+3 <= len(s) {
			if b, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				out = append(out, b...)
				i += 2
				continue
			}
		}
		if i++; i < len(s) {
			out = append(out, s[i])
		}
	}
	return string(out), utf8.Valid(out)
}

func folded(value string) string { return strings.ToLower(strings.Join(strings.Fields(value), " ")) }
