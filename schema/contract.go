package schema

import (
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// Contract is a schema as callers see it.
type Contract = ast.Schema

// maxContractBytes bounds the text of a contract: it is several times as long
// as the files that it is made of.
const maxContractBytes = 64 << 20

// LoadContract reads a contract as `api schema print` writes it, or any other
// complete SDL; name stands in messages. Text that is no valid schema fails
// with Faults.
func LoadContract(name, text string) (*Contract, error) {
	var r reporter
	switch {
	case len(text) > maxContractBytes:
		r.file(name, "split the service in two", "the contract has more than %d bytes", maxContractBytes)
		return nil, r.err()
	case !utf8.ValidString(text):
		r.file(name, "save the file as UTF-8", "the file is not UTF-8")
		return nil, r.err()
	}
	source := &ast.Source{Name: name, Input: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)}
	if !checkTokens(source, &r) {
		return nil, r.err()
	}
	contract, err := validator.LoadSchema(validator.Prelude, source)
	if err != nil {
		r.foreign(err, "a file must be a contract as `api schema print` writes it; of an annotated schema name the directory")
		return nil, r.err()
	}
	delete(contract.Directives, "defer") // of an old draft; nothing here carries it out
	return contract, nil
}
