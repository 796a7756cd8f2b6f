package boot

import "errors"

// UsageError says that nothing was done: an argument or a setting is unknown,
// missing, or no value of its kind, or what it names cannot be used.
type UsageError struct{ error }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.error }

// Usage makes a UsageError; nil and ErrHelp stay what they are.
func Usage(err error) error {
	if err == nil || errors.Is(err, ErrHelp) {
		return err
	}
	return UsageError{err}
}

// StatusOf is the status with which a program ends: 0 without an error, 2 after a
// UsageError, and 1 otherwise.
func StatusOf(err error) int {
	if _, ok := errors.AsType[UsageError](err); ok {
		return 2
	}
	if err != nil {
		return 1
	}
	return 0
}
