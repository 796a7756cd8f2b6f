package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

func queue(t testing.TB, b *bus.Bus, o bus.QueueOptions) *bus.Queue {
	t.Helper()
	q, err := b.Queue(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// work runs a worker until stop is called, or the test ends.
func work(t testing.TB, q *bus.Queue, concurrency int, fn func(ctx context.Context, task bus.Task) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := q.Work(ctx, concurrency, fn); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

// next is what a channel gives in time.
func next[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

func TestATaskGoesToOneWorkerInItsTurn(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	q := queue(t, b, bus.QueueOptions{Name: "work", MaxAge: time.Hour, MaxBytes: 1 << 20})
	for i := range 50 {
		id := fmt.Sprintf("t.%d", i)
		for range 2 { // the second is the same task
			if err := q.Put(t.Context(), id, []byte(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := make(chan bus.Task, 200)
	done := func(_ context.Context, task bus.Task) error { got <- task; return nil }
	stop := work(t, q, 1, done)
	for i := range 50 {
		if task := next(t, got); task.ID != fmt.Sprintf("t.%d", i) || string(task.Data) != task.ID || task.Tries != 1 {
			t.Fatalf("%d: %+v", i, task)
		}
	}
	stop()
	again := queue(t, b, bus.QueueOptions{Name: "work"})
	for range 2 {
		work(t, again, 3, done)
	}
	var ids []string
	for i := range 100 {
		if err := q.Put(t.Context(), fmt.Sprintf("u%03d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		ids = append(ids, next(t, got).ID)
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 100 {
		t.Errorf("%d of 100 tasks were done", n)
	}
}

func TestATaskThatFailsComesAgain(t *testing.T) {
	t.Parallel()
	q := queue(t, bustest.New(t), bus.QueueOptions{Name: "work", Pause: 10 * time.Millisecond})
	tries := make(chan int, 10)
	work(t, q, 1, func(_ context.Context, task bus.Task) error {
		tries <- task.Tries
		switch task.Tries {
		case 1:
			return errors.New("not yet")
		case 2:
			panic("nor now")
		}
		return nil
	})
	if err := q.Put(t.Context(), "t", nil); err != nil {
		t.Fatal(err)
	}
	for want := 1; want <= 3; want++ {
		if got := next(t, tries); got != want {
			t.Errorf("try %d, not %d", got, want)
		}
	}
}

func TestTheTasksOfAKilledWorkerGoToAnother(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	o := bus.QueueOptions{Name: "work", Patience: 400 * time.Millisecond}
	mine := queue(t, server, o)
	victim := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	taken := make(chan struct{})
	work(t, queue(t, victim, o), 1, func(ctx context.Context, _ bus.Task) error {
		close(taken)
		<-ctx.Done()
		return ctx.Err()
	})
	if err := mine.Put(t.Context(), "t", nil); err != nil {
		t.Fatal(err)
	}
	next(t, taken)
	if err := victim.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan bus.Task, 1)
	work(t, mine, 1, func(_ context.Context, task bus.Task) error { got <- task; return nil })
	if task := next(t, got); task.ID != "t" || task.Tries < 2 {
		t.Errorf("%+v", task)
	}
}

func TestAWorkerThatStopsGivesItsTaskBackAtOnce(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	q := queue(t, b, bus.QueueOptions{Name: "work", Patience: time.Hour, Pause: time.Hour})
	taken, got := make(chan struct{}), make(chan bus.Task, 1)
	stop := work(t, q, 1, func(ctx context.Context, _ bus.Task) error {
		close(taken)
		<-ctx.Done()
		return ctx.Err()
	})
	if err := q.Put(t.Context(), "t", nil); err != nil {
		t.Fatal(err)
	}
	next(t, taken)
	stop()
	work(t, q, 1, func(_ context.Context, task bus.Task) error { got <- task; return nil })
	next(t, got)
}

func TestAWorkerAtWorkKeepsItsTask(t *testing.T) {
	t.Parallel()
	const patience = 400 * time.Millisecond
	q := queue(t, bustest.New(t), bus.QueueOptions{Name: "work", Patience: patience})
	got := make(chan int, 10)
	work(t, q, 2, func(ctx context.Context, task bus.Task) error {
		got <- task.Tries
		if task.ID == "long" {
			<-time.After(4 * patience) // it is the time that is tested
			got <- -1
		}
		return nil
	})
	if err := q.Put(t.Context(), "long", nil); err != nil {
		t.Fatal(err)
	}
	if first, second := next(t, got), next(t, got); first != 1 || second != -1 {
		t.Errorf("it was given away: %d, %d", first, second)
	}
}

func TestAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	q := queue(t, b, bus.QueueOptions{Name: "work", MaxBytes: 4096})
	var err error
	for i := 0; err == nil && i < 10; i++ {
		err = q.Put(t.Context(), fmt.Sprint(i), make([]byte, 1024))
	}
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
	if err := q.Put(t.Context(), "large", make([]byte, 2<<20)); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := b.Queue(t.Context(), bus.QueueOptions{Name: "log"}); err == nil || !strings.Contains(err.Error(), "not kept as a work queue") {
		t.Errorf("the log as a queue: %v", err)
	}
	if _, err := b.Queue(t.Context(), bus.QueueOptions{Name: "a.b"}); err == nil {
		t.Error("a name of two tokens")
	}
}

func TestABucketTellsItsUsage(t *testing.T) {
	t.Parallel()
	k := bucket(t, bustest.New(t), bus.BucketOptions{Name: "b", MaxBytes: 1 << 20})
	if _, err := k.Put(t.Context(), "k", make([]byte, 1000), 0); err != nil {
		t.Fatal(err)
	}
	if used, most, err := k.Usage(t.Context()); err != nil || used < 1000 || used > 2000 || most != 1<<20 {
		t.Errorf("%d of %d, %v", used, most, err)
	}
}
