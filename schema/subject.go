package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/vektah/gqlparser/v2/ast"
)

// Subject is the template of a subject of the bus: text with the values of
// arguments in it, as in `orders.{{ args.region }}.created`. The first token is
// plain text, so that what a caller sends never decides whom it reaches.
type Subject struct {
	// Text is the template as it was written.
	Text string
	// Parts make up the subject, in order.
	Parts []SubjectPart
}

// SubjectPart is plain text, or the value of an argument.
type SubjectPart struct {
	Literal string
	// Argument leads to the value: the argument's name, and for a value inside
	// of an input object the names of the fields. Nil for text.
	Argument []string
}

// maxSubject bounds a template, in bytes.
const maxSubject = 512

// subjectFault is what is wrong with a template, and what to do.
type subjectFault struct{ what, remedy string }

// parseSubject reads a template. Wildcards are for those who listen.
func parseSubject(text string, wildcards bool) (Subject, *subjectFault) {
	s := Subject{Text: text}
	if len(text) > maxSubject {
		return s, &subjectFault{fmt.Sprintf("has more than %d bytes", maxSubject), "choose shorter names"}
	}
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{{")
		if strings.Contains(literal, "}}") {
			return s, &subjectFault{"has }} without {{ before it", "write {{ args.name }}"}
		}
		if literal != "" {
			s.Parts = append(s.Parts, SubjectPart{Literal: literal})
		}
		if !found {
			break
		}
		inner, next, closed := strings.Cut(after, "}}")
		if !closed {
			return s, &subjectFault{"has {{ that is not closed", "write {{ args.name }}"}
		}
		path := strings.Split(strings.Trim(inner, " "), ".")
		if len(path) < 2 || path[0] != "args" || slices.ContainsFunc(path, func(name string) bool { return !isName(name) }) {
			return s, &subjectFault{fmt.Sprintf("has {{%s}}, which names no argument", inner), "write {{ args.name }}"}
		}
		s.Parts = append(s.Parts, SubjectPart{Argument: path[1:]})
		rest = next
	}
	return s, s.checkTokens(wildcards)
}

// checkTokens looks at the subject's tokens, with a letter for each value.
func (s Subject) checkTokens(wildcards bool) *subjectFault {
	const value = "\x00"
	var shape strings.Builder
	for _, part := range s.Parts {
		if part.Argument != nil {
			shape.WriteString(value)
		} else if strings.ContainsFunc(part.Literal, unfit) {
			return &subjectFault{"has a blank, a brace or a character that cannot be printed in it", "use letters, digits, - and _, and dots between the tokens"}
		} else {
			shape.WriteString(part.Literal)
		}
	}
	tokens := strings.Split(shape.String(), ".")
	for i, token := range tokens {
		wild := token == "*" || token == ">" && i == len(tokens)-1
		switch {
		case token == "":
			return &subjectFault{"has an empty token", "write at least one character between two dots, and at both ends"}
		case strings.ContainsAny(token, "*>") && !wild:
			return &subjectFault{"has a wildcard inside of a token, or > before the end", "let * stand for one whole token, > for the last ones"}
		case wild && !wildcards:
			return &subjectFault{"has a wildcard", "name one subject: only @busSubscribe listens to several"}
		case i == 0 && (wild || strings.Contains(token, value)):
			return &subjectFault{"does not begin with plain text", "write the first token out: otherwise it could be anybody's subject, the service's own among them"}
		}
	}
	if first := tokens[0]; first[0] == '$' || first[0] == '_' {
		return &subjectFault{"belongs to NATS itself", "choose a subject that begins with a letter"}
	}
	return nil
}

func unfit(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '{' || r == '}' || r == unicode.ReplacementChar
}

// tokenKinds are those whose values can be one token of a subject.
var tokenKinds = []Kind{KindString, KindID, KindInt, KindPositiveInt, KindBoolean, KindUUID, KindDate}

// checkSubjectArguments reports the arguments of a template that are not there,
// may be left out, or have values that no token can hold.
func (e *expansion) checkSubjectArguments(at *ast.Position, field *ast.FieldDefinition, s Subject) {
	for _, part := range s.Parts {
		if part.Argument == nil {
			continue
		}
		if fault := e.checkSubjectArgument(field, part.Argument); fault != nil {
			e.at(at, fault.remedy, "the subject %q: args.%s %s", s.Text, strings.Join(part.Argument, "."), fault.what)
		}
	}
}

func (e *expansion) checkSubjectArgument(field *ast.FieldDefinition, path []string) *subjectFault {
	arg := field.Arguments.ForName(path[0])
	if arg == nil {
		return &subjectFault{"is not there: " + field.Name + " has no such argument", "declare the argument, or correct the name"}
	}
	typ, def := arg.Type, arg.DefaultValue
	for _, name := range path[1:] {
		if !typ.NonNull && def == nil {
			return optional(typ)
		}
		input := e.definition(typ.NamedType)
		if input == nil || input.Kind != ast.InputObject {
			return &subjectFault{"is not there: " + typ.String() + " has no fields", "name the argument itself"}
		}
		member := input.Fields.ForName(name)
		if member == nil {
			return &subjectFault{"is not there: " + input.Name + " has no field " + name, "correct the name"}
		}
		typ, def = member.Type, member.DefaultValue
	}
	leaf := e.definition(typ.NamedType)
	fits := leaf != nil && (leaf.Kind == ast.Enum || leaf.Kind == ast.Scalar && slices.Contains(tokenKinds, kinds[leaf.Name]))
	switch {
	case !fits:
		return &subjectFault{"has the type " + typ.String() + ", whose values are not one token of a subject", "use an argument that is a String, ID, Int, PositiveInt, Boolean, UUID, Date or an enum"}
	case !typ.NonNull && def == nil:
		return optional(typ)
	}
	return nil
}

func optional(typ *ast.Type) *subjectFault {
	return &subjectFault{"may be left out", "give it the type " + typ.String() + "!, or a default"}
}

// definition returns a type of the contract that is being built.
func (e *expansion) definition(name string) *ast.Definition {
	if def := e.types[name]; def != nil {
		return def
	}
	return e.builtin[name]
}
