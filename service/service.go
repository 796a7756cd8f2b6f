// Package service asks, tells and hears the adopter's own services, which answer
// root fields by way of the bus.
//
// It renders the subject that a field is bound to, tells a service who calls
// and how long the caller waits, and keeps the service's own subjects and
// streams out of reach. It does not look at what the services say: that a value
// is of its field's type is for the one who asked.
//
// docs/bus.md says the same for the authors of services.
package service

import (
	"context"
	"strings"
	"unicode"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/internal/trace"
	"tidings/schema"
)

// The headers of what is sent, besides Tidings-Timeout of every request.
const (
	headerActor   = "Tidings-Actor"      // subject of the caller; absent: anonymous
	headerRoles   = "Tidings-Roles"      // what the credentials grant: "USER,ADMIN"; absent: nothing
	headerRequest = "Tidings-Request-Id" // names the request in the log
	headerCommand = "Tidings-Command"    // names a mutation that may be sent again; absent: it is not
	headerOnce    = "Nats-Msg-Id"        // the same, for streams
)

// MaxAnswer bounds an answer, and a message that is heard, in bytes.
const MaxAnswer = 1 << 20

// Client reaches the services. It is safe for concurrent use and starts nothing.
type Client struct{ bus *bus.Bus }

// New returns a client for the bindings of m. The error is that of Check.
func New(b *bus.Bus, m *schema.Model) (*Client, error) {
	return &Client{bus: b}, Check(m, b.Subjects())
}

// Call is what is sent to a service.
type Call struct {
	Who auth.Principal
	// Request names the request in the log.
	Request string
	// Command names a mutation that may be sent again; empty for others.
	Command string
	// Args are the field's, coerced; Body is the same as a JSON object.
	Args map[string]any
	Body []byte
}

// Ask sends a request and returns the answer's bytes, at most MaxAnswer. The
// errors are faults: BAD_USER_INPUT for an argument that cannot be part of a
// subject, FORBIDDEN for a caller who cannot be named in a header, and those of
// bus.Bus.Ask.
func (c *Client) Ask(ctx context.Context, b *schema.Binding, call Call) (answer []byte, err error) {
	subject, h, err := prepare(b, call)
	if err != nil {
		return nil, err
	}
	ctx, span := c.sending(ctx, trace.Request(), b, h)
	defer func() { sent(span, err) }()
	if b.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.Timeout)
		defer cancel()
	}
	m, err := c.bus.Ask(ctx, b.Subject.Text, subject, h, call.Body)
	if err != nil {
		return nil, err
	}
	if len(m.Data) > MaxAnswer {
		return nil, fault.New(fault.PayloadTooLarge, "the service's answer is larger than %d bytes", MaxAnswer)
	}
	return m.Data, nil
}

// Tell publishes, and returns when the server has the message, or, where the
// binding names a stream, when that has stored it. The errors are those of Ask
// and of bus.Bus.Tell.
func (c *Client) Tell(ctx context.Context, b *schema.Binding, call Call) (err error) {
	subject, h, err := prepare(b, call)
	if err != nil {
		return err
	}
	ctx, span := c.sending(ctx, trace.Publish(), b, h)
	defer func() { sent(span, err) }()
	if b.Stream == "" {
		return c.bus.Tell(ctx, "", subject, h, call.Body)
	}
	if call.Command != "" {
		h.Set(headerOnce, call.Command)
	}
	return hidden(c.bus.Tell(ctx, b.Stream, subject, h, call.Body))
}

func prepare(b *schema.Binding, call Call) (subject string, h bus.Header, err error) {
	if subject, err = Render(b.Subject, call.Args); err != nil {
		return "", nil, err
	}
	h = bus.Header{headerRequest: {call.Request}}
	if who := call.Who; !who.Anonymous() {
		if strings.TrimSpace(who.Subject) != who.Subject || strings.ContainsFunc(who.Subject, unicode.IsControl) {
			return "", nil, fault.New(fault.Forbidden, "a caller with control characters in its name, or blanks around it, cannot be told to a service")
		}
		h.Set(headerActor, who.Subject)
	}
	if roles := strings.Join(auth.RoleNames(call.Who.Roles), ","); roles != "" {
		h.Set(headerRoles, roles)
	}
	if call.Command != "" {
		h.Set(headerCommand, call.Command)
	}
	return subject, h, nil
}
