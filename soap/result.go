package soap

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidings/fault"
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
