package resource

import (
	"bytes"
	"encoding/json"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

// Decision is what a command does to the log: one record's message and the
// unique values that must be taken and given back together with it.
type Decision struct {
	ID   string
	Kind Kind
	// Raw is the message's body: the record, or the stub of a deleted one.
	Raw []byte
	// Answer is what the caller gets: the record, for Delete as it was.
	Answer []byte
	// Take and Release are what the record begins and ceases to hold.
	Take, Release []Unique
}

// Decide is the whole write rule, as a pure function: what a command does to a
// record, given the record as it is (nil when there is none), the time and an
// id for a new record. Faults: Forbidden, NotFound, Conflict and BadUserInput,
// the last with the input's member in Field. Whether unique values are free is
// seen only when they are appended.
func Decide(m *schema.Model, cmd Command, current []byte, now time.Time, newID string) (Decision, error) {
	a, err := readInput(m, cmd)
	if err != nil {
		return Decision{}, err
	}
	return a.decide(current, nil, now, newID)
}

// asked is a command whose input was taken apart. It is not changed by what is
// asked of it.
type asked struct {
	Command
	r     *schema.Resource
	input members
}

// decide decides on a record as it is, and on the tombstone of one that was
// deleted; each is nil when there is none.
func (a asked) decide(current, tombstone []byte, now time.Time, newID string) (Decision, error) {
	d := draft{r: a.r, who: a.Who, now: now, input: a.input, tombstone: tombstone}
	switch a.Verb {
	case Create:
		return d.create(current, newID)
	case Update:
		return d.update(current)
	case Delete:
		return d.delete(current)
	}
	return Decision{}, fault.New(fault.BadUserInput, "there is no command %q", a.Verb)
}

// maxID bounds an id in bytes: it becomes part of a subject of the bus.
const maxID = 255

// Target returns the id of the record that a command is about, so that its
// current state can be read before Decide: the input's id, for a Create of a
// resource whose id is its owner that owner, and for any other Create newID.
func Target(m *schema.Model, cmd Command, newID string) (string, error) {
	a, err := readInput(m, cmd)
	if err != nil {
		return "", err
	}
	return a.target(newID)
}

func (a asked) target(newID string) (string, error) {
	r := a.r
	ownerIsID := r.Owner != nil && r.Owner.Name == "id"
	if a.Verb == Create && !ownerIsID {
		return newID, nil
	}
	id := asString(a.input["id"])
	if id == "" && a.Verb == Create {
		id = a.Who.Subject
	}
	switch {
	case a.Verb == Create && !a.Who.May(r.Auth[schema.Create], id):
		return "", forbidden(r, schema.Create)
	case id == "":
		return "", fault.Input("input.id", "the id of the %s is missing", r.Name)
	case len(id) <= maxID:
		return id, nil
	case a.Verb == Create:
		return "", fault.Input("input.id", "%s.id has %d bytes; at most %d are allowed", r.Name, len(id), maxID)
	}
	return "", fault.New(fault.NotFound, "there is no %s with such a long id", r.Name)
}

// inputPath is what the members of an input are under.
const inputPath = "input."

// readInput takes the input apart and refuses members that the command cannot
// use. The id and the owner are in the form in which they are kept: they are
// compared before anything else is looked at.
func readInput(m *schema.Model, cmd Command) (asked, error) {
	r := m.Resource(cmd.Type)
	if r == nil {
		return asked{}, noResource(cmd.Type)
	}
	input, err := membersOf(cmd.Input)
	if err != nil {
		return asked{}, fault.Wrap(err, fault.BadUserInput, "the input is not a JSON object")
	}
	for name, value := range input {
		if r.Version != nil && name == schema.ExpectedVersion && cmd.Verb != Create {
			if err := checkExpected(value); err != nil {
				return asked{}, err
			}
			continue
		}
		f := r.Field(name)
		usable := f != nil && f.Stored() && !f.OnCreate && !f.OnUpdate
		if cmd.Verb == Delete {
			usable = name == "id"
		}
		if !usable {
			return asked{}, noField(r.Name, name)
		}
		if (name != "id" && f != r.Owner) || isNull(value) {
			continue
		}
		if input[name], err = check(f, value, inputPath); err != nil {
			return asked{}, err
		}
	}
	return asked{cmd, r, input}, nil
}

func noResource(typ string) *fault.Error {
	return fault.New(fault.BadUserInput, "there is no resource %q", typ)
}

func noField(typ, name string) *fault.Error {
	return fault.Input("input."+name, "%s has no field %q that can be set", typ, name)
}

// draft is a record in the making.
type draft struct {
	r     *schema.Resource
	who   auth.Principal
	now   time.Time
	input members
	// tombstone is what a deleted record has left; nil for one that never was.
	tombstone []byte
}

func (d *draft) create(current []byte, newID string) (Decision, error) {
	owner, err := d.newOwner()
	if err != nil {
		return Decision{}, err
	}
	if !d.who.May(d.r.Auth[schema.Create], owner) {
		return Decision{}, forbidden(d.r, schema.Create)
	}
	id, err := d.newID(newID, owner)
	if err != nil {
		return Decision{}, err
	}
	if current != nil {
		return Decision{}, d.exists(id)
	}
	values := make([]json.RawMessage, len(d.r.Fields))
	for i, f := range d.r.Fields {
		if values[i], err = d.initial(f, id, owner); err != nil {
			return Decision{}, err
		}
	}
	raw := encodeValues(d.r, values)
	return Decision{ID: id, Kind: Created, Raw: raw, Answer: raw, Take: uniqueValues(d.r, values)}, nil
}

// newID is the id of the new record: its owner where the schema says so,
// otherwise the fresh one.
func (d *draft) newID(fresh, owner string) (string, error) {
	ownerIsID := d.r.Owner != nil && d.r.Owner.Name == "id"
	switch {
	case !ownerIsID && d.input["id"] != nil:
		return "", fault.Input("input.id", "the id of a new %s is made by the service; leave it out", d.r.Name)
	case !ownerIsID:
		return fresh, nil
	case owner == "":
		return "", fault.Input("input.id", "%s.id is required", d.r.Name)
	}
	return owner, nil
}

// exists says that there is such a record, and what to do where it is there to stay:
// whoever creates their own a second time wants to change it.
func (d *draft) exists(id string) *fault.Error {
	if d.r.Owner != nil && d.r.Owner.Name == "id" {
		return fault.New(fault.Conflict, "%s %q exists already: each subject has one, with the id of the subject; update it instead", d.r.Name, id)
	}
	return fault.New(fault.Conflict, "%s %q exists already", d.r.Name, id)
}

// newOwner says who will own the record: the caller, or whom an ADMIN or a
// SERVICE names. Empty for a resource without owners.
func (d *draft) newOwner() (string, error) {
	f := d.r.Owner
	if f == nil {
		return "", nil
	}
	owner := asString(d.input[f.Name])
	if owner == "" {
		return d.who.Subject, nil
	}
	if owner != d.who.Subject && !d.who.Roles.Has(schema.Admin|schema.Service) {
		return "", &fault.Error{Code: fault.Forbidden, Field: "input." + f.Name, Message: "not allowed to make a " + d.r.Name + " for somebody else"}
	}
	return owner, nil
}

// initial returns the value that a field has in a new record; nil for a field
// that is not stored.
func (d *draft) initial(f *schema.Field, id, owner string) (json.RawMessage, error) {
	given, isGiven := d.input[f.Name]
	switch {
	case !f.Stored():
		return nil, nil
	case f.Name == "id":
		return quoted(id), nil
	case f == d.r.Version:
		return nextVersion(d.r, d.tombstone), nil
	case f == d.r.Owner && !isNull(given):
		return d.given(f, given, schema.Create, owner)
	case f == d.r.Owner && owner != "":
		return quoted(owner), nil
	case f.OnCreate || f.OnUpdate:
		return quoted(d.now.Format(time.RFC3339Nano)), nil
	case isGiven && !bytes.Equal(given, f.Default): // who may not set it may leave it as it would be
		return d.given(f, given, schema.Create, owner)
	case f.Default != nil:
		return f.Default, nil
	case f.Type.NonNull:
		return nil, fault.Input("input."+f.Name, "%s.%s is required", d.r.Name, f.Name)
	}
	return null, nil
}

// given checks a value that the caller sent for a field.
func (d *draft) given(f *schema.Field, value json.RawMessage, a schema.Action, owner string) (json.RawMessage, error) {
	if rule := f.Auth[a]; rule != nil && !d.who.May(*rule, owner) {
		return nil, &fault.Error{Code: fault.Forbidden, Field: "input." + f.Name, Message: "not allowed to set " + d.r.Name + "." + f.Name}
	}
	return check(f, value, inputPath)
}

func (d *draft) update(current []byte) (Decision, error) {
	old, owner, err := d.current(current, schema.Update)
	if err != nil {
		return Decision{}, err
	}
	return d.rewrite(old, owner)
}

// rewrite is the change of a record to what the input says.
func (d *draft) rewrite(old members, owner string) (_ Decision, err error) {
	record := make(members, len(d.r.Fields))
	for _, f := range d.r.Fields {
		if record[f.Name], err = d.changed(f, old[f.Name], owner); err != nil {
			return Decision{}, err
		}
	}
	raw := encode(d.r, record)
	return Decision{
		ID: asString(old["id"]), Kind: Updated, Raw: raw, Answer: raw,
		Take: uniques(d.r, record, old), Release: uniques(d.r, old, record),
	}, nil
}

// changed returns the value that a field has after an update.
func (d *draft) changed(f *schema.Field, old json.RawMessage, owner string) (json.RawMessage, error) {
	given, isGiven := d.input[f.Name]
	switch {
	case !f.Stored():
		return nil, nil
	case f == d.r.Version:
		return versionAfter(old), nil
	case f.OnUpdate:
		return quoted(d.now.Format(time.RFC3339Nano)), nil
	case !isGiven || f.Name == "id":
		return d.missing(f, old), nil
	case f == d.r.Owner && asString(given) != owner && !d.who.Roles.Has(schema.Admin|schema.Service):
		return nil, &fault.Error{Code: fault.Forbidden, Field: "input." + f.Name, Message: "not allowed to give a " + d.r.Name + " to somebody else"}
	}
	return d.given(f, given, schema.Update, owner)
}

// missing fills a field that the stored record lacks because the schema grew.
func (d *draft) missing(f *schema.Field, old json.RawMessage) json.RawMessage {
	switch {
	case old != nil:
		return old
	case f.Default != nil:
		return f.Default
	}
	return null
}

func (d *draft) delete(current []byte) (Decision, error) {
	old, owner, err := d.current(current, schema.Delete)
	if err != nil {
		return Decision{}, err
	}
	return d.remove(current, old, owner)
}

// remove is the end of a record.
func (d *draft) remove(current []byte, old members, owner string) (Decision, error) {
	stub := members{"id": old["id"]}
	if d.r.Owner != nil {
		stub[d.r.Owner.Name] = quoted(owner)
	}
	if v := d.r.Version; v != nil {
		stub[v.Name] = versionAfter(old[v.Name])
	}
	return Decision{
		ID: asString(old["id"]), Kind: Deleted, Raw: encode(d.r, stub), Answer: complete(d.r, current),
		Release: uniques(d.r, old, nil),
	}, nil
}

// current takes the stored record apart and asks whether the caller may act on it.
func (d *draft) current(raw []byte, a schema.Action) (record members, owner string, err error) {
	if raw == nil && d.who.May(d.r.Auth[a], d.who.Subject) {
		return nil, "", fault.New(fault.NotFound, "there is no %s %q", d.r.Name, asString(d.input["id"]))
	}
	if raw == nil { // to whom no record is open it is not told which there are
		return nil, "", forbidden(d.r, a)
	}
	if record, err = membersOf(raw); err != nil {
		return nil, "", fault.Wrap(err, fault.Internal, "the stored record cannot be read")
	}
	owner = Owner(d.r, raw)
	if !d.who.May(d.r.Auth[a], owner) {
		return nil, "", forbidden(d.r, a)
	}
	return record, owner, d.expected(record, owner)
}
