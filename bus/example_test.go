package bus_test

import (
	"context"
	"errors"
	"fmt"

	"tidings/bus"
)

func ExampleBus_Append() {
	ctx := context.Background()
	b, err := bus.Open(ctx, bus.Options{}) // embedded, in memory
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close(ctx)
	subject := b.Subjects().Record("User", "ada")
	first, _ := b.Append(ctx, bus.Entry{Subject: subject, Data: []byte(`{"id":"ada"}`)})
	_, err = b.Append(ctx, bus.Entry{Subject: subject, Data: []byte(`{"id":"ada","name":"Ada"}`), After: first})
	fmt.Println(first, err)
	_, err = b.Append(ctx, bus.Entry{Subject: subject, Data: []byte(`{"id":"ada","name":"Eve"}`), After: first})
	fmt.Println(errors.Is(err, bus.ErrConflict))
	// Output:
	// 1 <nil>
	// true
}

func ExampleBus_Follow() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	b, err := bus.Open(ctx, bus.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close(context.Background())
	_, _ = b.Append(ctx, bus.Entry{Subject: b.Subjects().Record("User", "ada")}, bus.Entry{Subject: b.Subjects().Record("User", "eve")})
	err = b.Follow(ctx, 0, func(m bus.Message) error {
		typ, id, _ := b.Subjects().ParseRecord(m.Subject)
		fmt.Println(m.Seq, typ, id)
		if m.Seq == 2 {
			stop()
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 User ada
	// 2 User eve
	// <nil>
}

func ExampleBus_Serve() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	b, err := bus.Open(ctx, bus.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close(context.Background())
	greet := bus.Endpoint{
		Name: "greet", Subject: "greeter.greet",
		Handle: func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
			return append([]byte("hello, "), m.Data...), nil, nil
		},
	}
	started, served := make(chan struct{}), make(chan error)
	go func() {
		served <- b.Serve(ctx, bus.Service{
			Name: "greeter", Description: "greets", Concurrency: 4,
			Endpoints: []bus.Endpoint{greet},
			Started:   func() { close(started) },
		})
	}()
	<-started
	m, err := b.Call(ctx, "greeter.greet", nil, []byte("Ada"))
	fmt.Println(string(m.Data), err)
	stop()
	fmt.Println(<-served)
	// Output:
	// hello, Ada <nil>
	// <nil>
}
