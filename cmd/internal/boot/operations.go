package boot

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tidings/bus"
	"tidings/graphql"
	"tidings/soap"
)

// The buckets of the bus (docs/bus.md).
const (
	bucketOperations = "operations"
	bucketAnswers    = "answers"
)

// persisted says which documents clients may name. The operations directory is
// read anew each time; an error names the file.
func (r *Rooms) persisted() (p graphql.Persisted, err error) {
	c := r.config
	p.Only, p.Shared = c.PersistedOnly, r.shared
	if c.Operations != "" {
		if p.Deployed, err = graphql.ReadOperations(os.DirFS(c.Operations)); err != nil {
			return p, fmt.Errorf("the operations in %s are refused:\n%w", c.Operations, err)
		}
	}
	if c.PersistedOnly && p.Deployed.Len() == 0 {
		return p, errors.New("TIDINGS_PERSISTED_ONLY is set, but no operation is persisted: name their directory with TIDINGS_OPERATIONS")
	}
	return p, nil
}

// openBuckets opens where documents are kept that clients have registered, and
// the answers to requests with an idempotency key, and which messages of SOAP have come.
func (r *Rooms) openBuckets(ctx context.Context) (err error) {
	c := r.config
	if !c.PersistedOnly && c.APQ {
		k, err := r.Bus.Bucket(ctx, bus.BucketOptions{
			Name: bucketOperations, Description: "Documents that clients have registered, by their SHA-256.",
			MaxAge: c.APQAge, MaxBytes: c.APQBytes, Forget: true, Patience: r.patience,
		})
		if err != nil {
			return err
		}
		r.shared = k
	}
	if r.replays, err = soap.OpenReplays(ctx, r.Bus, c.ReplayBytes, r.patience); err != nil {
		return err
	}
	r.answers, err = r.Bus.Bucket(ctx, bus.BucketOptions{
		Name: bucketAnswers, Description: "Answers of mutations, by caller and idempotency key.",
		MaxAge: c.IdempotencyAge, MaxBytes: c.IdempotencyBytes, Patience: r.patience,
	})
	return err
}
