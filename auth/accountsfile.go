package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tidings/schema"
)

// MaxAccountsFile bounds the text of accounts, in bytes.
const MaxAccountsFile = 8 << 20

// ParseAccounts reads accounts as operators write them (docs/auth.md): a JSON
// array of objects, or lines of name:hash:ROLE,ROLE[:subject]. The error tells
// the line, and shows no password, hash or secret.
func ParseAccounts(text []byte) ([]Account, error) {
	if len(text) > MaxAccountsFile {
		return nil, fmt.Errorf("the accounts have more than %d bytes", MaxAccountsFile)
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		return parseAccountsJSON(text)
	}
	return parseAccountLines(string(text))
}

// parseAccountLines reads the lines. Empty ones and those that begin with # are
// left out.
func parseAccountLines(text string) ([]Account, error) {
	var accounts []Account
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, ":", 4)
		if len(parts) < 3 {
			return nil, fmt.Errorf("line %d: want name:hash:ROLE,ROLE[:subject]; accounts with secrets or certificates are written as JSON", i+1)
		}
		roles, err := accountRoles(strings.Split(parts[2], ","))
		if err == nil {
			_, err = parseHash(parts[1])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		acc := Account{User: parts[0], Hash: []byte(parts[1]), Roles: roles}
		if len(parts) == 4 {
			acc.Subject = parts[3]
		}
		accounts = append(accounts, acc)
	}
	return accounts, nil
}

// accountJSON is an account as the JSON has it.
type accountJSON struct {
	Name         string            `json:"name"`
	Subject      string            `json:"subject"`
	Roles        []string          `json:"roles"`
	Password     string            `json:"password"`
	Secrets      []string          `json:"secrets"`
	Certificates []certificateJSON `json:"certificates"`

	AllowSHA1        bool   `json:"allowSHA1"`
	AllowCBC         bool   `json:"allowCBC"`
	AllowRSA15       bool   `json:"allowRSA15"`
	RequireSignature bool   `json:"requireSignature"`
	Encryption       string `json:"encryptionCertificate"`
}

type certificateJSON struct {
	SHA256      string `json:"sha256"`
	Certificate string `json:"certificate"`
	Issuer      string `json:"issuer"`
	Subject     string `json:"subject"`
}

// parseAccountsJSON takes the array apart, item by item, so that an error can
// tell the line of its account.
func parseAccountsJSON(text []byte) ([]Account, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil {
		return nil, jsonError(text, d.InputOffset(), err)
	}
	accounts := []Account{}
	for d.More() {
		start := after(text, d.InputOffset())
		var given accountJSON
		if err := d.Decode(&given); err != nil {
			return nil, jsonError(text, start, err)
		}
		if name := twice(text[start:d.InputOffset()]); name != "" {
			return nil, fmt.Errorf("line %d: the member %.60q is there twice", lineOf(text, start), name)
		}
		acc, err := given.account()
		if err != nil {
			return nil, fmt.Errorf("line %d, account %s: %w", lineOf(text, start), shown(given.Name), err)
		}
		accounts = append(accounts, acc)
	}
	if _, err := d.Token(); err != nil {
		return nil, jsonError(text, d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: something follows the array of accounts", lineOf(text, after(text, d.InputOffset())))
	}
	return accounts, nil
}

// twice returns a member of an object of JSON, or of one inside of it, that is
// there before, whatever the case of its letters: readers differ in which one
// counts, and who checks the file must see the same as this one.
func twice(valid []byte) string {
	return twiceIn(json.NewDecoder(bytes.NewReader(valid)))
}

func twiceIn(d *json.Decoder) (name string) {
	token, _ := d.Token() // what was decoded once has no errors
	kind, _ := token.(json.Delim)
	var seen []string
	for kind != 0 && d.More() {
		if kind == '{' {
			token, _ := d.Token()
			key, _ := token.(string)
			if slices.ContainsFunc(seen, func(other string) bool { return strings.EqualFold(other, key) }) {
				return key
			}
			seen = append(seen, key)
		}
		if name := twiceIn(d); name != "" {
			return name
		}
	}
	if kind != 0 {
		_, _ = d.Token() // the end
	}
	return ""
}

// jsonError tells where the JSON is wrong.
func jsonError(text []byte, offset int64, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("line %d: %s cannot be a %s", lineOf(text, offset), wrong.Field, strings.Fields(wrong.Value)[0])
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("line %d: the accounts end too early", lineOf(text, int64(len(text))))
	}
	message := strings.TrimPrefix(err.Error(), "json: ")
	if secretive(message) {
		message = "a member has no known name"
	}
	return fmt.Errorf("line %d: %s", lineOf(text, offset), message)
}

// after skips what stands between two items.
func after(text []byte, offset int64) int64 {
	rest := text[offset:]
	return offset + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n,")))
}

func lineOf(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
}

func (g accountJSON) account() (Account, error) {
	roles, err := accountRoles(g.Roles)
	if err != nil {
		return Account{}, err
	}
	acc := Account{
		User: g.Name, Subject: g.Subject, Roles: roles, Hash: []byte(g.Password), Secrets: g.Secrets,
		Partner: Partner{AllowSHA1: g.AllowSHA1, AllowCBC: g.AllowCBC, AllowRSA15: g.AllowRSA15, RequireSignature: g.RequireSignature},
	}
	for i, c := range g.Certificates {
		rule, err := c.rule()
		if err != nil {
			return Account{}, fmt.Errorf("certificate %d: %w", i+1, err)
		}
		acc.Certificates = append(acc.Certificates, rule)
	}
	if g.Encryption != "" {
		if acc.Partner.Encryption, err = oneCertificate(g.Encryption); err != nil {
			return Account{}, fmt.Errorf("encryptionCertificate: %w", err)
		}
	}
	// What is wrong with the account alone is told here, with its line.
	alone := roster{accounts: map[string]*entry{}, certificates: newCertificates(nil)}
	alone.trusted = true
	return acc, alone.add(acc)
}

func (g certificateJSON) rule() (rule CertificateRule, err error) {
	ways := 0
	for _, given := range []bool{g.SHA256 != "", g.Certificate != "", g.Issuer != "" || g.Subject != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return rule, errors.New("say one of sha256, certificate, or issuer and subject")
	}
	switch {
	case g.SHA256 != "":
		digits, err := hex.DecodeString(strings.ReplaceAll(g.SHA256, ":", ""))
		if err != nil || len(digits) != sha256.Size {
			return rule, errors.New("sha256 is a fingerprint of 64 hexadecimal digits, as `api soap certificate` prints it")
		}
		rule.Fingerprint = [sha256.Size]byte(digits)
	case g.Certificate != "":
		rule.Certificate, err = oneCertificate(g.Certificate)
	case g.Issuer == "" || g.Subject == "":
		return rule, errors.New("issuer and subject belong together, as `api soap certificate` prints them")
	}
	rule.Issuer, rule.Subject = g.Issuer, g.Subject
	return rule, err
}

// oneCertificate reads a certificate, as PEM or as the base64 inside of it.
func oneCertificate(text string) (*x509.Certificate, error) {
	var der []byte
	if block, rest := pem.Decode([]byte(text)); block != nil {
		if block.Type != "CERTIFICATE" || strings.TrimSpace(string(rest)) != "" {
			return nil, errors.New("it is not one PEM block CERTIFICATE")
		}
		der = block.Bytes
	} else {
		var err error
		if der, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err != nil {
			return nil, errors.New("it is neither PEM nor base64")
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("it is no certificate: %w", err)
	}
	return cert, nil
}

// accountRoles reads roles; none are few, but no mistake. What is no role is not
// shown, since it may stand in the wrong place.
func accountRoles(names []string) (schema.Roles, error) {
	named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.TrimSpace(name) == "" })
	roles, err := ParseRoles(named...)
	if err != nil {
		return 0, errors.New("the roles are others than USER, ADMIN and SERVICE")
	}
	return roles, nil
}
