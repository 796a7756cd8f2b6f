package service

import (
	"errors"
	"fmt"
	"strings"

	"tidings/bus"
	"tidings/schema"
)

// Check refuses bindings whose subject or stream is the service's own, or could
// become so by what a caller sends. The error names each with its place, and says
// what to do. Of subjects no more than the prefix and the inbox has to be known.
func Check(m *schema.Model, own bus.Subjects) error {
	var errs []error
	for _, b := range m.Bindings() {
		if own.Own(widest(b.Subject)) {
			errs = append(errs, fmt.Errorf("%s: the subject %q is one of this service's own; %s", b.Place(), b.Subject.Text, elsewhere(own)))
		}
		if b.Stream != "" && own.OwnStream(b.Stream) {
			errs = append(errs, fmt.Errorf("%s: the stream %s is this service's own, as are all that begin with %s-, KV_%[3]s- or OBJ_%[3]s-; name one of yours", b.Place(), b.Stream, own.Prefix))
		}
	}
	return errors.Join(errs...)
}

// elsewhere says which subjects are not the service's.
func elsewhere(own bus.Subjects) string {
	answers := ""
	if own.Inbox != "" {
		answers = fmt.Sprintf(", and that no answer of the bus comes on (%s.>, --nats-inbox)", own.Inbox)
	}
	return fmt.Sprintf("choose one that does not begin with %s.%s, or run the service with another --prefix", own.Prefix, answers)
}

// widest is the filter of all subjects that a template can become: * stands for
// each token that has a value in it.
func widest(s schema.Subject) string {
	const value = "\x00" // which stands in no template
	var b strings.Builder
	for _, part := range s.Parts {
		if part.Argument != nil {
			b.WriteString(value)
			continue
		}
		b.WriteString(part.Literal)
	}
	tokens := strings.Split(b.String(), ".")
	for i, token := range tokens {
		if strings.Contains(token, value) {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}
