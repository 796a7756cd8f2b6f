package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Fault is one thing that is wrong with a schema: where, what, and what to do.
type Fault struct {
	File         string // as the directory names it; empty when no single file is to blame
	Line, Column int    // from 1; the column counts characters. Zero when File is empty
	Message      string
	Remedy       string
}

// String returns "file:line:column: message; remedy".
func (f Fault) String() string {
	switch {
	case f.File == "":
		return f.Message + "; " + f.Remedy
	case f.Line == 0:
		return fmt.Sprintf("%s: %s; %s", f.File, f.Message, f.Remedy)
	}
	return fmt.Sprintf("%s:%d:%d: %s; %s", f.File, f.Line, f.Column, f.Message, f.Remedy)
}

// Faults is everything that Load found wrong, ordered by file, line and column.
type Faults []Fault

// Error returns one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// maxFaults bounds a report: more does not help who reads it.
const maxFaults = 100

// reporter collects faults while the schema is read.
type reporter struct{ list Faults }

// at reports a fault; pos may be nil when no single place is to blame.
func (r *reporter) at(pos *ast.Position, remedy, format string, args ...any) {
	fault := Fault{Message: fmt.Sprintf(format, args...), Remedy: remedy}
	if pos != nil && pos.Src != nil {
		fault.File, fault.Line, fault.Column = pos.Src.Name, pos.Line, pos.Column
	}
	r.list = append(r.list, fault)
}

// file reports a fault of a whole file.
func (r *reporter) file(name, remedy, format string, args ...any) {
	r.list = append(r.list, Fault{File: name, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// foreign reports an error of gqlparser's.
func (r *reporter) foreign(err error, remedy string) {
	gqlErr := gqlerror.WrapIfUnwrapped(err)
	fault := Fault{Message: strings.TrimSuffix(gqlErr.Message, "."), Remedy: remedy}
	if name, ok := gqlErr.Extensions["file"].(string); ok && len(gqlErr.Locations) > 0 {
		fault.File = name
		fault.Line, fault.Column = max(gqlErr.Locations[0].Line, 1), max(gqlErr.Locations[0].Column, 1)
	}
	r.list = append(r.list, fault)
}

// err returns the faults as an error, nil when there are none.
func (r *reporter) err() error {
	if len(r.list) == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	faults := slices.Compact(r.list)
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults:maxFaults], Fault{
			Message: fmt.Sprintf("%d more faults are not shown", more), Remedy: "mend these first"})
	}
	return faults
}
