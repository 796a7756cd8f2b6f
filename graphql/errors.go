package graphql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
)

// refuse makes an error of a request, for a place in its document.
func refuse(at *ast.Position, code fault.Code, format string, args ...any) *gqlerror.Error {
	err := &gqlerror.Error{Message: fmt.Sprintf(format, args...)}
	if at != nil {
		err.Locations = []gqlerror.Location{locationOf(at)}
	}
	err.Extensions = map[string]any{"code": string(code)}
	return err
}

// withCode sets the code of errors that gqlparser made, and keeps the first
// few of them.
func withCode(list gqlerror.List, code fault.Code) gqlerror.List {
	if len(list) > maxShownErrors {
		list = list[:maxShownErrors]
	}
	for _, err := range list {
		err.Extensions = map[string]any{"code": string(code)}
		for i := range err.Locations {
			err.Locations[i].Column = max(1, err.Locations[i].Column) // see locationOf
		}
	}
	return list
}

// locationOf is where something begins in a document. The parser gives a block string
// of several lines its last line and a column before that; both begin with 1.
func locationOf(at *ast.Position) gqlerror.Location {
	if at.Column >= 1 || at.Src == nil {
		return gqlerror.Location{Line: at.Line, Column: max(1, at.Column)}
	}
	where, runes := gqlerror.Location{Line: 1, Column: 1}, 0
	for i, c := range at.Src.Input {
		if runes == at.Start {
			break
		}
		runes++
		where.Column++
		if c == '\n' || c == '\r' && !strings.HasPrefix(at.Src.Input[i+1:], "\n") {
			where.Line, where.Column = where.Line+1, 1
		}
	}
	return where
}

// codeOf returns the code of an error of ours; Internal for a foreign one.
func codeOf(err *gqlerror.Error) fault.Code {
	if code, ok := err.Extensions["code"].(string); ok {
		return fault.Code(code)
	}
	return fault.Internal
}

// withoutHints cuts the validator's proposals, which name parts of the schema,
// from errors for callers who may not see it.
func withoutHints(list gqlerror.List) gqlerror.List {
	list = slices.Clone(list)
	for i, err := range list {
		if text, _, found := strings.Cut(err.Message, " Did you mean "); found {
			plain := *err
			plain.Message = text
			list[i] = &plain
		}
	}
	return list
}

// step is one element of a response path: a name, or an index where name is
// empty.
type step struct {
	name  string
	index int
}

func pathOf(steps []step) ast.Path {
	path := make(ast.Path, len(steps))
	for i, s := range steps {
		if s.name != "" {
			path[i] = ast.PathName(s.name)
		} else {
			path[i] = ast.PathIndex(s.index)
		}
	}
	return path
}

func locationsOf(nodes []*ast.Field) []gqlerror.Location {
	locations := make([]gqlerror.Location, 0, len(nodes))
	for _, n := range nodes {
		if n.Position != nil {
			locations = append(locations, locationOf(n.Position))
		}
	}
	return locations
}
