package soap

import (
	"bytes"
	"fmt"
	"slices"

	"tidings/xmltree"
)

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
	out := make([]byte, 0, max(512+size+size/2+len(header), op.size.room(0)))
	out = append(out, c.opening[r.version]...)
	out = appendHeader(out, header)
	return append(out, op.start...)
}

// end writes what follows the result.
func (c *contract) end(op *operation, out []byte) []byte {
	out = append(out, op.end...)
	op.size.was(len(out))
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
		if text, ok := r.appendText(out); ok {
			return text, nil
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
		if f.plain {
			if text, ok := r.appendText(append(out, f.start...)); ok {
				out = append(text, f.end...)
				continue
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
