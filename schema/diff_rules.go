package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// everybody is the set that no rule widens.
const everybody = Anyone | User | Owner | Admin | Service

// typeRules compares what @auth says on a type and on its fields. What nobody
// could call before, or cannot call any more, has its own kind of change.
func (d *differ) typeRules(old, new *ast.Definition) {
	if isResourceOf(d.old, old) && isResourceOf(d.new, new) {
		d.rules(old.Name, allowed(old.Directives, everyAction, Admin|Service), allowed(new.Directives, everyAction, Admin|Service))
	}
	for _, f := range old.Fields {
		g := new.Fields.ForName(f.Name)
		if g == nil || f.Directives.ForName("auth") == nil && g.Directives.ForName("auth") == nil {
			continue
		}
		was := allowed(f.Directives, impliedActions(d.old, old, f.Name), everybody)
		is := allowed(g.Directives, impliedActions(d.new, new, f.Name), everybody)
		if isRoot(old.Name) { // root fields are called, there are no actions on them
			was, is = [4]Roles{was[Read], was[Read], was[Read], was[Read]}, [4]Roles{is[Read], is[Read], is[Read], is[Read]}
		}
		d.rules(old.Name+"."+f.Name, was, is)
	}
}

// isResourceOf reports whether a type of a contract is a stored one: those, and
// only those, can be deleted.
func isResourceOf(contract *ast.Schema, def *ast.Definition) bool {
	return contract.Types["Delete"+def.Name+"Input"] != nil
}

// impliedActions is what a rule without `on` covers on a field of a contract. A
// field that a create must have is required in its input.
func impliedActions(contract *ast.Schema, def *ast.Definition, field string) []string {
	input := contract.Types["Create"+def.Name+"Input"]
	if input == nil {
		return everyAction
	}
	if f := input.Fields.ForName(field); f != nil && f.Type.NonNull && f.DefaultValue == nil {
		return []string{"READ", "UPDATE"}
	}
	return everyAction
}

// allowed returns who may do what: of the @auth directives, and otherwise the
// fallback's roles.
func allowed(directives ast.DirectiveList, implied []string, fallback Roles) (roles [4]Roles) {
	rules := (&compiler{reporter: &reporter{}}).rules(directives, implied)
	for action, rule := range rules {
		switch {
		case rule == nil:
			roles[action] = fallback
		case rule.Roles.Has(Anyone):
			roles[action] = everybody
		default:
			roles[action] = rule.Roles
		}
	}
	return roles
}

// rules reports who lost and who gained the right to an action.
func (d *differ) rules(at string, old, new [4]Roles) {
	if words := difference(at, old, new, "may no longer"); words != "" {
		d.add(Breaking, "AUTH_NARROWED", at, "%s: %s.", at, words)
	}
	if words := difference(at, new, old, "may now"); words != "" {
		d.add(Safe, "AUTH_WIDENED", at, "%s: %s.", at, words)
	}
}

// difference says which roles may do with one set of rules what they may not
// with the other.
func difference(at string, with, without [4]Roles, may string) string {
	var sets []Roles
	actions := map[Roles][]string{}
	for action := range with {
		if set := with[action] &^ without[action]; set != 0 {
			if actions[set] == nil {
				sets = append(sets, set)
			}
			actions[set] = append(actions[set], Action(action).String())
		}
	}
	var parts []string
	for _, set := range sets {
		what := strings.Join(actions[set], " and ")
		if typ, _, _ := strings.Cut(at, "."); isRoot(typ) {
			what = "call it"
		}
		parts = append(parts, fmt.Sprintf("%s %s %s", roleWords(set), may, what))
	}
	return strings.Join(parts, ", ")
}

// roleWords lists a set.
func roleWords(roles Roles) string {
	if roles.Has(Anyone) {
		return "ANYONE" // the others are among them
	}
	var words []string
	for _, word := range []string{"USER", "OWNER", "ADMIN", "SERVICE"} {
		if roles.Has(roleNames[word]) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " and ")
}

// constraint compares what @constraint asks of an input field.
func (d *differ) constraint(at string, old, new *ast.Directive) {
	was, is := ruleTexts(old), ruleTexts(new)
	names := map[string]bool{}
	for name := range was {
		names[name] = true
	}
	for name := range is {
		names[name] = true
	}
	var narrower, wider []string
	for name := range names {
		switch {
		case was[name] == is[name]:
		case is[name] == "":
			wider = append(wider, fmt.Sprintf("%s: %s was removed", name, was[name]))
		case was[name] == "":
			narrower = append(narrower, fmt.Sprintf("%s: %s was added", name, is[name]))
		case isWider(name, was[name], is[name]):
			wider = append(wider, fmt.Sprintf("%s is %s, was %s", name, is[name], was[name]))
		default:
			narrower = append(narrower, fmt.Sprintf("%s is %s, was %s", name, is[name], was[name]))
		}
	}
	slices.Sort(narrower)
	slices.Sort(wider)
	if len(narrower) > 0 {
		d.add(Breaking, "CONSTRAINT_NARROWED", at, "Values of %s that were taken may be refused: %s.", at, strings.Join(narrower, ", "))
	}
	if len(wider) > 0 {
		d.add(Safe, "CONSTRAINT_WIDENED", at, "More values of %s are taken: %s.", at, strings.Join(wider, ", "))
	}
}

func ruleTexts(directive *ast.Directive) map[string]string {
	texts := map[string]string{}
	if directive == nil {
		return texts
	}
	for _, arg := range directive.Arguments {
		if arg.Value.Kind != ast.NullValue {
			texts[arg.Name] = printValue(arg.Value)
		}
	}
	return texts
}

// isWider reports whether a rule that changed certainly takes all that it took.
func isWider(rule, old, new string) bool {
	was, oldErr := strconv.ParseFloat(old, 64)
	is, newErr := strconv.ParseFloat(new, 64)
	if oldErr != nil || newErr != nil {
		return shorter(rule, old, new)
	}
	switch rule {
	case "maxLength", "maxItems", "max", "exclusiveMax":
		return is >= was
	case "minLength", "minItems", "min", "exclusiveMin":
		return is <= was
	case "multipleOf":
		return math.Mod(was, is) == 0
	}
	return false
}

// shorter reports whether a text that values must have became a part of itself.
func shorter(rule, old, new string) bool {
	var was, is string
	if json.Unmarshal([]byte(old), &was) != nil || json.Unmarshal([]byte(new), &is) != nil {
		return false
	}
	switch rule {
	case "startsWith":
		return strings.HasPrefix(was, is)
	case "endsWith":
		return strings.HasSuffix(was, is)
	case "contains":
		return strings.Contains(was, is)
	case "notContains":
		return strings.Contains(is, was)
	}
	return false
}
