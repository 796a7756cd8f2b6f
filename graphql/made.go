package graphql

import (
	"tidings/fault"
	"tidings/resource"
)

// madeError is the error of a change that was made although its record cannot
// be shown: to who reads only the code it looks like a refusal, and sending the
// mutation again would make the change twice. Its extensions carry the
// position, which no error of a change that was not made has.
type madeError struct {
	cause    *fault.Error
	position string
}

func (e *madeError) Error() string { return e.cause.Error() }
func (e *madeError) Unwrap() error { return e.cause }

// participle is what a verb has done.
var participle = map[resource.Verb]string{resource.Create: "created", resource.Update: "changed", resource.Delete: "deleted"}

// unread returns the error of a record that was changed and that the caller may
// not read.
func (r *run) unread(f *root, verb resource.Verb) error {
	return &madeError{
		cause:    fault.New(fault.Forbidden, "the %s was %s, but you may not read it", f.generated.Resource.Name, participle[verb]),
		position: r.position(),
	}
}

// unseen returns the error of a record that was changed and whose relations
// could not be read in time.
func (r *run) unseen(f *root, verb resource.Verb, err error) error {
	return &madeError{
		cause:    fault.Wrap(err, fault.Of(err).Code, "the %s was %s, but its relations cannot be read yet", f.generated.Resource.Name, participle[verb]),
		position: r.position(),
	}
}
