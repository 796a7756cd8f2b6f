package schema

import "github.com/vektah/gqlparser/v2/ast"

// deletion compares what becomes of a record when the one that it refers to is
// deleted. Who begins to have a rule refuses references that lead nowhere.
func (d *differ) deletion(at string, old, new *ast.FieldDefinition) {
	was, is := deletionOf(old.Directives.ForName("belongsTo")), deletionOf(new.Directives.ForName("belongsTo"))
	target := new.Type.Name()
	switch {
	case was == is:
	case was == 0:
		d.add(Breaking, "ON_DELETE_ADDED", at, "%s must lead to a %s that is there now; when that is deleted: %s.", at, target, is)
	case is == 0 && was == Keep:
		d.add(Safe, "ON_DELETE_REMOVED", at, "%s may lead nowhere now.", at)
	case is == 0:
		d.add(Dangerous, "ON_DELETE_REMOVED", at, "%s may lead nowhere now; until now, when a %s was deleted: %s.", at, target, was)
	case is == Restrict:
		d.add(Breaking, "ON_DELETE_CHANGED", at, "A %s to which %s leads can no longer be deleted; until now: %s.", target, at, was)
	default:
		d.add(Dangerous, "ON_DELETE_CHANGED", at, "When a %s to which %s leads is deleted: %s, until now %s.", target, at, is, was)
	}
}
