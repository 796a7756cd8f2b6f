package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
)

// record is as long as a user of the example.
const record = `{"id":"user-0007","name":"User number 7","email":"user7@example.org","adminNotes":"Joined by invitation.","avatar":"https://example.org/avatars/7.png","createdAt":"2026-11-20T07:25:22.5Z"}`

func BenchmarkAppend(b *testing.B) {
	for _, entries := range []int{1, 2, 100} {
		b.Run(fmt.Sprint("memory/", entries), func(b *testing.B) { benchmarkAppend(b, "", entries) })
		b.Run(fmt.Sprint("file/", entries), func(b *testing.B) { benchmarkAppend(b, b.TempDir(), entries) })
	}
}

func benchmarkAppend(b *testing.B, dir string, entries int) {
	log := bustest.Open(b, bus.Options{Dir: dir})
	batch := make([]bus.Entry, entries)
	for i := range batch {
		batch[i] = bus.Entry{Subject: log.Subjects().Record("User", fmt.Sprint("user-", i)), Data: []byte(record)}
	}
	next := appender(log, batch)
	next(b) // now every subject has its first entry
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		next(b)
	}
}

// appender returns what appends the batch once more, expecting what it left.
func appender(log *bus.Bus, batch []bus.Entry) func(testing.TB) {
	return func(t testing.TB) {
		last, err := log.Append(t.Context(), batch...)
		if err != nil {
			t.Fatal(err)
		}
		first := last - uint64(len(batch)) + 1
		for i := range batch {
			batch[i].After = first + uint64(i)
		}
	}
}

// BenchmarkCall asks a service that answers at once.
func BenchmarkCall(b *testing.B) {
	caller := bustest.New(b)
	subject := caller.Subjects().Command("User", "update")
	ctx, cancel := context.WithCancel(b.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := caller.Serve(ctx, bus.Service{Name: "echo", Description: "answers what it is asked", Endpoints: []bus.Endpoint{{
			Name: "echo", Subject: subject,
			Handle: func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) { return m.Data, nil, nil },
		}}}); err != nil {
			b.Error(err)
		}
	})
	defer func() {
		cancel()
		serving.Wait()
	}()
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, err := caller.Call(ctx, subject, nil, []byte(record))
		if err == nil {
			break
		}
		if !fault.Is(err, fault.Unavailable) || time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if _, err := caller.Call(ctx, subject, nil, []byte(record)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommand goes the whole way of a change: the call, the worker's
// decision, the acknowledgement of the log, the answer.
func BenchmarkCommand(b *testing.B) {
	s := newService(b)
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		defer cpu(b)()
		for n := 0; b.Loop(); n++ {
			s.submit(b, "User", resource.Update, fmt.Sprintf(`{"id":"user-0007","name":"Name %d"}`, n))
		}
	})
	b.Run("create,unique", func(b *testing.B) {
		b.ReportAllocs()
		defer cpu(b)()
		run := time.Now().UnixNano()
		for n := 0; b.Loop(); n++ {
			s.submit(b, "User", resource.Create, fmt.Sprintf(`{"id":"new-%d-%d","name":"New","email":"new%d-%d@example.org"}`, run, n, run, n))
		}
	})
}
