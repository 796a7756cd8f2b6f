package graphql

import (
	"math"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
)

// The limits on documents that nobody needs to choose; Limits has the others.
// All are checked in time linear to the text and before validation, whose own
// time they bound: some of its rules walk over every fragment once for each
// place that spreads it.
const (
	maxOperations  = 50    // definitions in one document
	maxFragments   = 200   // definitions in one document
	maxSelections  = 5_000 // fields and fragments of an operation, spreads expanded
	maxRepeats     = 100   // selections with the same response name in one set
	maxDirectives  = 500   // uses in one document
	maxVariables   = 500   // definitions in one operation
	maxMetaDepth   = 20    // below __schema and __type
	maxShownErrors = 20    // of a refused request
)

// measure is how large a selection set is with all fragments expanded. The
// counts stop growing far above every limit.
type measure struct {
	selections, aliases, roots int
	depth                      int // levels of fields
	meta                       int // levels of fields, introspection's included
}

// surveyor measures the selection sets of a document, each fragment once.
type surveyor struct {
	doc       *ast.QueryDocument
	limits    *Limits
	deepest   int                 // levels of fields of the deepest operation
	fragments map[string]*measure // nil while it is being measured
	uses      int                 // directives
}

// survey refuses documents that go beyond the limits, and fragments that
// contain themselves. It returns how deep the document is.
func survey(doc *ast.QueryDocument, l *Limits) (depth int, err *gqlerror.Error) {
	s := &surveyor{doc: doc, limits: l, fragments: make(map[string]*measure, len(doc.Fragments))}
	err = s.document()
	return s.deepest, err
}

func (s *surveyor) document() *gqlerror.Error {
	doc := s.doc
	switch {
	case len(doc.Operations) > maxOperations:
		return beyondLimit("definitions", refuse(doc.Position, fault.ValidationFailed, "the document has more than %d operations", maxOperations))
	case len(doc.Fragments) > maxFragments:
		return beyondLimit("definitions", refuse(doc.Position, fault.ValidationFailed, "the document has more than %d fragments", maxFragments))
	}
	for _, f := range doc.Fragments {
		if _, err := s.fragment(f); err != nil {
			return err
		}
	}
	for _, op := range doc.Operations {
		if len(op.VariableDefinitions) > maxVariables {
			return beyondLimit("definitions", refuse(op.Position, fault.ValidationFailed, "the operation has more than %d variables", maxVariables))
		}
		s.uses += len(op.Directives)
		m, err := s.set(op.SelectionSet)
		if err != nil {
			return err
		}
		s.deepest = max(s.deepest, m.depth)
		if err := m.check(op.Position, s.limits); err != nil {
			return err
		}
	}
	if s.uses > maxDirectives {
		return beyondLimit("definitions", refuse(doc.Position, fault.ValidationFailed, "the document uses more than %d directives", maxDirectives))
	}
	return nil
}

func (m measure) check(at *ast.Position, l *Limits) *gqlerror.Error {
	switch {
	case m.depth > l.Depth && !l.Measure:
		return beyondLimit("depth", refuse(at, fault.DepthLimitExceeded, "the operation is %d levels deep; at most %d are allowed", m.depth, l.Depth))
	case m.meta > max(maxMetaDepth, l.Depth) && m.meta > m.depth:
		return beyondLimit("depth", refuse(at, fault.DepthLimitExceeded, "the operation asks %d levels deep for the schema; at most %d are allowed", m.meta, maxMetaDepth))
	case m.selections > maxSelections:
		return beyondLimit("selections", refuse(at, fault.ValidationFailed, "the operation selects more than %d fields", maxSelections))
	case m.aliases > l.Aliases:
		return beyondLimit("aliases", refuse(at, fault.ValidationFailed, "the operation has %d aliases; at most %d are allowed", m.aliases, l.Aliases))
	case m.roots > l.Roots:
		return beyondLimit("roots", refuse(at, fault.ValidationFailed, "the operation has %d root fields; at most %d are allowed", m.roots, l.Roots))
	}
	return nil
}

func (s *surveyor) fragment(f *ast.FragmentDefinition) (measure, *gqlerror.Error) {
	m, known := s.fragments[f.Name]
	if known && m == nil {
		return measure{}, refuse(f.Position, fault.ValidationFailed, "Cannot spread fragment %q within itself.", f.Name)
	}
	if known {
		return *m, nil
	}
	s.fragments[f.Name] = nil
	s.uses += len(f.Directives)
	sum, err := s.set(f.SelectionSet)
	s.fragments[f.Name] = &sum
	return sum, err
}

func (s *surveyor) set(set ast.SelectionSet) (measure, *gqlerror.Error) {
	var sum measure
	var names map[string]int
	if len(set) > maxRepeats {
		names = map[string]int{}
	}
	for _, sel := range set {
		m, err := s.selection(sel)
		if err != nil {
			return sum, err
		}
		if f, ok := sel.(*ast.Field); ok && names != nil {
			if names[f.Alias]++; names[f.Alias] > maxRepeats {
				return sum, beyondLimit("selections", refuse(f.Position, fault.ValidationFailed, "%q is selected more than %d times in one place", f.Alias, maxRepeats))
			}
		}
		sum.add(m)
	}
	return sum, nil
}

func (s *surveyor) selection(sel ast.Selection) (m measure, err *gqlerror.Error) {
	switch sel := sel.(type) {
	case *ast.Field:
		s.uses += len(sel.Directives)
		if m, err = s.set(sel.SelectionSet); err != nil {
			return m, err
		}
		m.roots = 1
		if sel.Alias != sel.Name {
			m.aliases++
		}
		m.depth++
		m.meta++
		if sel.Name == "__schema" || sel.Name == "__type" {
			m.depth = 0
		}
	case *ast.InlineFragment:
		s.uses += len(sel.Directives)
		if m, err = s.set(sel.SelectionSet); err != nil {
			return m, err
		}
	case *ast.FragmentSpread:
		s.uses += len(sel.Directives)
		if f := s.doc.Fragments.ForName(sel.Name); f != nil {
			if m, err = s.fragment(f); err != nil {
				return m, err
			}
		}
	}
	m.selections++
	return m, nil
}

func (m *measure) add(o measure) {
	m.selections = min(m.selections+o.selections, math.MaxInt32)
	m.aliases = min(m.aliases+o.aliases, math.MaxInt32)
	m.roots = min(m.roots+o.roots, math.MaxInt32)
	m.depth = max(m.depth, o.depth)
	m.meta = max(m.meta, o.meta)
}
