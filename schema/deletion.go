package schema

import "github.com/vektah/gqlparser/v2/ast"

// Deletion says what becomes of a record when the one that it refers to is
// deleted. Zero: nothing, and it may refer to one that is not there.
type Deletion int

// The rules of @belongsTo(onDelete:). All of them want a reference to lead to a
// record when it is made.
const (
	Keep     Deletion = iota + 1 // the reference stays, and leads nowhere
	Restrict                     // there is no deletion while there is a reference
	Cascade                      // it is deleted, too
	SetNull                      // the reference becomes null
)

// String returns the word that SDL uses, such as SET_NULL; empty for zero.
func (d Deletion) String() string {
	return [...]string{"", "KEEP", "RESTRICT", "CASCADE", "SET_NULL"}[d]
}

// Reference is a field by which records refer to others that must be there.
type Reference struct {
	From *Resource
	Key  *Field // of From: it holds the id
	To   *Resource
	// OnDelete is one of the rules.
	OnDelete Deletion
}

// String names the reference as people do: Post.authorId.
func (r *Reference) String() string { return r.From.Name + "." + r.Key.Name }

// deletionOf reads the rule of a @belongsTo.
func deletionOf(directive *ast.Directive) Deletion {
	if directive == nil {
		return 0
	}
	word := stringArg(directive, "onDelete")
	for d := Keep; d <= SetNull; d++ {
		if d.String() == word {
			return d
		}
	}
	return 0
}

// onDelete compiles the rule of a relation whose key is known.
func (c *compiler) onDelete(r *Resource, field *Field, directive *ast.Directive) {
	rule := deletionOf(directive)
	field.Relation.OnDelete = rule
	key := r.Field(field.Relation.Field)
	if rule == SetNull && key != nil && key.Type.NonNull {
		c.at(argPosition(directive, "onDelete"), "declare `"+key.Name+": ID`, or choose RESTRICT or CASCADE",
			"%s.%s cannot be set to null when the %s is deleted: it has the type %s", r.Name, key.Name, field.Relation.Target.Name, key.Type)
	}
}

// references collects the relations with a rule. Two relations by one key to one
// type must agree.
func (c *compiler) references(m *Model) {
	for _, r := range m.Resources {
		for _, field := range r.Fields {
			relation := field.Relation
			if relation == nil || relation.OnDelete == 0 || relation.Target == nil || r.Field(relation.Field) == nil {
				continue
			}
			c.reference(r, field)
		}
	}
}

func (c *compiler) reference(r *Resource, field *Field) {
	relation := field.Relation
	for _, other := range r.References {
		if other.Key.Name != relation.Field || other.To != relation.Target {
			continue
		}
		if other.OnDelete != relation.OnDelete {
			c.at(field.Position, "give both the same onDelete, or one of them none",
				"%s.%s and another relation by %s say different things of the deletion of a %s", r.Name, field.Name, relation.Field, relation.Target.Name)
		}
		return
	}
	ref := &Reference{From: r, Key: r.Field(relation.Field), To: relation.Target, OnDelete: relation.OnDelete}
	r.References = append(r.References, ref)
	relation.Target.Referrers = append(relation.Target.Referrers, ref)
}
