package soap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidings/fault"
	"tidings/xmltree"
)

// result is what the engine answered, taken apart.
type result struct {
	root   []byte // the JSON of the root field; nil when it is null or absent
	data   []byte // the JSON of all of them
	errors []resultError
}

// resultError is an entry of the errors of a GraphQL response.
type resultError struct {
	place      string // of the result in an answer that has many
	Message    string `json:"message"`
	Path       []any  `json:"path"`
	Extensions struct {
		Code       fault.Code `json:"code"`
		Field      string     `json:"field"`
		RetryAfter int        `json:"retryAfter"`
		Position   string     `json:"position"` // of a change that was made all the same
		// CurrentVersion is the one that was not expected.
		CurrentVersion *int64 `json:"currentVersion"`
	} `json:"extensions"`
}

// readResult takes a response apart. Its one root field is called "result".
func readResult(body []byte) (result, error) {
	var res result
	r := &jsonReader{data: body}
	err := r.members(func(name string) error {
		value, err := r.skip(0)
		if err != nil {
			return err
		}
		switch name {
		case "data":
			res.data = value
			res.root, err = rootOf(value)
		case "errors":
			err = json.Unmarshal(value, &res.errors)
		}
		return err
	})
	return res, err
}

// read takes the response to the operation's document apart. Of several root
// fields the result is the object that holds them; one that failed fails it.
func (op *operation) read(body []byte) (result, error) {
	res, err := readResult(body)
	if err != nil {
		return res, err
	}
	if op.several {
		res.root = res.data
		if string(res.data) == "null" {
			res.root = nil
		}
		for i, e := range res.errors {
			if len(e.Path) < 2 {
				res.root = nil
			}
			res.errors[i].Path = append([]any{resultName}, e.Path...)
		}
	}
	for i := range res.errors {
		res.errors[i].Extensions.Field = elementPath(op.args, res.errors[i].Extensions.Field)
	}
	return res, nil
}

// elementPath says by its elements where a value of the arguments stands.
func elementPath(parts []*part, path string) string {
	for _, p := range parts {
		rest, ok := strings.CutPrefix(path, p.place)
		if ok && p.place != "" && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return p.name + rest
		}
	}
	var out []string
	for step := range strings.SplitSeq(path, ".") {
		name, index, _ := strings.Cut(step, "[")
		if index != "" {
			index = "[" + index
		}
		i := slices.IndexFunc(parts, func(p *part) bool { return p.member() == name })
		if i < 0 {
			parts = nil
			out = append(out, step)
			continue
		}
		out = append(out, parts[i].name+index)
		typ := parts[i].typ
		for typ.form == formList {
			typ = typ.item.typ
		}
		parts = typ.fields
	}
	return strings.Join(out, ".")
}

// members calls fn for each member of the object that comes next; fn consumes
// the value.
func (r *jsonReader) members(fn func(name string) error) error {
	if !r.take('{') {
		return errJSON
	}
	for first := true; ; first = false {
		more, err := r.more(first, '}')
		if err != nil || !more {
			return err
		}
		name, err := r.key()
		if err != nil {
			return err
		}
		if err := fn(string(name)); err != nil {
			return err
		}
	}
}

func rootOf(data []byte) (root []byte, err error) {
	r := &jsonReader{data: data}
	if r.null() {
		return nil, nil
	}
	err = r.members(func(name string) error {
		value, err := r.skip(0)
		if name == resultName && string(value) != "null" {
			root = value
		}
		return err
	})
	return root, err
}

// verdict says what becomes of the errors. A root field that failed is a fault.
// Below it, what the caller may not see, or what a record points to but is no
// longer there, is nil or absent and no error; any other error is told in the
// header, or makes a fault of the whole.
func (op *operation) verdict(res result) (*failure, []resultError) {
	var left []resultError
	for _, e := range res.errors {
		code := e.Extensions.Code
		if res.root == nil || code != fault.Forbidden && code != fault.NotFound {
			left = append(left, e)
		}
	}
	switch {
	case len(left) > 0 && res.root == nil && left[0].Extensions.Position != "" && op.result.optional:
		return nil, left
	case len(left) > 0 && (res.root == nil || !op.headed):
		f := left[0].failure()
		if res.root != nil && op.mutation {
			f.Message = "the change was made, but its result is not whole: " + f.Message
		}
		return f, nil
	case res.root == nil && !op.result.optional && !op.result.nillable:
		return failed(fmt.Errorf("%s: the result is null without an error", op.name)), nil
	}
	return nil, left
}

// refusal reports whether a root field was not carried out.
func (e resultError) refusal() bool { return len(e.Path) <= 1 && e.Extensions.Position == "" }

func (e resultError) failure() *failure {
	path := e.Extensions.Field
	if path == "" {
		path = e.path()
	}
	path = strings.TrimSuffix(e.place+"."+path, ".")
	path = strings.TrimPrefix(path, ".")
	code := e.Extensions.Code
	if code == "" {
		code = fault.Internal
	}
	return &failure{Error: &fault.Error{Code: code, Message: plainMessage(e.Message), Field: path, RetryAfter: e.Extensions.RetryAfter, CurrentVersion: e.Extensions.CurrentVersion}}
}

// plainMessage leaves out that the value came by a variable of the document,
// which no caller of SOAP knows.
func plainMessage(message string) string {
	rest, ok := strings.CutPrefix(message, `Variable "$`)
	if !ok {
		return message
	}
	if _, reason, ok := strings.Cut(rest, `" got an invalid value: `); ok {
		return reason
	}
	if _, rest, ok = strings.Cut(rest, `" got an invalid value at "`); ok {
		if _, reason, ok := strings.Cut(rest, `": `); ok {
			return reason
		}
	}
	return message
}

// path is where in the result the error is, empty for the whole of it.
func (e resultError) path() string {
	var b strings.Builder
	for _, step := range e.Path[min(1, len(e.Path)):] {
		switch step := step.(type) {
		case float64:
			b.WriteString("[" + strconv.Itoa(int(step)) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// answered reads the response to the operation's document and writes the envelope
// that answers r, or says how it failed.
func (c *contract) answered(op *operation, r *request, body []byte) ([]byte, *failure) {
	if out, ok := c.quick(op, r, body); ok {
		return out, nil
	}
	res, err := op.read(body)
	if err != nil {
		return nil, failed(err)
	}
	r.refused = slices.ContainsFunc(res.errors, resultError.refusal)
	f, left := op.verdict(res)
	if f != nil {
		return nil, f
	}
	out, err := c.answer(op, r, res, left)
	if err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// quick writes the envelope in one pass over a response that holds a result and
// nothing else, as nearly all do. Anything else is not ok.
func (c *contract) quick(op *operation, r *request, body []byte) (out []byte, ok bool) {
	const before, after = `{"data":{"` + resultName + `":`, `}}`
	if op.several || !bytes.HasPrefix(body, []byte(before)) {
		return nil, false
	}
	reader := jsonReader{data: body, pos: len(before)}
	if reader.peek() == 'n' {
		return nil, false
	}
	out, err := op.result.append(c.begin(op, r, nil, len(body)), &reader)
	if err != nil || string(body[reader.pos:]) != after {
		return nil, false
	}
	return c.end(op, out), true
}

// answer writes the envelope that answers r with a result.
func (c *contract) answer(op *operation, r *request, res result, errors []resultError) ([]byte, error) {
	out := c.begin(op, r, errors, len(res.root))
	if res.root == nil && op.result.nillable {
		res.root = []byte("null")
	}
	if res.root != nil {
		var err error
		if out, err = op.result.append(out, &jsonReader{data: res.root}); err != nil {
			return nil, fmt.Errorf("encode the result of %s: %w", op.name, err)
		}
	}
	return c.end(op, out), nil
}

// begin writes up to the result, which has so many bytes as JSON.
func (c *contract) begin(op *operation, r *request, errors []resultError, size int) []byte {
	var header []byte
	if r.addressing.dialect != nil {
		header = r.addressing.appendReply(r.echo, c.defaultAction(op.name+"Response"))
	} else {
		header = r.echo
	}
	if len(errors) > 0 {
		header = appendErrors(header, errors)
	}
	out := make([]byte, 0, max(512+size+size/2+len(header), int(op.size.Load())))
	out = append(out, c.opening[r.version]...)
	out = appendHeader(out, header)
	return append(out, op.start...)
}

// end writes what follows the result.
func (c *contract) end(op *operation, out []byte) []byte {
	out = append(out, op.end...)
	op.size.Store(int32(min(len(out)+len(out)/8, 16<<10))) // the next one is often as large
	return out
}

func appendErrors(out []byte, errors []resultError) []byte {
	out = append(out, "<tns:Errors>"...)
	for _, e := range errors {
		f := e.failure()
		out = append(out, "<tns:error>"...)
		out = appendElement(out, "code", string(f.Code))
		out = appendElement(out, "message", f.Message)
		out = appendElement(out, "path", f.Field)
		out = append(out, "</tns:error>"...)
	}
	return append(out, "</tns:Errors>"...)
}

// append writes the part with the value that comes next in r.
func (p *part) append(out []byte, r *jsonReader) ([]byte, error) {
	if r.null() {
		switch {
		case p.nillable:
			return append(out, p.nilled...), nil
		case p.optional:
			return out, nil
		}
		return nil, fmt.Errorf("%s is null", p.name)
	}
	return p.appendValue(out, r)
}

// appendValue is append for a value that is not null.
func (p *part) appendValue(out []byte, r *jsonReader) ([]byte, error) {
	out, err := p.typ.append(append(out, p.start...), r)
	return append(out, p.end...), err
}

// append writes the content of an element of the type. The members of an object
// come in the order of its fields, because the document asked for them so.
func (t *xsdType) append(out []byte, r *jsonReader) ([]byte, error) {
	switch t.form {
	case formObject:
		return t.appendObject(out, r)
	case formList:
		return t.appendList(out, r)
	case formVariant:
		return t.appendVariant(out, r)
	case formJSON:
		text, err := r.skip(0)
		return xmltree.AppendText(out, text), err
	case formLong, formDecimal, formTime, formBinary:
		return t.appendCustomary(out, r)
	}
	if r.peek() == '"' {
		if text, ok := r.literally(); ok {
			return append(out, text...), nil
		}
		text, err := r.string()
		if err != nil {
			return nil, err
		}
		return xmltree.AppendText(out, text), nil
	}
	text, err := r.skip(0)
	if err != nil {
		return nil, err
	}
	return xmltree.AppendText(out, text), nil
}

// appendCustomary writes a value that is only there if it is one of its type.
func (t *xsdType) appendCustomary(out []byte, r *jsonReader) ([]byte, error) {
	read := func() ([]byte, error) { return r.skip(0) }
	if r.peek() == '"' {
		read = r.string
	}
	text, err := read()
	if err != nil {
		return nil, err
	}
	value, err := t.customary(string(text))
	if err != nil {
		return nil, err
	}
	return xmltree.AppendText(out, value), nil
}

func (t *xsdType) appendObject(out []byte, r *jsonReader) ([]byte, error) {
	if !r.take('{') {
		return nil, errJSON
	}
	for i, f := range t.fields {
		if !r.comes(i == 0, f.key) {
			if err := t.expect(i == 0, f, r); err != nil {
				return nil, err
			}
		}
		var err error
		if out, err = f.append(out, r); err != nil {
			return nil, err
		}
	}
	if !r.take('}') {
		return nil, errJSON
	}
	return out, nil
}

// expect consumes the name of a field that must come next.
func (t *xsdType) expect(first bool, f *part, r *jsonReader) error {
	more, err := r.more(first, '}')
	if err != nil {
		return err
	}
	if !more {
		return fmt.Errorf("%s lacks %s", t.name, f.name)
	}
	name, err := r.key()
	if err != nil {
		return err
	}
	if string(name) != f.name {
		return fmt.Errorf("%s has %s in place of %s", t.name, name, f.name)
	}
	return nil
}

func (t *xsdType) appendList(out []byte, r *jsonReader) ([]byte, error) {
	if !r.take('[') {
		return nil, errJSON
	}
	for first := true; ; first = false {
		more, err := r.more(first, ']')
		switch {
		case err != nil:
			return nil, err
		case !more:
			return out, nil
		case r.null() && t.item.nillable:
			out = append(out, t.item.nilled...)
			continue
		}
		if out, err = t.item.appendValue(out, r); err != nil {
			return nil, err
		}
	}
}
