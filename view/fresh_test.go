package view_test

import (
	"context"
	"errors"
	"testing"

	"tidings/schema"
	"tidings/view"
	"tidings/view/viewtest"
)

// records is what tests of every view ask of it.
type records interface {
	Position() uint64
	Apply(ctx context.Context, upto uint64, changes []view.Change) error
	Get(ctx context.Context, typ string, ids []string) ([][]byte, error)
	Related(ctx context.Context, q view.Related) ([][][]byte, error)
	List(ctx context.Context, q view.Query) (view.Page, error)
	ListAt(ctx context.Context, q view.Query) (view.Page, uint64, error)
	Count(ctx context.Context, typ string, f *view.Filter, owner string) (int, error)
	CountTo(ctx context.Context, typ string, f *view.Filter, owner string, most int) (int, error)
	Close() error
}

// fresh returns an empty view: a file, or tables where there is a PostgreSQL
// for tests.
func fresh(t testing.TB, m *schema.Model) records { return freshWith(t, m, view.Options{}) }

func freshWith(t testing.TB, m *schema.Model, o view.Options) records {
	t.Helper()
	if !viewtest.Enabled() {
		return openWith(t, m, o)
	}
	return openShared(t, m, viewtest.Options(t))
}

// shared is a projection with a reader of it.
type shared struct {
	*view.Shared
	projection *view.Projection
}

func openShared(t testing.TB, m *schema.Model, o view.SharedOptions) *shared {
	t.Helper()
	p, err := view.OpenProjection(t.Context(), m, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(t.Context()); err != nil {
		t.Fatal(errors.Join(err, p.Close()))
	}
	v, err := view.OpenShared(m, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	s := &shared{v, p}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := v.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Apply has the changes written and waits until they are read.
func (s *shared) Apply(ctx context.Context, upto uint64, changes []view.Change) error {
	if err := s.projection.Apply(ctx, upto, changes); err != nil {
		return err
	}
	return s.Shared.Apply(ctx, upto, changes)
}

func (s *shared) Close() error { return errors.Join(s.Shared.Close(), s.projection.Close()) }
