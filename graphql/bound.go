package graphql

import (
	"context"
	"errors"
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/fault"
	"tidings/schema"
	"tidings/service"
)

// bound is the function behind a root field that a service of the adopter's
// answers. A subscription's has nothing but the binding: its groups have a
// source of their own.
func (e *Engine) bound(b *schema.Binding, typ *ast.Type) Function {
	switch b.Kind {
	case schema.BusRequest:
		return Function{Resolve: func(ctx context.Context, c Call) (any, error) { return e.ask(ctx, b, typ, c) }}
	case schema.BusPublish:
		return Function{Resolve: func(ctx context.Context, c Call) (any, error) {
			return true, e.options.Services.Tell(ctx, b, sent(ctx, c))
		}}
	}
	return Function{}
}

// checkBound refuses what nothing could answer.
func (e *Engine) checkBound(name string, f *ast.FieldDefinition) error {
	if _, ok := e.options.Functions[name]; ok {
		return fmt.Errorf("graphql: %s has a function and a service that answers it: remove one", name)
	}
	if e.options.Services == nil {
		return fmt.Errorf("graphql: nothing reaches the service that answers %s: set Options.Services", name)
	}
	return e.checkOutput(name, f.Type, map[string]bool{})
}

var errUnfit = errors.New("a service's answer is not of its field's type")

func (e *Engine) ask(ctx context.Context, b *schema.Binding, typ *ast.Type, c Call) (any, error) {
	raw, err := e.options.Services.Ask(ctx, b, sent(ctx, c))
	if err != nil {
		return nil, err
	}
	value, wrong := e.conform(raw, typ)
	if wrong != "" {
		e.unfit(ctx, b, b.Subject.Text, wrong)
	}
	if value == nil {
		return nil, fault.Wrap(errUnfit, fault.Internal, "the service's answer cannot be read")
	}
	return value, nil
}

// sent is what a service gets of a call.
func sent(ctx context.Context, c Call) service.Call {
	return service.Call{
		Who: c.Who, Request: ExchangeOf(ctx).id(), Command: c.Command,
		Args: c.Args, Body: appendValue(nil, c.Args),
	}
}
