package bus_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/internal/proc/proctest"
)

type handle = func(context.Context, bus.Message) ([]byte, bus.Header, error)

// nearAndFar runs a test with a caller in another process than the service, and
// with one in the same. The log is that of the service.
func nearAndFar(t *testing.T, test func(t *testing.T, b, server *bus.Bus, log *proctest.Log)) {
	for _, far := range []bool{false, true} {
		t.Run(map[bool]string{false: "near", true: "far"}[far], func(t *testing.T) {
			t.Parallel()
			var log proctest.Log
			server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			b := server
			if far {
				b = bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
			}
			test(t, b, server, &log)
		})
	}
}

func endpoint(name string, h handle) bus.Endpoint {
	return bus.Endpoint{Name: name, Subject: "tidings.cmd.User." + name, Handle: h}
}

func TestCallWithoutAServiceIsUnavailableAtOnce(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	start := time.Now()
	if err := call(t, b, "tidings.cmd.User.create"); !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Fatalf("it took %s", d)
	}
}

func TestTheBreakerOpensAndClosesAgain(t *testing.T) {
	t.Parallel()
	var log proctest.Log
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	b := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 20 {
		if err := call(t, b, "tidings.cmd.User.create"); !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
	}
	if !strings.Contains(log.String(), "state=open") {
		t.Fatalf("the breaker did not open: %s", log.String())
	}
	defer serve(t, server, endpoint("create", nothing))()
	// An open breaker refuses without asking who is there. (It lets a call try
	// after a second, so on a slow machine this may take more than one round.)
	until(t, "a call is refused though the service is there", func() bool {
		for range 10 {
			call(t, b, "tidings.cmd.User.unknown")
		}
		return fault.Is(call(t, b, "tidings.cmd.User.create"), fault.Unavailable)
	})
	until(t, "the breaker lets calls through again", func() bool { return call(t, b, "tidings.cmd.User.create") == nil })
}

func TestABreakerIsOfOneKindOfSubject(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	post := bus.Endpoint{Name: "post", Subject: b.Subjects().Command("Post", "create"), Handle: nothing}
	orders := bus.Endpoint{Name: "orders", Subject: "orders.get.1", Handle: nothing}
	defer serve(t, b, post, orders)()
	for range 50 {
		if err := call(t, b, "tidings.cmd.User.create"); !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
		if err := call(t, b, "orders.put.1"); !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
	}
	for _, ep := range []bus.Endpoint{post, orders} {
		if err := call(t, b, ep.Subject); err != nil {
			t.Errorf("%s: %v", ep.Subject, err)
		}
	}
}

func nothing(context.Context, bus.Message) ([]byte, bus.Header, error) { return nil, nil, nil }

func TestAnswersAndCallersThatLeaveDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, _ *proctest.Log) {
		begun, left := make(chan struct{}), make(chan struct{})
		defer serve(t, server,
			endpoint("no", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
				return nil, nil, fault.New(fault.NotFound, "no such record")
			}),
			endpoint("slow", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
				begun <- struct{}{}
				<-left
				return nil, nil, nil
			}))()
		for range 30 {
			if err := call(t, b, "tidings.cmd.User.no"); !fault.Is(err, fault.NotFound) {
				t.Fatal(err)
			}
		}
		for range 30 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				cancel()
			}()
			if _, err := b.Call(ctx, "tidings.cmd.User.slow", nil, nil); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			left <- struct{}{}
		}
		if err := call(t, b, "tidings.cmd.User.no"); !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
	})
}

func TestAWorkerStopsWhenItsCallerHasLeft(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, _ *proctest.Log) {
		stopped := make(chan error, 1)
		defer serve(t, server, endpoint("slow", func(ctx context.Context, _ bus.Message) ([]byte, bus.Header, error) {
			<-ctx.Done()
			stopped <- ctx.Err()
			return nil, nil, ctx.Err()
		}))()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := b.Call(ctx, "tidings.cmd.User.slow", nil, nil); !fault.Is(err, fault.Timeout) {
			t.Fatal(err)
		}
		if err := <-stopped; !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

func TestAPanicIsAnInternalErrorAndTheServiceGoesOn(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, log *proctest.Log) {
		defer serve(t, server,
			endpoint("boom", func(context.Context, bus.Message) ([]byte, bus.Header, error) { panic("secret") }),
			endpoint("foreign", func(context.Context, bus.Message) ([]byte, bus.Header, error) { return nil, nil, errors.New("secret") }))()
		for _, name := range []string{"boom", "foreign", "boom"} {
			err := call(t, b, "tidings.cmd.User."+name)
			if !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "secret") {
				t.Fatal(err)
			}
		}
		if s := log.String(); !strings.Contains(s, "serve_test.go") || strings.Count(s, "secret") < 3 {
			t.Fatalf("the log does not tell what happened: %s", s)
		}
	})
}

func TestAtMostSoManyRequestsAreAtWorkAtOnce(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, _ *proctest.Log) {
		var now, most atomic.Int64
		full := make(chan struct{}) // closed when four are at work: nobody leaves before
		reached := sync.OnceFunc(func() { close(full) })
		defer serve(t, server, endpoint("work", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for {
				if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			if n == 4 {
				reached()
			}
			<-full
			return nil, nil, nil
		}))()
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				if err := call(t, b, "tidings.cmd.User.work"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if m := most.Load(); m != 4 {
			t.Fatalf("%d at once, want 4", m)
		}
	})
}

func TestRequestsBeyondTheQueueAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, _ *proctest.Log) {
		gate := make(chan struct{})
		stop := serve(t, server, endpoint("stuck", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
			<-gate
			return nil, nil, nil
		}))
		var wg sync.WaitGroup
		var done, refused atomic.Int64
		for range 1024 + 4 + 100 {
			wg.Go(func() {
				switch err := call(t, b, "tidings.cmd.User.stuck"); {
				case err == nil:
					done.Add(1)
				case fault.Is(err, fault.Unavailable):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		until(t, "the surplus is refused", func() bool { return refused.Load() >= 100 })
		close(gate)
		wg.Wait()
		stop()
		if done.Load()+refused.Load() != 1128 || done.Load() < 1024 {
			t.Fatalf("%d done, %d refused", done.Load(), refused.Load())
		}
	})
}

func TestServeFinishesWhatItTook(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	begun, gate := make(chan struct{}, 100), make(chan struct{})
	stop := serve(t, b, endpoint("slow", func(context.Context, bus.Message) ([]byte, bus.Header, error) {
		begun <- struct{}{}
		<-gate
		return []byte("done"), nil, nil
	}))
	nc := bus.Conn(b)
	answers, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Unsubscribe()
	for range 8 { // four at work, four waiting
		if err := nc.PublishRequest("tidings.cmd.User.slow", answers.Subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil { // the server has passed them on
		t.Fatal(err)
	}
	for range 4 {
		<-begun
	}
	var stopped sync.WaitGroup
	stopped.Go(stop)
	until(t, "no more is taken", func() bool { return fault.Is(call(t, b, "$SRV.PING.test"), fault.Unavailable) })
	close(gate)
	stopped.Wait()
	for range 8 {
		if m, err := answers.NextMsg(10 * time.Second); err != nil || string(m.Data) != "done" {
			t.Errorf("%v, %v", m, err)
		}
	}
}

func TestWhatIsTooLargeForTheBusIsRefused(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, _ *proctest.Log) {
		defer serve(t, server, endpoint("big", func(context.Context, bus.Message) ([]byte, bus.Header, error) { return make([]byte, 2<<20), nil, nil }))()
		if err := call(t, b, "tidings.cmd.User.big"); !fault.Is(err, fault.PayloadTooLarge) {
			t.Errorf("answer: %v", err)
		}
		if _, err := b.Call(t.Context(), "tidings.cmd.User.big", nil, make([]byte, 2<<20)); !fault.Is(err, fault.PayloadTooLarge) {
			t.Errorf("request: %v", err)
		}
	})
}

// A service in another language answers errors as NATS micro services do.
func TestErrorsOfForeignServicesAreRead(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	tests := []struct {
		code, text, body string
		want             fault.Code
		message          string
	}{
		{"NOT_FOUND", "no such order", "", fault.NotFound, "no such order"},
		{"404", "secret", "", fault.Internal, "internal error"},
		{"", "secret", "", fault.Internal, "internal error"},
		{"BAD_USER_INPUT", "short", `{"code":"BAD_USER_INPUT","message":"long","field":"input.x"}`, fault.BadUserInput, "long"},
		{"CONFLICT", "taken", `not json`, fault.Conflict, "taken"},
		{"500", "secret", `{"code":"MADE_UP","message":"secret"}`, fault.Internal, "internal error"},
	}
	for _, test := range tests {
		sub, err := bus.Conn(b).Subscribe("orders.get", func(m *nats.Msg) {
			r := nats.NewMsg(m.Reply)
			r.Header.Set("Nats-Service-Error-Code", test.code)
			r.Header.Set("Nats-Service-Error", test.text)
			r.Data = []byte(test.body)
			m.RespondMsg(r)
		})
		if err != nil {
			t.Fatal(err)
		}
		err = call(t, b, "orders.get")
		if f := fault.Of(err); err == nil || f.Code != test.want || f.Message != test.message {
			t.Errorf("%+v: %v", test, err)
		}
		sub.Unsubscribe()
	}
}

func TestServicesAreDiscovered(t *testing.T) {
	t.Parallel()
	nearAndFar(t, func(t *testing.T, b, server *bus.Bus, _ *proctest.Log) {
		defer serve(t, server, endpoint("create", nothing))()
		if err := call(t, b, "tidings.cmd.User.create"); err != nil {
			t.Fatal(err)
		}
		for subject, want := range map[string]string{"$SRV.INFO.test": `"subject":"tidings.cmd.User.create","queue_group":"q"`, "$SRV.STATS.test": `"handled":1`} {
			m, err := b.Call(t.Context(), subject, nil, nil)
			if err != nil || !bytes.Contains(m.Data, []byte(want)) {
				t.Errorf("%s: %s, %v", subject, m.Data, err)
			}
		}
	})
}
