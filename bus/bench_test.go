package bus_test

import (
	"context"
	"strconv"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
)

var body = []byte(`{"id":"018f2b6e-0000-7000-8000-000000000001","name":"Ada Lovelace","email":"ada@example.com","createdAt":"2024-05-01T10:00:00Z"}`)

func BenchmarkAppend(b *testing.B) {
	bs := bustest.Dir(b, b.TempDir())
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		mustAppend(b, bs, bus.Entry{Subject: bs.Subjects().Record("User", strconv.Itoa(i)), Data: body})
	}
}

func BenchmarkAppendBatchOfTwo(b *testing.B) {
	bs := bustest.Dir(b, b.TempDir())
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		id := strconv.Itoa(i)
		mustAppend(b, bs, bus.Entry{Subject: bs.Subjects().Record("User", id), Data: body}, bus.Entry{Subject: bs.Subjects().Unique("User", "email", id), Data: body[:1]})
	}
}

func BenchmarkLast(b *testing.B) {
	bs := bustest.New(b)
	subject := bs.Subjects().Record("User", "1")
	mustAppend(b, bs, bus.Entry{Subject: subject, Data: body})
	b.ReportAllocs()
	for b.Loop() {
		if m, err := bs.Last(b.Context(), subject); err != nil || m == nil {
			b.Fatal(m, err)
		}
	}
}

// Ten thousand stored messages, read by one follower.
func BenchmarkFollowStored(b *testing.B) {
	const n = 10_000
	bs := bustest.New(b)
	for i := range n / bus.MaxEntries {
		var batch []bus.Entry
		for j := range bus.MaxEntries {
			batch = append(batch, bus.Entry{Subject: bs.Subjects().Record("User", strconv.Itoa(i*bus.MaxEntries+j)), Data: body})
		}
		mustAppend(b, bs, batch...)
	}
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		if err := bs.Follow(ctx, 0, func(m bus.Message) error {
			if m.Seq == n {
				cancel()
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// From the call of Append until a follower has the message.
func BenchmarkFollowLive(b *testing.B) {
	bs := bustest.New(b)
	got := follow(b, bs, 0)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		mustAppend(b, bs, bus.Entry{Subject: bs.Subjects().Record("User", strconv.Itoa(i)), Data: body})
		<-got
	}
}

func BenchmarkCall(b *testing.B) {
	bs := bustest.New(b)
	defer serve(b, bs, endpoint("echo", func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) { return m.Data, nil, nil }))()
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := bs.Call(b.Context(), "tidings.cmd.User.echo", nil, body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := bs.Call(b.Context(), "tidings.cmd.User.echo", nil, body); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
