package view_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/fault"
	"tidings/view"
	"tidings/view/viewtest"
)

// ofServer is where a shared view is on a test's own server.
func ofServer(t testing.TB) (*viewtest.Server, view.SharedOptions) {
	t.Helper()
	viewtest.Need(t)
	db := viewtest.NewServer(t)
	return db, view.SharedOptions{URL: viewtest.WithSettings(db.URL, "pool_max_conns=2"), Prefix: "tidings"}
}

func TestReadsWaitForADatabaseThatIsStartedAnew(t *testing.T) {
	t.Parallel()
	db, o := ofServer(t)
	v := openShared(t, newFixture().model, o)
	put(t, v, "Post", object{"id": "a"})
	db.Stop(t)
	var reading sync.WaitGroup
	reading.Go(func() {
		for range 10 {
			if n, err := v.Count(t.Context(), "Post", nil, ""); n != 1 || err != nil {
				if !fault.Is(err, fault.Unavailable) { // it took long
					t.Errorf("%d records, %v", n, err)
				}
			}
		}
	})
	db.Start(t)
	reading.Wait()
	if n, err := v.Count(within(t), "Post", nil, ""); n != 1 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	if err := v.Ready(); err != nil {
		t.Error(err)
	}
}

func TestWithoutADatabaseReadsAreUnavailable(t *testing.T) {
	t.Parallel()
	db, o := ofServer(t)
	v := openShared(t, newFixture().model, o)
	put(t, v, "Post", object{"id": "a"})
	db.Kill(t)
	if _, err := v.Get(within(t), "Post", []string{"a"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a read failed with %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := v.Get(short, "Post", []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read without patience failed with %v", err)
	}
	applied := make(chan error, 1)
	go func() {
		applied <- v.Shared.Apply(within(t), 2, []view.Change{{Seq: 2, Type: "Post", ID: "a", Look: true}})
	}()
	db.Start(t)
	again, err := view.OpenProjection(within(t), newFixture().model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if err := again.Apply(t.Context(), 2, []view.Change{{Seq: 2, Type: "Post", ID: "a", Look: true}}); err != nil {
		t.Fatal(err)
	}
	if err := <-applied; err != nil {
		t.Errorf("what waited for a position: %v", err)
	}
}

// Somebody restores the database from a backup: reads wait until it shows again
// what was told.
func TestReadsNeverGoBack(t *testing.T) {
	t.Parallel()
	db, o := ofServer(t)
	f := newFixture()
	v := openShared(t, f.model, o)
	put(t, v, "Post", object{"id": "a"}, object{"id": "b"})
	if err := view.GoBack(t.Context(), v.projection, 1, "b"); err != nil {
		t.Fatal(err)
	}
	db.Stop(t)
	db.Start(t)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if n, err := v.Count(short, "Post", nil, ""); err == nil {
		t.Errorf("a read shows %d records, and 2 were told", n)
	}
	if err := v.Ready(); err == nil {
		t.Error("it is ready")
	}
	again, err := view.OpenProjection(within(t), f.model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if again.Position() != 1 {
		t.Fatalf("it begins at %d", again.Position())
	}
	if err := again.Apply(t.Context(), 2, []view.Change{{Seq: 2, Type: "Post", ID: "b", Raw: []byte(`{"id":"b"}`)}}); err != nil {
		t.Fatal(err)
	}
	if n, err := v.Count(within(t), "Post", nil, ""); n != 2 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

// A statement whose time is up is stopped in the server too, and makes room.
func TestAStatementWhoseTimeIsUpStopsInTheServer(t *testing.T) {
	t.Parallel()
	_, o := ofServer(t)
	f := newFixture()
	v := openShared(t, f.model, o)
	var records []object
	for i := range 200 {
		records = append(records, object{"id": numbered(i), "title": strings.Repeat("x", 60_000)})
	}
	put(t, v, "Post", records...)
	slow := &view.Filter{}
	for i := range 400 {
		slow.And = append(slow.And, &view.Filter{Field: f.title, Op: "notContains", Value: fmt.Sprint(i)})
	}
	var reading sync.WaitGroup
	for range 6 { // there are two connections
		reading.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := v.Count(ctx, "Post", slow, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it ran to its end: %v", err)
			}
		})
	}
	reading.Wait()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for running := -1; running != 0; {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d statements still run", running)
		}
		var err error
		if running, err = view.Statements(t.Context(), v.projection); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := v.Count(within(t), "Post", nil, ""); n != 200 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

func TestSharedReadersTellWhatARecordWas(t *testing.T) {
	t.Parallel()
	o, f := viewtest.Options(t), newFixture()
	v := openShared(t, f.model, o)
	changes := []view.Change{
		{Seq: 1, Type: "Post", ID: "a", Raw: []byte(`{"id":"a","title":"1"}`)},
		{Seq: 2, Type: "Post", ID: "a", Raw: []byte(`{"id":"a","title":"2"}`), Look: true},
		{Seq: 3, Type: "Post", ID: "a", Look: true},
		{Seq: 4, Type: "Post", ID: "never", Look: true},
	}
	check := func(upto int, want ...string) {
		t.Helper()
		if err := v.Apply(t.Context(), uint64(upto), changes[:upto]); err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if c := changes[i]; string(c.Before) != w || c.Lost {
				t.Errorf("before %d: %q, lost %v; want %q", c.Seq, c.Before, c.Lost, w)
			}
		}
	}
	check(1, "")
	check(4, "", `{"id":"a","title":"1"}`, `{"id":"a","title":"2"}`, "")
	late := []view.Change{{Seq: 2, Type: "Post", ID: "a", Look: true}}
	if err := view.ForgetPast(t.Context(), v.projection); err != nil {
		t.Fatal(err)
	}
	if err := v.Shared.Apply(t.Context(), 4, late); err != nil || !late[0].Lost {
		t.Errorf("what is forgotten: %+v, %v", late, err)
	}
}

// An api process needs no right but to read.
func TestAReaderWithTheRightsOfTheManual(t *testing.T) {
	t.Parallel()
	db, o := ofServer(t)
	owner, reader := db.Roles(t)
	f := newFixture()
	o.URL = owner
	p, err := view.OpenProjection(within(t), f.model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if err := errors.Join(p.Finish(t.Context()), p.Apply(t.Context(), 1, []view.Change{{Seq: 1, Type: "Post", ID: "a", Raw: []byte(`{"id":"a"}`)}})); err != nil {
		t.Fatal(err)
	}
	o.URL = reader
	v, err := view.OpenShared(f.model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	if err := v.Apply(within(t), 1, []view.Change{{Seq: 1, Type: "Post", ID: "a", Look: true}}); err != nil {
		t.Fatal(err)
	}
	if n, err := v.Count(t.Context(), "Post", nil, ""); n != 1 || err != nil {
		t.Error(n, err)
	}
	g := newFixture()
	g.model.Fingerprint = "another"
	if p, err := view.OpenProjection(within(t), g.model, "log1", o); err == nil {
		t.Error("a reader makes tables", p.Close())
	}
}

func TestAURLIsNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:hunter2@h:port/db", "mysql://u:hunter2@h/db", "hunter2", "postgres://u:hunter2@h/db?sslmode=hunter2"} {
		err := view.CheckSharedURL(url)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
	var log bytes.Buffer
	o := view.SharedOptions{URL: "postgres://u:hunter2@127.0.0.1:1/db?connect_timeout=1", Prefix: "p", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	v, err := view.OpenShared(newFixture().model, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	_, readErr := v.Get(within(t), "Post", []string{"a"})
	_, projectErr := view.OpenProjection(within(t), newFixture().model, "log1", o)
	ready := v.Ready()
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if readErr == nil || projectErr == nil || ready == nil {
		t.Error("there is a database")
	}
	if said := fmt.Sprint(log.String(), readErr, projectErr, ready); strings.Contains(said, "hunter2") {
		t.Errorf("the password is shown: %s", said)
	}
}
