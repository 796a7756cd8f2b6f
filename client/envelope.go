package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1" // which the specification of digests demands
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"tidings/xmltree"
)

// The namespaces of envelopes.
const (
	spaceSOAP11 = "http://schemas.xmlsoap.org/soap/envelope/"
	spaceSOAP12 = "http://www.w3.org/2003/05/soap-envelope"
	spaceXSI    = "http://www.w3.org/2001/XMLSchema-instance"
	wsse        = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	wsu         = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	token10     = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#"
	base64Type  = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"
)

// Envelope is one call of SOAP.
type Envelope struct {
	Endpoint  string
	Contract  *Contract
	Operation string
	Input     map[string]any // as json.Decoder with UseNumber makes it
	// Twelve sends SOAP 1.2 instead of 1.1.
	Twelve bool
	// User and Password make a UsernameToken; with Digest the password is not sent.
	User, Password string
	Digest         bool
}

// Fault is a fault of SOAP.
type Fault struct {
	Code    string // of the service's error, or of the fault
	Message string
}

// Error implements error.
func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// UnknownError says that a name is none of a contract.
type UnknownError struct {
	Where string   // the operation, or a part of its input such as CreateUser.input; empty: Name is an operation
	Name  string   // that there is not
	Has   []string // the names that there are, in the order of the contract
}

// Error implements error.
func (e *UnknownError) Error() string {
	if e.Where == "" {
		return "there is no operation " + e.Name
	}
	return fmt.Sprintf("%s has no %s; it has %s", e.Where, e.Name, strings.Join(e.Has, ", "))
}

// Text is the envelope as it is sent. An [*UnknownError] names what has no place in
// the contract.
func (e Envelope) Text() (string, error) {
	parts, ok := e.Contract.elements[e.Operation]
	if !ok || !slices.Contains(e.Contract.Operations(), e.Operation) {
		return "", &UnknownError{Name: e.Operation, Has: e.Contract.Operations()}
	}
	space := spaceSOAP11
	if e.Twelve {
		space = spaceSOAP12
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<soap:Envelope xmlns:soap=%q>", space)
	if e.User != "" {
		e.security(&b)
	}
	fmt.Fprintf(&b, "<soap:Body><%s xmlns=\"%s\" xmlns:xsi=%q>", e.Operation, escape(e.Contract.Namespace), spaceXSI)
	if err := e.Contract.object(&b, parts, e.Input, e.Operation); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "</%s></soap:Body></soap:Envelope>", e.Operation)
	return b.String(), nil
}

func escape(text string) string { return string(xmltree.AppendText(nil, text)) }

// security writes who calls (WS-Security, UsernameToken Profile 1.1).
func (e Envelope) security(b *bytes.Buffer) {
	fmt.Fprintf(b, "<soap:Header><w:Security xmlns:w=%q><w:UsernameToken><w:Username>%s</w:Username>", wsse, escape(e.User))
	if e.Digest {
		nonce, created := make([]byte, 16), time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		_, _ = rand.Read(nonce) // never fails
		sum := sha1.Sum(slices.Concat(nonce, []byte(created), []byte(e.Password)))
		b64 := base64.StdEncoding.EncodeToString
		fmt.Fprintf(b, "<w:Password Type=%q>%s</w:Password><w:Nonce EncodingType=%q>%s</w:Nonce><u:Created xmlns:u=%q>%s</u:Created>",
			token10+"PasswordDigest", b64(sum[:]), base64Type, b64(nonce), wsu, created)
	} else {
		fmt.Fprintf(b, "<w:Password Type=%q>%s</w:Password>", token10+"PasswordText", escape(e.Password))
	}
	b.WriteString("</w:UsernameToken></w:Security></soap:Header>")
}

// object writes the members of an object in the order of the contract.
func (c *Contract) object(b *bytes.Buffer, parts []part, input map[string]any, where string) error {
	names := namesOf(parts)
	for _, name := range slices.Sorted(maps.Keys(input)) {
		if !slices.Contains(names, name) {
			return &UnknownError{Where: where, Name: name, Has: names}
		}
	}
	for _, p := range parts {
		value, given := input[p.name]
		switch {
		case given && (value != nil || p.nillable):
			if err := c.value(b, p, value, where+"."+p.name); err != nil {
				return err
			}
		case !p.optional && !p.nillable:
			return fmt.Errorf("%s wants %s", where, p.name)
		}
	}
	return nil
}

// value writes one element.
func (c *Contract) value(b *bytes.Buffer, p part, value any, where string) error {
	if value == nil {
		fmt.Fprintf(b, "<%s xsi:nil=\"true\"/>", p.name)
		return nil
	}
	item, isList := c.items(p)
	parts, isObject := c.types[p.kind]
	fmt.Fprintf(b, "<%s>", p.name)
	switch v := value.(type) {
	case []any:
		if !isList {
			return fmt.Errorf("%s is no list", where)
		}
		for i, one := range v {
			if err := c.value(b, item, one, fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		if !isObject || p.builtin || isList {
			return fmt.Errorf("%s is no object", where)
		}
		if err := c.object(b, parts, v, where); err != nil {
			return err
		}
	default:
		if isObject && !p.builtin {
			return fmt.Errorf("%s is not a single value", where)
		}
		b.WriteString(escape(fmt.Sprint(v)))
	}
	fmt.Fprintf(b, "</%s>", p.name)
	return nil
}

// Call sends an envelope once. answer is the result as JSON, raw the envelope that came
// back. A fault is a [*Fault].
func (s *Service) Call(ctx context.Context, e Envelope) (answer json.RawMessage, raw string, err error) {
	text, err := e.Text()
	if err != nil {
		return nil, "", err
	}
	r, err := s.request(ctx, e.Endpoint, []byte(text))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "text/xml; charset=utf-8")
	if e.Twelve {
		r.Header.Set("Content-Type", "application/soap+xml; charset=utf-8")
	}
	resp, err := s.client().Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, "", err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/xml" && kind != "application/soap+xml" {
		return nil, string(body), fmt.Errorf("%s answers %s, and no envelope: %s", shown(e.Endpoint), resp.Status, excerpt(body))
	}
	answer, err = e.read(body, resp.StatusCode)
	return answer, string(body), err
}

// read finds the result in an envelope.
func (e Envelope) read(text []byte, status int) (json.RawMessage, error) {
	tree, err := xmltree.ScanWithin(text, "", maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	root := tree.Root()
	space := root.Name().Space
	body := child(root, space, "Body")
	if !body.Exists() || space != spaceSOAP11 && space != spaceSOAP12 {
		return nil, fmt.Errorf("the answer is no envelope: %s", excerpt(text))
	}
	for first := range body.Children() {
		if first.Is(space, "Fault") {
			return nil, faultOf(first)
		}
		parts, known := e.Contract.elements[first.Name().Local]
		if !known || status != http.StatusOK {
			return nil, fmt.Errorf("the answer %s is none of the contract (%d)", first.Name().Local, status)
		}
		var b bytes.Buffer
		e.Contract.json(&b, parts, first)
		return b.Bytes(), nil
	}
	return nil, fmt.Errorf("the answer is empty (%d)", status)
}

// faultOf reads a fault of either version, with the code of the service's own error.
func faultOf(f xmltree.Elem) error {
	out := &Fault{}
	var find func(e xmltree.Elem)
	find = func(e xmltree.Elem) {
		for c := range e.Children() {
			switch text := strings.TrimSpace(c.Text()); c.Name().Local {
			case "faultstring", "Text":
				out.Message = text
			case "faultcode", "Value":
				if out.Code == "" {
					out.Code = text
				}
			case "code":
				out.Code = text // of the detail, which comes last
			}
			find(c)
		}
	}
	find(f)
	return out
}

// json writes an element as an object, in the order of the contract.
func (c *Contract) json(b *bytes.Buffer, parts []part, e xmltree.Elem) {
	b.WriteByte('{')
	first := true
	for x := range e.Children() {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == x.Name().Local })
		if i < 0 {
			continue // of a later version
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		fmt.Fprintf(b, "%q:", parts[i].name)
		c.jsonValue(b, parts[i], x)
	}
	b.WriteByte('}')
}

func (c *Contract) jsonValue(b *bytes.Buffer, p part, e xmltree.Elem) {
	if v, _ := e.Attr(spaceXSI, "nil"); v == "true" || v == "1" {
		b.WriteString("null")
		return
	}
	if item, ok := c.items(p); ok {
		b.WriteByte('[')
		first := true
		for x := range e.Children() {
			if !first {
				b.WriteByte(',')
			}
			first = false
			c.jsonValue(b, item, x)
		}
		b.WriteByte(']')
		return
	}
	if parts, ok := c.types[p.kind]; ok && !p.builtin {
		c.json(b, parts, e)
		return
	}
	text := e.Text()
	if plain := strings.TrimSpace(text); p.builtin && !slices.Contains(textual, p.kind) && json.Valid([]byte(plain)) {
		b.WriteString(plain)
		return
	}
	b.Write(quote(text))
}

// quote is a text as JSON, with < and > as they are.
func quote(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // texts always are
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// textual are types of XML Schema whose values may look like numbers or truths and
// are texts.
var textual = []string{"string", "anyURI", "token", "normalizedString", "base64Binary"}
