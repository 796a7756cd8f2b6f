package bus_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/internal/proc/proctest"
)

func TestTheLogOfADirectoryOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := bustest.Dir(t, dir)
	subject, id := b.Subjects().Record("User", "1"), b.LogID()
	mustAppend(t, b, bus.Entry{Subject: subject, Data: []byte("kept")})
	closeBus(t, b)
	b = bustest.Dir(t, dir)
	m, err := b.Last(t.Context(), subject)
	if err != nil || m == nil || string(m.Data) != "kept" || b.LogID() != id {
		t.Fatalf("%v, %v, log %s, then %s", m, err, id, b.LogID())
	}
}

func TestADirectoryInUseIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bustest.Dir(t, dir)
	refused(t, bus.Options{Dir: dir}, dir, "another process", "URL")
}

func TestAStreamConfiguredInAnotherWayIsReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	refused(t, bus.Options{URL: server.URL(), History: 7},
		"max messages per subject: have 64, want 7", "storage: have Memory, want File", "nothing was changed", "nats stream edit tidings-log")

	s := stream(t, server)
	config := s.CachedInfo().Config
	config.AllowDirect, config.MaxAge, config.RePublish = false, time.Hour, &jetstream.RePublish{Source: "tidings.log.>", Destination: "tidings.live.>", HeadersOnly: true}
	js, err := jetstream.New(bus.Conn(server))
	if err == nil {
		_, err = js.UpdateStream(t.Context(), config)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(t, bus.Options{URL: server.URL(), Memory: true},
		"max age: have 1h0m0s, want 0s", "allow direct: have false, want true", "republish: have tidings.log.> to tidings.live.> (headers only), want tidings.log.> to tidings.live.>")
	after, err := s.Info(t.Context())
	if err != nil || after.Config.MaxAge != time.Hour {
		t.Fatalf("the stream was changed: %v, %v", after.Config, err)
	}
}

func TestServicesWithTheirOwnPrefixShareAServer(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	a := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true, Prefix: "a"})
	mustAppend(t, a, bus.Entry{Subject: a.Subjects().Record("User", "1")})
	if _, last, err := server.State(t.Context()); last != 0 || err != nil {
		t.Fatalf("the other log ends at %d, %v", last, err)
	}
}

func TestOptionsThatCannotWorkAreRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		o    bus.Options
		want string
	}{
		{bus.Options{Prefix: "a.b"}, "not one token"},
		{bus.Options{URL: "nats://x", Dir: "y"}, "one or the other"},
		{bus.Options{Listen: "nonsense"}, "host:port"},
		{bus.Options{URL: "nats://127.0.0.1:1"}, "is the server running"},
		{bus.Options{URL: "http://127.0.0.1:1"}, `the scheme "http"`},
	}
	for _, test := range tests {
		refused(t, test.o, test.want)
	}
}

func TestPasswordsInTheURLAreNeverShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"nats://app:s3cret@127.0.0.1:1",
		"nats://ok:4222, nats://app:s3cret@127.0.0.1:1",
		"nats://app:s3cret@:1", "nats://app:s3cret@h h", "nats://app:s3cret%zz@127.0.0.1:1", "app:s3cret@127.0.0.1:1",
		"nats://s3cret@127.0.0.1:1", "http://app:s3cret@127.0.0.1:1",
	} {
		var log bytes.Buffer
		o := bus.Options{URL: url, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := bus.Open(ctx, o)
		cancel()
		if err == nil {
			t.Fatalf("%s was opened", url)
		}
		if strings.Contains(err.Error()+log.String()+bus.Redact(url), "s3cret") {
			t.Errorf("shown: %v\n%s\n%s", err, &log, bus.Redact(url))
		}
	}
}

func TestTheServersMessagesGoToTheLogger(t *testing.T) {
	t.Parallel()
	var log proctest.Log
	b := bustest.Open(t, bus.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	closeBus(t, b)
	if !strings.Contains(log.String(), "nats-server") {
		t.Fatalf("nothing of the server in %q", log.String())
	}
}

// Not parallel: it counts the goroutines of the whole process.
func TestCloseLeavesNoGoroutineBehind(t *testing.T) {
	round := func() {
		b := bustest.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Follow(ctx, 0, func(bus.Message) error { return nil }) }()
		stop := serve(t, b)
		mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1")})
		stop()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeBus(t, b)
		closeBus(t, b) // twice does no harm
	}
	round() // what the libraries start once stays
	before := runtime.NumGoroutine()
	for range 3 {
		round()
	}
	until(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func refused(t testing.TB, o bus.Options, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b, err := bus.Open(ctx, o)
	if err == nil {
		b.Close(ctx)
		t.Fatalf("%+v was accepted", o)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q:\n%v", w, err)
		}
	}
}
