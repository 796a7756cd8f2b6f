package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// CostRule is what one field of an answer weighs, as IBM's GraphQL Cost
// Directives Specification has it: what @cost and @listSize say where they
// stand, and the specification's defaults where they do not.
type CostRule struct {
	// Weight of the field: @cost on the field, else on its type, else 1 for an
	// object and 0 for a leaf. It can be negative.
	Weight float64
	// Members holds the weight of each type that may be there, where the field is
	// an interface or a union and has no @cost of its own; Weight is then the
	// greatest of them.
	Members map[string]float64
	// Arguments holds the weight of each argument that is given: @cost on the
	// argument, else on its type, else 1 for an input object and 0 for a leaf.
	// Arguments that weigh nothing are not in it.
	Arguments map[string]float64
	// List says how long the field's list is, or the lists below it; nil when
	// neither @listSize nor the service knows: a list is then assumed to hold
	// one item.
	List *ListSize
}

// ListSize is @listSize. Generated lists and @hasMany relations have one
// without being told: their paging arguments are the slicing arguments.
type ListSize struct {
	// AssumedSize is how many items a list has at most that no slicing argument
	// bounds; -1 when it is not given.
	AssumedSize int
	// SlicingArguments name the arguments that bound the list. A dot leads into
	// an input object: "input.first". Of several that are given the greatest counts.
	SlicingArguments []string
	// SizedFields are the fields of the answer that are the lists; empty when
	// the field itself is the list.
	SizedFields []string
	// RequireOne refuses a request that gives none of the slicing arguments, or
	// more than one. It is false when there are none.
	RequireOne bool
	// DefaultSize is how many items there are when no slicing argument is
	// given; -1 when it is not said.
	DefaultSize int
}

// totalCountWeight is what counting a list weighs: it reads an index to its end.
const totalCountWeight = 10

// Cost returns what the field of an object or interface of the contract weighs;
// nil for a field that is not there, such as __typename, which weighs nothing.
func (m *Model) Cost(typ, field string) *CostRule { return m.costs[member{typ, field}] }

// InputCost returns the weight of a field of an input object that is given:
// @cost on it, else on its type, else 1 for an input object and 0 for a leaf.
func (m *Model) InputCost(input, field string) float64 { return m.inputCosts[member{input, field}] }

// member names a field of a type.
type member struct{ typ, field string }

// weigh fills the model's costs from the contract.
func (c *compiler) weigh(m *Model) {
	m.costs, m.inputCosts = map[member]*CostRule{}, map[member]float64{}
	for _, def := range m.Contract.Types {
		for _, field := range def.Fields {
			at := member{def.Name, field.Name}
			switch def.Kind {
			case ast.Object, ast.Interface:
				m.costs[at] = costRule(m, def, field)
			case ast.InputObject:
				if w := weight(m.Contract, field.Directives, field.Type); w != 0 {
					m.inputCosts[at] = w
				}
			}
		}
	}
}

func costRule(m *Model, def *ast.Definition, field *ast.FieldDefinition) *CostRule {
	rule := &CostRule{Weight: weight(m.Contract, field.Directives, field.Type), List: listSize(field)}
	for _, arg := range field.Arguments {
		if w := weight(m.Contract, arg.Directives, arg.Type); w != 0 {
			if rule.Arguments == nil {
				rule.Arguments = map[string]float64{}
			}
			rule.Arguments[arg.Name] = w
		}
	}
	if typ := m.Contract.Types[field.Type.Name()]; typ.IsAbstractType() && field.Directives.ForName("cost") == nil {
		rule.members(m.Contract, typ)
	}
	impliedCost(m, def, field, rule)
	return rule
}

// members takes the weights of the types that an interface or a union stands for.
func (rule *CostRule) members(contract *ast.Schema, abstract *ast.Definition) {
	for i, possible := range contract.GetPossibleTypes(abstract) {
		w := weight(contract, nil, ast.NamedType(possible.Name, nil))
		if i == 0 {
			rule.Members, rule.Weight = map[string]float64{}, w
		}
		rule.Members[possible.Name], rule.Weight = w, max(rule.Weight, w)
	}
}

// impliedCost says of generated fields what no directive says.
func impliedCost(m *Model, def *ast.Definition, field *ast.FieldDefinition, rule *CostRule) {
	if root := m.Root(def.Name, field.Name); root != nil && (root.Kind == RootList || root.Kind == RootChanges || root.Kind == RootHistory) && rule.List == nil {
		rule.List = &ListSize{AssumedSize: -1, DefaultSize: DefaultPage,
			SlicingArguments: []string{"first", "last"}, SizedFields: []string{"nodes", "edges"}}
	}
	if r := m.Resource(def.Name); r != nil && rule.List == nil {
		if f := r.Field(field.Name); f != nil && f.Relation != nil && f.Relation.Many {
			rule.List = &ListSize{AssumedSize: -1, DefaultSize: f.Relation.Limit, SlicingArguments: []string{"limit"}}
		}
	}
	counted, isConnection := strings.CutSuffix(def.Name, "Connection")
	if isConnection && m.Resource(counted) != nil && field.Name == "totalCount" && field.Directives.ForName("cost") == nil {
		rule.Weight = totalCountWeight
	}
}

// weight is what @cost says at a place, else of the type, else the default.
func weight(contract *ast.Schema, place ast.DirectiveList, typ *ast.Type) float64 {
	def := contract.Types[typ.Name()]
	for _, list := range []ast.DirectiveList{place, def.Directives} {
		if directive := list.ForName("cost"); directive != nil {
			w, _ := strconv.ParseFloat(directive.Arguments.ForName("weight").Value.Raw, 64) // checkCost has read it
			return w
		}
	}
	if def.IsLeafType() {
		return 0
	}
	return 1
}

func listSize(field *ast.FieldDefinition) *ListSize {
	directive := field.Directives.ForName("listSize")
	if directive == nil {
		return nil
	}
	size := &ListSize{AssumedSize: -1, DefaultSize: -1,
		SlicingArguments: words(directive, "slicingArguments"), SizedFields: words(directive, "sizedFields")}
	if arg := given(directive, "assumedSize"); arg != nil {
		size.AssumedSize, _ = strconv.Atoi(arg.Value.Raw) // checkListSize has read both
	}
	if arg := given(directive, "slicingArgumentDefaultValue"); arg != nil {
		size.DefaultSize, _ = strconv.Atoi(arg.Value.Raw)
	}
	required := given(directive, "requireOneSlicingArgument")
	size.RequireOne = len(size.SlicingArguments) > 0 && (required == nil || required.Value.Raw == "true")
	return size
}

// given returns a directive's argument, nil when it is left out or null.
func given(directive *ast.Directive, name string) *ast.Argument {
	if arg := directive.Arguments.ForName(name); arg != nil && arg.Value.Kind != ast.NullValue {
		return arg
	}
	return nil
}

// checkCost reports a weight that is no number.
func (c *compiler) checkCost(list ast.DirectiveList) {
	for _, directive := range list.ForNames("cost") {
		arg := directive.Arguments.ForName("weight")
		if arg == nil {
			continue // reported with the directive's arguments
		}
		w, err := strconv.ParseFloat(arg.Value.Raw, 64)
		leaf := slices.Contains([]ast.ValueKind{ast.IntValue, ast.FloatValue, ast.StringValue}, arg.Value.Kind)
		if err != nil || !leaf || math.IsNaN(w) || math.IsInf(w, 0) {
			c.at(arg.Value.Position, `write a number such as 5, 0.5 or "5"`, "%s is not a weight", printValue(arg.Value))
		}
	}
}

// checkListSize reports a @listSize that does not fit its field.
func (c *compiler) checkListSize(place string, field *ast.FieldDefinition) {
	directive := field.Directives.ForName("listSize")
	if directive == nil {
		return
	}
	for _, name := range []string{"assumedSize", "slicingArgumentDefaultValue"} {
		arg := given(directive, name)
		if arg == nil {
			continue
		}
		if n, err := strconv.Atoi(arg.Value.Raw); err != nil || n < 0 {
			c.at(arg.Value.Position, "give a number from 0 on", "a list cannot have %s items", arg.Value.Raw)
		}
	}
	for _, path := range words(directive, "slicingArguments") {
		if !c.isSlice(field.Arguments, path) {
			c.at(argPosition(directive, "slicingArguments"), "name arguments of the type Int, or a field of an input object as in \"input.first\"",
				"%s has no argument %q of the type Int that could bound its list", place, path)
		}
	}
	sized := words(directive, "sizedFields")
	switch {
	case len(sized) == 0 && field.Type.Elem == nil:
		c.at(directive.Position, "name the fields that are the lists by sizedFields, or remove @listSize", "%s is no list", place)
	case len(sized) > 0 && field.Type.Elem != nil:
		c.at(argPosition(directive, "sizedFields"), "remove sizedFields", "%s is itself the list", place)
	}
	for _, name := range sized {
		def := c.lookup(field.Type.Name())
		if def == nil {
			continue // reported with the type
		}
		if inner := def.Fields.ForName(name); c.types[def.Name] != nil && (inner == nil || inner.Type.Elem == nil) {
			c.at(argPosition(directive, "sizedFields"), "name fields of "+def.Name+" that are lists", "%s has no list %q", def.Name, name)
		}
	}
}

// isSlice reports whether the path leads to an Int among the arguments.
func (c *compiler) isSlice(args ast.ArgumentDefinitionList, path string) bool {
	first, rest, _ := strings.Cut(path, ".")
	arg := args.ForName(first)
	if arg == nil {
		return false
	}
	typ := arg.Type
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, ".")
		def := c.lookup(typ.Name())
		if def == nil || def.Kind != ast.InputObject || typ.Elem != nil || def.Fields.ForName(name) == nil {
			return false
		}
		typ = def.Fields.ForName(name).Type
	}
	return typ.Elem == nil && typ.NamedType == "Int"
}
