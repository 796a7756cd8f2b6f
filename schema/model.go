package schema

import (
	"encoding/json"
	"regexp"

	"github.com/vektah/gqlparser/v2/ast"
)

// Model is one compiled schema: what exists, who may do what with it, and the
// contract that callers see. It is immutable after Load and safe for concurrent
// use; nobody may change what its fields point to.
type Model struct {
	// Resources in the order of their names.
	Resources []*Resource
	// First is the resource that is declared before the others, in the order of the
	// files' names: what examples show. Nil without resources.
	First *Resource
	// Contract is the expanded schema (root fields, connections, inputs, change
	// types), ready for validation and introspection. Fields that are refused
	// per caller are nullable in it even where the adopter wrote `!`.
	Contract *ast.Schema
	// SDL is Contract as text, sorted and stable: what `api schema print` writes.
	SDL string
	// Fingerprint is the hex SHA-256 of everything that decides how records are
	// stored and indexed. A view built under another fingerprint is rebuilt.
	Fingerprint string
	// Operations are those that the adopter stored for SOAP beside the schema, in
	// the order of their names.
	Operations []*Operation

	resources map[string]*Resource
	roots     map[string]*Root
	functions map[string]*Rule
	replaced  map[string]string
	bindings  map[string]*Binding

	costs      map[member]*CostRule
	inputCosts map[member]float64
}

// What rooms need of the contract's syntax tree.
type (
	// Type is a type as SDL writes it: named or a list, with or without `!`.
	Type = ast.Type
	// Definition is a type of the contract.
	Definition = ast.Definition
	// FieldDefinition is a field of one.
	FieldDefinition = ast.FieldDefinition
	// Directives stand on both.
	Directives = ast.DirectiveList
)

// Resource returns the resource with the given type name, nil when there is none.
func (m *Model) Resource(name string) *Resource { return m.resources[name] }

// Root returns what the given root field does, for example Root("Mutation",
// "createUser"). It is nil for a field that the adopter wrote by hand without a
// binding: such a field needs a Go function (graphql.Options.Functions).
func (m *Model) Root(typ, field string) *Root { return m.roots[typ+"."+field] }

// FunctionRule returns the @auth of a root field that the adopter wrote by
// hand: the roles of which a caller needs one. It is nil when the field has
// none: then anybody may call it.
func (m *Model) FunctionRule(typ, field string) *Rule { return m.functions[typ+"."+field] }

// Replaced returns the shape of the root field that a resource would generate,
// had the adopter not declared one of the same name that is something else:
// `users(first: Int, …): UserConnection`. It is empty for every other field.
func (m *Model) Replaced(typ, field string) string { return m.replaced[typ+"."+field] }

// RootKind is what a generated root field does.
type RootKind int

// The kinds of generated root fields, for User as the example.
const (
	RootGet     RootKind = iota + 1 // user(id: ID!): User
	RootList                        // users(first, after, last, before, filter, orderBy): UserConnection
	RootCreate                      // createUser(input: CreateUserInput!): User
	RootUpdate                      // updateUser(input: UpdateUserInput!): User
	RootDelete                      // deleteUser(input: DeleteUserInput!): User
	RootChanged                     // userChanged(id: ID, filter: UserFilter, snapshot: Boolean = false): UserChange!
	RootChanges                     // userChanges(after: String, first: Int, filter: UserFilter): UserChangePage
	RootHistory                     // userHistory(id: ID!, first: Int, after: String): UserHistoryPage
)

// Root is one generated root field.
type Root struct {
	Kind     RootKind
	Resource *Resource
	Name     string // the field's name
	// Rule says who may call a RootHistory; nil for every other, where the rules of
	// the resource decide alone.
	Rule *Rule
	// OnSlow says what becomes of subscribers to a RootChanged who read too slowly.
	OnSlow Slow
}

// Resource is one stored type.
type Resource struct {
	Name        string // User
	Plural      string // users: the list field, and the stem of its connection
	Singular    string // user: the get field, and the record's field in the change type
	Description string
	// Fields in declared order, relations included.
	Fields []*Field
	// Owner is the field that holds the subject which owns a record; nil when
	// nobody does. It may be the id field: then a subject has one record.
	Owner *Field
	// Version is the field that counts a record's changes; nil when nobody counts
	// them. Then updates and deletes take ExpectedVersion.
	Version *Field
	// Auth holds the rule for each action. An action that no @auth names is
	// for ADMIN and SERVICE only.
	Auth [4]Rule
	// OnSlow says what becomes of subscribers who read too slowly, unless their
	// root field says something else.
	OnSlow Slow
	// History is how many changes of each record the log keeps, if that is fewer
	// than of all records; 0 where the schema says nothing.
	History int

	// References are the fields by which records refer to others that must be
	// there; Referrers those of other records, and of this type's own, that refer
	// to records of this one.
	References, Referrers []*Reference

	fields map[string]*Field
}

// Field returns the field with the given name, nil when there is none.
func (r *Resource) Field(name string) *Field { return r.fields[name] }

// Field is one field of a resource.
type Field struct {
	Name string
	// Type as the adopter wrote it: `!` means that a stored record always has
	// a value. (In the contract a field with a read rule of its own is nullable.)
	Type *ast.Type
	// Kind of value at the leaf of Type. KindObject only for relations.
	Kind Kind
	// Object describes the values when Kind is KindEmbedded, nil otherwise.
	Object *Object
	// Enum holds the allowed values when Kind is KindEnum.
	Enum []string
	// Relation is set for @belongsTo and @hasMany fields; they are not stored.
	Relation *Relation
	// Auth holds the field's own rule for each action, nil where it has none:
	// then the resource's rule alone decides. Both must allow.
	Auth [4]*Rule
	// Unique: no two records of the resource have the same value.
	Unique bool
	// Indexed: the field can be filtered and ordered by. True for id, unique
	// and indexed fields and for the keys that relations follow.
	Indexed bool
	// Default is the JSON value that a create without one gets; nil for none.
	Default json.RawMessage
	// OnCreate and OnUpdate mark a field that the worker fills then, a @timestamp
	// or the Version; such a field is in no input.
	OnCreate, OnUpdate bool
	// Constraint is never nil for a stored String, ID or list: the global caps
	// apply where @constraint says nothing.
	Constraint *Constraint
	// Position is where the field was declared, for messages.
	Position *ast.Position
}

// Stored reports whether the field is part of the record.
func (f *Field) Stored() bool { return f.Relation == nil }

// Kind is the kind of a leaf value, deciding how it is checked, stored and indexed.
type Kind int

// The kinds of leaf values.
const (
	KindString Kind = iota + 1
	KindID
	KindInt
	KindFloat
	KindBoolean
	KindEnum
	KindDateTime    // RFC 3339, kept in UTC without trailing zeros: "2026-11-20T07:25:22.5Z"
	KindEmail       // EmailAddress
	KindURL         // URL
	KindUUID        // UUID
	KindPositiveInt // PositiveInt: Int greater than zero
	KindCursor      // Cursor: opaque, never stored
	KindDate        // Date: "2026-11-20"
	KindJSON        // JSON, and every scalar that the adopter declared: any JSON value
	KindObject      // a relation
	KindEmbedded    // an object inside of the record: Field.Object
)

// Relation says how a field reaches other records.
type Relation struct {
	Target *Resource
	// Many: a list (@hasMany); otherwise one record or null (@belongsTo).
	Many bool
	// Field for @belongsTo: the field of this resource that holds the target's
	// id. For @hasMany: the field of Target, or of Through, that holds this
	// record's id.
	Field string
	// Through and TargetField for the second form of @hasMany: the resource in
	// between, and its field that holds the target's id.
	Through     *Resource
	TargetField string
	// Limit is the default of the `limit` argument.
	Limit int
	// OnDelete for @belongsTo: what becomes of this record when the target is
	// deleted. Zero: it is not even asked whether there is a target.
	OnDelete Deletion
}

// Action is what a caller wants to do with a record.
type Action int

// The actions of @auth(on:).
const (
	Read Action = iota
	Create
	Update
	Delete
)

// String returns the word that SDL uses, such as READ.
func (a Action) String() string { return [...]string{"READ", "CREATE", "UPDATE", "DELETE"}[a] }

// Roles is a set of roles, as a bit mask. The zero value is the empty set.
type Roles uint8

// The roles of @auth(requires:). Anyone and Owner are never in a token: the
// first holds for everybody, the second is found by comparing the record's
// owner with the caller.
const (
	Anyone Roles = 1 << iota
	User
	Owner
	Admin
	Service
)

// Has reports whether the two sets share a role.
func (r Roles) Has(other Roles) bool { return r&other != 0 }

// Rule lists the roles of which one is enough.
type Rule struct{ Roles Roles }

// Allows reports whether a caller with the given roles may act, when owns says
// whether the record is the caller's own.
func (r Rule) Allows(roles Roles, owns bool) bool {
	return r.Roles.Has(Anyone) || r.Roles.Has(roles&^(Anyone|Owner)) || owns && r.Roles.Has(Owner)
}

// Constraint is @constraint with its patterns compiled. Nil pointers and empty
// strings mean that there is no such rule.
type Constraint struct {
	MinLength, MaxLength       *int // characters (code points)
	MinItems, MaxItems         *int
	StartsWith, EndsWith       string
	Contains, NotContains      string
	Pattern                    *regexp.Regexp
	Format                     string
	Min, Max                   *float64
	ExclusiveMin, ExclusiveMax *float64
	MultipleOf                 *float64
}

// The global caps, for values without a @constraint of their own.
const (
	MaxStringBytes = 64 << 10
	MaxListItems   = 1000
	DefaultPage    = 20
	MaxPage        = 100 // unless Options.MaxPage says else
)
