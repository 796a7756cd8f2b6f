package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidings/client"
	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
)

// operation are the flags of those who send an operation.
type operation struct {
	name, id, variables string
	values              []string
}

func (o *operation) flags(set *pflag.FlagSet) {
	set.StringVar(&o.variables, "variables", "", "variables as a JSON object, or @FILE with one")
	set.StringArrayVarP(&o.values, "var", "v", nil, "one variable, name=value: JSON where it is, text otherwise; may be given several times")
	set.StringVarP(&o.name, "operation", "o", "", "which operation of the document")
	set.StringVar(&o.id, "id", "", "a persisted operation, instead of a document")
}

// read makes the request: the document is the argument, or the file of that name, or
// what comes on the standard input.
func (o *operation) read(c *cobra.Command, args []string) (op client.Operation, err error) {
	op = client.Operation{Name: o.name, ID: o.id}
	if op.Variables, err = o.coerced(); err != nil {
		return op, boot.Usage(err)
	}
	switch in := c.InOrStdin(); {
	case o.id != "" && len(args) > 0:
		return op, boot.Usage(errors.New("--id names a persisted operation: leave the document out"))
	case o.id != "":
		return op, nil
	case len(args) == 0 && tool.IsTerminal(in):
		return op, boot.Usage(fmt.Errorf("say what to send: %s '{ __typename }', or a FILE, or - for the standard input; see %[1]s --help", c.CommandPath()))
	case len(args) == 0 || args[0] == "-":
		op.Query, err = readAll(in)
	default:
		op.Query, err = document(args[0])
	}
	if err != nil {
		return op, boot.Usage(err)
	}
	if strings.TrimSpace(op.Query) == "" {
		return op, boot.Usage(errors.New("the document is empty"))
	}
	return op, nil
}

// aDocument is how documents begin: with a selection, a word of the language or a
// remark. No file that somebody names begins like that.
var aDocument = regexp.MustCompile(`^[\s,]*(#|\{|(query|mutation|subscription|fragment)\b[^./\\]*[\s({@])`)

func document(arg string) (string, error) {
	if aDocument.MatchString(arg) {
		return arg, nil
	}
	text, err := os.ReadFile(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is neither an operation nor a file; an operation begins with { or a word such as query, and stands in quotes", arg)
	}
	if err != nil {
		return "", fmt.Errorf("%w; name a file that can be read, or the operation itself", err)
	}
	return string(text), nil
}

// coerced are the variables as one JSON object; nil without any.
func (o *operation) coerced() (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	text := o.variables
	if file, ok := strings.CutPrefix(text, "@"); ok {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text = string(content)
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, fmt.Errorf("--variables is no JSON object: %w", err)
		}
	}
	for _, pair := range o.values {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--var %s is not of the form name=value", pair)
		}
		all[name] = asJSON(value)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return json.Marshal(all)
}

// asJSON is a value that is JSON as it is, and anything else as a text.
func asJSON(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, _ := json.Marshal(value) // texts always are
	return text
}
