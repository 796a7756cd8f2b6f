package schema

import (
	"github.com/vektah/gqlparser/v2/ast"
)

// roleNames and actionNames are the words of @auth.
var (
	roleNames   = map[string]Roles{"ANYONE": Anyone, "USER": User, "OWNER": Owner, "ADMIN": Admin, "SERVICE": Service}
	actionNames = map[string]Action{"READ": Read, "CREATE": Create, "UPDATE": Update, "DELETE": Delete}
)

// everyAction is what a rule without `on` covers.
var everyAction = []string{"READ", "CREATE", "UPDATE", "DELETE"}

// fieldActions is what a rule without `on` covers on a field. A value that a
// new record cannot be without must be given by whoever creates it: else the
// type's rule for CREATE would promise what the field's takes back.
func fieldActions(def *ast.FieldDefinition) []string {
	if def.Type.NonNull && def.Directives.ForName("default") == nil && def.Directives.ForName("owner") == nil {
		return []string{"READ", "UPDATE"}
	}
	return everyAction
}

// rules unites the @auth directives of one place; nil for an action that none
// of them names. Without `on` a directive covers the implied actions.
func (c *compiler) rules(directives ast.DirectiveList, implied []string) [4]*Rule {
	var rules [4]*Rule
	for _, directive := range directives.ForNames("auth") {
		var roles Roles
		for _, word := range words(directive, "requires") {
			roles |= roleNames[word]
		}
		if roles == 0 {
			c.at(directive.Position, "name at least one role", "@auth requires no role, so nobody could ever pass")
		}
		actions := words(directive, "on")
		switch {
		case actions == nil:
			actions = implied
		case len(actions) == 0:
			c.at(directive.Position, "name at least one action, or leave `on` out to cover them all", "@auth covers no action, so it would have no effect")
		}
		for _, word := range actions {
			action := actionNames[word]
			if rules[action] == nil {
				rules[action] = &Rule{}
			}
			rules[action].Roles |= roles
		}
	}
	return rules
}

// words returns the enum values of a list argument; a single value is a list of
// one. It is nil when the argument is not given, or null.
func words(directive *ast.Directive, name string) []string {
	arg := directive.Arguments.ForName(name)
	if arg == nil || arg.Value.Kind == ast.NullValue {
		return nil
	}
	if arg.Value.Kind != ast.ListValue {
		return []string{arg.Value.Raw}
	}
	list := []string{}
	for _, child := range arg.Value.Children {
		list = append(list, child.Value.Raw)
	}
	return list
}

// checkOwnerRules reports rules that could never hold.
func (c *compiler) checkOwnerRules(def *ast.Definition, r *Resource) {
	c.checkRules(def.Name, def.Directives, r.Owner != nil)
	for i, fieldDef := range def.Fields {
		c.checkRules(def.Name+"."+fieldDef.Name, fieldDef.Directives, r.Owner != nil)
		for _, directive := range fieldDef.Directives.ForNames("auth") {
			c.checkFieldActions(r.Fields[i], directive)
		}
	}
}

func (c *compiler) checkRules(place string, directives ast.DirectiveList, owned bool) {
	for _, directive := range directives.ForNames("auth") {
		for _, word := range words(directive, "requires") {
			if word == "OWNER" && !owned {
				c.at(directive.Position, "mark the field that holds the owner's subject with @owner, or name another role",
					"%s is for its OWNER, but the type has no @owner field", place)
			}
		}
	}
}

func (c *compiler) checkFieldActions(field *Field, directive *ast.Directive) {
	for _, action := range words(directive, "on") {
		switch {
		case action == "DELETE":
			c.at(directive.Position, "put the rule for DELETE on the type", "%s cannot be deleted by itself", field.Name)
		case !field.Stored() && action != "READ":
			c.at(directive.Position, "keep READ alone, or put the rule on the field that holds the key",
				"%s is a relation: it can be read but there is no %s of it", field.Name, action)
		}
	}
}
