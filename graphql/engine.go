package graphql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"tidings/auth"
	"tidings/internal/proc"
	"tidings/internal/trace"
	"tidings/quota"
	"tidings/resource"
	"tidings/schema"
	"tidings/service"
	"tidings/view"
)

// Options tunes an engine. The zero value has the defaults of every field.
type Options struct {
	// Limits bound what a request may ask for.
	Limits Limits
	// Introspection says who may ask for the schema; nil means everybody.
	Introspection func(auth.Principal) bool
	// Quota counts what callers do; nil means that nobody does. An operation is
	// counted before it runs, a subscription when it begins.
	Quota *quota.Limiter
	// Admission bounds what clients have done at once; nil: nothing does. What is
	// Trusted needs no place.
	Admission *Admission
	// Timeout is how long one execution may take; zero means 10 s.
	Timeout time.Duration
	// Patience is how much longer a mutation may take, since its commands wait for
	// workers that are away (resource.Client.Persist).
	Patience time.Duration
	// MaxAnswer bounds the answer to a query or mutation, in bytes; zero means
	// 16 MiB. An answer that would be larger is PAYLOAD_TOO_LARGE.
	MaxAnswer int
	// Functions answer the root fields that the adopter wrote by hand, by their
	// names: "Query.x", "Mutation.x", "Subscription.x".
	Functions map[string]Function
	// Services answer the root fields that the schema binds to the bus; nil when
	// it binds none.
	Services *service.Client
	// Extensions are gqlgen's, around queries and mutations and around their
	// responses. (There is nothing to put around fields, because a plan does not
	// resolve them one by one; and nothing around the results of subscriptions,
	// because one is made for many callers.)
	Extensions []graphql.HandlerExtension
	// Persisted are the documents that requests may name instead of sending them.
	Persisted Persisted
	// Answers keeps the answers of mutations with an idempotency key, for all
	// processes; nil refuses such keys.
	Answers Store
	// Aside runs what waits for the first of two requests with one idempotency key,
	// and lets others work in the place of the second meanwhile: bus.Aside, or nil for
	// those who have no places. At most 256 wait so at a time; of more each keeps its
	// place.
	Aside func(ctx context.Context, wait func())
	// CacheMaxAge is how long shared caches may keep what everybody may see and
	// was asked for by GET. Zero means that they ask each time whether it changed.
	CacheMaxAge time.Duration
	// Documents is how many valid documents are kept, as far as their texts have
	// no more than 2 MiB together; zero means 1,000.
	Documents int
	// Metrics count what the engine does; nil: nothing does.
	Metrics *proc.Metrics
	// Tracer makes spans of operations, and of what subscribers are told in traces
	// that others have begun; nil: nobody does. With TraceDocuments they hold the
	// documents too, and with these whatever clients write into them.
	Tracer         *trace.Tracer
	TraceDocuments bool
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Function is Go code behind one root field: the one extension point for it.
// Resolve answers a query or a mutation; Subscribe yields the values of a
// subscription until it has no more, fails or is no longer listened to. Exactly
// one is set. What they give must encode as JSON of the field's type; a
// json.RawMessage is taken as it is. An error that is no fault.Error reaches
// the caller as INTERNAL, without its text. Both are called concurrently: those
// of one query too, up to 16, and the query waits for them; those of a mutation
// one after the other.
type Function struct {
	Resolve   func(ctx context.Context, c Call) (any, error)
	Subscribe func(ctx context.Context, c Call) iter.Seq2[any, error]
}

// Call is what a function is called with. Nobody may change it.
type Call struct {
	Who auth.Principal
	// Args are coerced: nil, bool, int64, float64, string, []any and
	// map[string]any. An argument that was not given and has no default is not
	// in it.
	Args map[string]any
	// Command names the call of a mutation that may be sent again: one with an
	// idempotency key, or of SOAP. Empty for every other.
	Command string
}

// records is what an engine asks of the resources: resource.Client.
type records interface {
	Get(ctx context.Context, who auth.Principal, typ string, ids []string) ([]resource.Found, error)
	Related(ctx context.Context, who auth.Principal, rel *schema.Relation, parents []string, limit int) ([][][]byte, error)
	List(ctx context.Context, who auth.Principal, q view.Query) (view.Page, error)
	Count(ctx context.Context, who auth.Principal, typ string, filter *view.Filter) (int, error)
	ListAt(ctx context.Context, who auth.Principal, q view.Query) (page view.Page, position uint64, err error)
	CountTo(ctx context.Context, who auth.Principal, typ string, filter *view.Filter, most int) (int, error)
	Submit(ctx context.Context, cmd resource.Command) (resource.Record, error)
	Transact(ctx context.Context, t resource.Transaction) ([]resource.Record, error)
	WaitFor(ctx context.Context, seq uint64) error
}

// Engine runs operations over the resources of one model. It is safe for
// concurrent use. Queries and mutations run on their callers' goroutines; what
// live subscriptions start, Close ends. Whoever made data and feed closes them
// after that.
type Engine struct {
	model         *schema.Model
	schema        *ast.Schema
	data          records
	feed          *resource.Feed
	options       Options
	log           *slog.Logger
	unresumedTold sparing // of subscribers who could not be brought up to the present
	inputs        inputTypes
	rules         *rules.Rules
	functions     map[string]*Function
	// complaints are about what services say, for each field.
	complaints map[*schema.Binding]*complaints
	documents  *documents
	shared     *sharedTexts
	frame      *executor.Executor
	scratch    *sync.Pool
	gzip       compressor
	waiting    chan struct{} // a place for each that waits aside
	hints      bool          // the validator may name parts of the schema
	live       live
	meters     meters
}

// New returns an engine for the contract of m. The feed must be the one behind
// data; both are nil where m has no resources, and functions answer everything.
// It is an error when a root field has nothing to answer it, when a function has
// no field, and when an extension does not fit.
func New(m *schema.Model, data *resource.Client, feed *resource.Feed, o Options) (*Engine, error) {
	e := &Engine{
		model:      m,
		schema:     m.Contract,
		data:       data,
		feed:       feed,
		options:    o,
		log:        o.Logger,
		inputs:     newInputTypes(m.Contract),
		rules:      validationRules(),
		functions:  map[string]*Function{},
		complaints: map[*schema.Binding]*complaints{},
		scratch:    newScratchPool(),
		waiting:    make(chan struct{}, maxAside),
		hints:      o.Introspection == nil || o.Introspection(auth.Principal{}),
		meters:     newMeters(o.Metrics),
	}
	e.live.slots, e.live.streamSlots = make(chan struct{}, maxReads), make(chan struct{}, maxReads)
	e.options.Limits = o.Limits.withDefaults()
	e.options.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	e.options.MaxAnswer = cmp.Or(o.MaxAnswer, defaultAnswer)
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if e.documents, err = newDocuments(cmp.Or(o.Documents, 1000)); err != nil {
		return nil, fmt.Errorf("Options.Documents: %w", err)
	}
	if e.shared, err = newSharedTexts(cmp.Or(o.Documents, 1000)); err != nil {
		return nil, fmt.Errorf("Options.Documents: %w", err)
	}
	if err := o.Persisted.Deployed.check(e); err != nil {
		return nil, fmt.Errorf("persisted operations that do not fit:\n%w", err)
	}
	if err := e.bind(); err != nil {
		return nil, err
	}
	if err := e.extend(o.Extensions); err != nil {
		return nil, err
	}
	return e, nil
}

// bind finds what answers each root field.
func (e *Engine) bind() error {
	var errs []error
	bound := map[string]bool{}
	for _, typ := range []string{"Query", "Mutation", "Subscription"} {
		for _, f := range e.handWritten(typ) {
			name := typ + "." + f.Name
			bound[name] = true
			if b := e.model.Binding(typ, f.Name); b != nil {
				errs = append(errs, e.checkBound(name, f))
				function := e.bound(b, f.Type)
				e.functions[name] = &function
				e.complaints[b] = &complaints{}
				continue
			}
			function, ok := e.options.Functions[name]
			if !ok {
				function, ok = builtin(name, f)
			}
			if shape := e.model.Replaced(typ, f.Name); !ok && shape != "" {
				errs = append(errs, fmt.Errorf("graphql: nothing answers the field %s, which is declared in another shape than the generated one: declare it as `%s`, or with fewer of these arguments, or let a service answer it by a @bus directive, or register a Function for it in Options.Functions", name, shape))
				continue
			}
			errs = append(errs, e.checkFunction(name, f, function, ok))
			e.functions[name] = &function
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.options.Functions)) {
		if !bound[name] {
			errs = append(errs, fmt.Errorf("graphql: there is a function for %s, but the schema has no such field of its own: declare it, or remove the function", name))
		}
	}
	return errors.Join(errs...)
}

// handWritten returns the root fields of a type that no resource generates.
func (e *Engine) handWritten(typ string) []*ast.FieldDefinition {
	def := e.rootType(typ)
	if def == nil {
		return nil
	}
	var list []*ast.FieldDefinition
	for _, f := range def.Fields {
		if !strings.HasPrefix(f.Name, "__") && e.model.Root(typ, f.Name) == nil {
			list = append(list, f)
		}
	}
	return list
}

// rootType returns one of the three root types, whatever the schema calls it;
// nil when the schema has none.
func (e *Engine) rootType(typ string) *ast.Definition {
	switch typ {
	case "Mutation":
		return e.schema.Mutation
	case "Subscription":
		return e.schema.Subscription
	}
	return e.schema.Query
}

func (e *Engine) checkFunction(name string, f *ast.FieldDefinition, function Function, given bool) error {
	subscribes := strings.HasPrefix(name, "Subscription.")
	switch {
	case !given:
		return fmt.Errorf("graphql: nothing answers the field %s: let a service answer it (@busRequest, @busPublish, @busSubscribe), register a Function for it in Options.Functions, or remove it from the schema", name)
	case subscribes && (function.Subscribe == nil || function.Resolve != nil):
		return fmt.Errorf("graphql: the function for %s must have Subscribe, and nothing else", name)
	case !subscribes && (function.Resolve == nil || function.Subscribe != nil):
		return fmt.Errorf("graphql: the function for %s must have Resolve, and nothing else", name)
	}
	return e.checkOutput(name, f.Type, map[string]bool{})
}

// checkOutput refuses types that a plan cannot write from the JSON of a function.
func (e *Engine) checkOutput(name string, typ *ast.Type, seen map[string]bool) error {
	def := e.schema.Types[typ.Name()]
	switch {
	case def.IsLeafType() || seen[def.Name] || e.model.Resource(def.Name) != nil:
		return nil
	case def.IsAbstractType() && len(e.schema.GetPossibleTypes(def)) == 0:
		return fmt.Errorf("graphql: %s gives %s, which no type implements: declare one", name, def.Name)
	}
	seen[def.Name] = true
	for _, f := range def.Fields {
		if err := e.checkOutput(name, f.Type, seen); err != nil {
			return err
		}
	}
	return nil
}

// extend sets gqlgen's executor up around the engine.
func (e *Engine) extend(list []graphql.HandlerExtension) error {
	e.frame = executor.New(executable{e})
	for _, x := range list {
		_, operations := x.(graphql.OperationInterceptor)
		_, responses := x.(graphql.ResponseInterceptor)
		if !operations && !responses {
			return fmt.Errorf("graphql: the extension %s is neither an OperationInterceptor nor a ResponseInterceptor; no other hook is called", x.ExtensionName())
		}
		if err := x.Validate(executable{e}); err != nil {
			return fmt.Errorf("graphql: the extension %s: %w", x.ExtensionName(), err)
		}
		e.frame.Use(x)
	}
	return nil
}
