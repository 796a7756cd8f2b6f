package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidings/internal/trace"
	"tidings/internal/trace/tracetest"
)

// env makes the variables of a process out of NAME=value.
func env(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func open(t *testing.T, o trace.Options) *trace.Tracer {
	t.Helper()
	tr, err := trace.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close(expired(t)) })
	return tr
}

// expired is a context that leaves no time.
func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cancel()
	return ctx
}

const (
	sampled   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

func TestSpansArriveWithTheirParents(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	tr := open(t, trace.Options{Endpoint: r.URL, Sample: 1, Service: "tidings-api", Version: "v1", Instance: "pod-1",
		Getenv: env("OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=te%20st,service.version=v2", "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20secret", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip")})
	ctx, above := tr.Start(t.Context(), trace.Server, "query")
	_, below := tr.Message(ctx, trace.Request(), "tidings.cmd.User.create")
	below.Fail("UNAVAILABLE", true)
	below.End()
	above.Text(trace.OperationName, "Feed")
	above.Fail("BAD_USER_INPUT", false)
	above.End()
	tr.Close(t.Context())
	spans := r.Spans()
	if len(spans) != 2 {
		t.Fatal(tracetest.Show(spans))
	}
	b, a := spans[0], spans[1]
	if a.Name != "query" || a.Kind != "SERVER" || a.Parent != "" || a.Error || a.Attributes[trace.ErrorType] != "BAD_USER_INPUT" || a.Attributes[trace.OperationName] != "Feed" {
		t.Errorf("%+v", a)
	}
	if b.Name != "request tidings.cmd.User.create" || b.Kind != "PRODUCER" || b.Parent != a.ID || b.Trace != a.Trace || !b.Error || b.Attributes[trace.System] != "nats" {
		t.Errorf("%+v", b)
	}
	if a.Resource["service.name"] != "tidings-api" || a.Resource["service.version"] != "v2" || a.Resource["deployment.environment.name"] != "te st" {
		t.Errorf("%v", a.Resource)
	}
	if h := r.Headers()[0]; h.Get("Api-Key") != "a secret" || h.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v", h)
	}
}

func TestADecisionIsCarriedOn(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	for _, part := range []float64{0, 1} {
		tr := open(t, trace.Options{Endpoint: r.URL, Sample: part})
		for _, parent := range []string{sampled, unsampled} {
			from := tr.Origin(http.Header{"Traceparent": {parent}, "Tracestate": {"vendor=x"}})
			if from.Sampled() != (parent == sampled) {
				t.Errorf("%s: %v", parent, from)
			}
			ctx, span := tr.Start(from.Under(t.Context()), trace.Server, "query")
			if (span != nil) != (parent == sampled) {
				t.Errorf("with %v, below %s there is %v", part, parent, span)
			}
			h := tr.Inject(ctx, nil)
			if span == nil {
				if h != nil || len(tr.InjectDecision(ctx, nil)) == 0 {
					t.Errorf("%s: %v", parent, h)
				}
				continue
			}
			if got := h[trace.HeaderParent][0]; !strings.HasPrefix(got, sampled[:36]) || got == sampled || !strings.HasSuffix(got, "-01") {
				t.Errorf("below %s there is %s", sampled, got)
			}
			if h[trace.HeaderState][0] != "vendor=x" {
				t.Errorf("%v", h)
			}
			span.End()
		}
	}
}

func TestOnlyAPartIsRecorded(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	none, some := open(t, trace.Options{Endpoint: r.URL, Sample: 0}), open(t, trace.Options{Endpoint: r.URL, Sample: 0.1})
	count := 0
	for range 2000 {
		if _, span := none.Start(t.Context(), trace.Server, "query"); span != nil {
			t.Fatal("a span, and none was wanted")
		}
		if _, span := some.Start(t.Context(), trace.Server, "query"); span != nil {
			count++
		}
	}
	if count < 100 || count > 350 {
		t.Errorf("%d of 2000, and a tenth was wanted", count)
	}
}

func TestStrangersDoNotMakeUsRecordWithoutBound(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	tr := open(t, trace.Options{Endpoint: r.URL, Sample: 0})
	from, began, count := tr.Origin(http.Header{"Traceparent": {sampled}}), time.Now(), 0
	for range 5000 {
		if _, span := tr.Start(from.Under(t.Context()), trace.Server, "query"); span != nil {
			count++
		}
	}
	if most := 100 * (2 + int(time.Since(began)/time.Second)); count < 100 || count > most {
		t.Errorf("%d of 5000 were recorded; at most %d should be", count, most)
	}
}

func TestAnEffectIsATraceOfItsOwnThatRefersToItsCause(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	tr := open(t, trace.Options{Endpoint: r.URL, Sample: 0})
	cause, other := tr.Origin(map[string][]string{"traceparent": {sampled}}), tr.Origin(map[string][]string{"traceparent": {unsampled}})
	if _, span := tr.Caused(t.Context(), "tidings.log.User.{id}", other, nil); span != nil {
		t.Error("what is not recorded has an effect that is")
	}
	_, span := tr.Caused(t.Context(), "tidings.log.User.{id}", cause, other)
	span.End()
	tr.Close(t.Context())
	if s := r.Spans(); len(s) != 1 || s[0].Kind != "CONSUMER" || s[0].Parent != "" || s[0].Trace == sampled[3:35] || len(s[0].Links) != 1 || s[0].Links[0].ID != sampled[36:52] {
		t.Error(tracetest.Show(s))
	}
}

func TestOffIsNothing(t *testing.T) {
	t.Parallel()
	for _, vars := range [][]string{nil, {"OTEL_EXPORTER_OTLP_ENDPOINT=http://x", "OTEL_SDK_DISABLED=true"}, {"OTEL_EXPORTER_OTLP_ENDPOINT=http://x", "OTEL_TRACES_EXPORTER=none"}} {
		if tr, err := trace.Open(trace.Options{Getenv: env(vars...)}); tr != nil || err != nil {
			t.Errorf("%v: %v, %v", vars, tr, err)
		}
	}
}

func TestOffCostsNothing(t *testing.T) { // not parallel: it counts allocations
	var tr *trace.Tracer
	h := map[string][]string{"traceparent": {sampled}}
	if n := testing.AllocsPerRun(100, func() {
		ctx, span := tr.Start(tr.Origin(h).Under(t.Context()), trace.Server, "query")
		_, below := tr.Message(ctx, trace.Request(), "x")
		below.Text("a", "b")
		below.End()
		tr.Inject(ctx, h)
		tr.Here(ctx)
		span.Fail("INTERNAL", true)
		span.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	tr.Close(t.Context())
}

func TestSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	for _, vars := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://collector", "OTEL_EXPORTER_OTLP_ENDPOINT=http://a:b@collector",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TIMEOUT=soon", "OTEL_EXPORTER_OTLP_HEADERS=secret", "OTEL_RESOURCE_ATTRIBUTES=a",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere", "OTEL_EXPORTER_OTLP_CLIENT_KEY=/nowhere", "OTEL_BSP_SCHEDULE_DELAY=0",
	} {
		all := []string{vars, "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"}
		name, _, _ := strings.Cut(vars, "=")
		if tr, err := trace.Open(trace.Options{Getenv: env(all...)}); err == nil {
			tr.Close(expired(t))
			t.Errorf("%s was taken", vars)
		} else if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), strings.TrimSuffix(name, "TRACES_ENDPOINT")[:10]) {
			t.Errorf("%s: %v", vars, err)
		}
	}
}

func TestEndpointsAreFoundAsTheSpecificationSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag, env, path string
	}{
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=URL/base/", "/base/v1/traces"},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=URL/as/it/is", "/as/it/is"},
		{"URL", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=URL/as/it/is", "/v1/traces"},
		{"URL/v1/traces", "", "/v1/traces"},
	} {
		got := make(chan string, 1)
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.URL.Path }))
		tr := open(t, trace.Options{Endpoint: strings.Replace(c.flag, "URL", s.URL, 1), Sample: 1, Getenv: env(strings.Replace(c.env, "URL", s.URL, 1))})
		_, span := tr.Start(t.Context(), trace.Internal, "x")
		span.End()
		tr.Close(t.Context())
		s.Close()
		if path := <-got; path != c.path {
			t.Errorf("%+v: %s", c, path)
		}
	}
}

// A receiver that is away, hangs or is too busy slows nobody down: what does not
// get there is dropped, counted, and told the log once.
func TestAReceiverInTroubleSlowsNobodyDown(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	t.Cleanup(func() { close(release); hangs.Close(); busy.Close() })
	for name, url := range map[string]string{"hangs": hangs.URL, "busy": busy.URL, "gone": gone.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dropped atomic.Int64
			var log bytes.Buffer
			tr := open(t, trace.Options{Endpoint: url, Sample: 1, Dropped: func(n int) { dropped.Add(int64(n)) }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Getenv: env("OTEL_BSP_SCHEDULE_DELAY=10")})
			const many = 20_000
			began := time.Now()
			for range many {
				_, span := tr.Start(t.Context(), trace.Internal, "x")
				span.End()
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%d spans took %s", many, took)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			tr.Close(ctx)
			if got := dropped.Load(); got != many {
				t.Errorf("%d of %d are said to be dropped", got, many)
			}
			if n := strings.Count(log.String(), "WARN"); n != 1 {
				t.Errorf("the log has %d lines:\n%s", n, log.String())
			}
		})
	}
}

func TestWhatTheReceiverRefusesIsCounted(t *testing.T) {
	t.Parallel()
	var dropped atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte{0x0a, 0x06, 0x08, 0x01, 0x12, 0x02, 'n', 'o'}) // partial_success{rejected_spans: 1, error_message: "no"}
	}))
	defer s.Close()
	tr := open(t, trace.Options{Endpoint: s.URL, Sample: 1, Dropped: func(n int) { dropped.Add(int64(n)) }})
	for range 3 {
		_, span := tr.Start(t.Context(), trace.Internal, "x")
		span.End()
	}
	tr.Close(t.Context())
	if dropped.Load() != 1 {
		t.Errorf("%d", dropped.Load())
	}
}

func TestABatchIsSentAgainWhenTheReceiverWasBusy(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	var tries atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.ServeHTTP(w, req)
	}))
	defer s.Close()
	tr := open(t, trace.Options{Endpoint: s.URL, Sample: 1, Getenv: env("OTEL_BSP_SCHEDULE_DELAY=1")})
	_, span := tr.Start(t.Context(), trace.Internal, "x")
	span.End()
	r.Wait(t, func(s []tracetest.Span) bool { return len(s) == 1 })
}

func TestLogLinesTellTheirTrace(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	tr := open(t, trace.Options{Endpoint: r.URL})
	var out bytes.Buffer
	log := slog.New(trace.Handler(slog.NewJSONHandler(&out, nil)))
	ctx := tr.Origin(map[string][]string{"Traceparent": {sampled}}).Under(t.Context())
	log.InfoContext(ctx, "x")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["trace_id"] != sampled[3:35] || line["span_id"] != sampled[36:52] {
		t.Errorf("%v, %v", line, err)
	}
	out.Reset()
	log.With("a", 1).Info("x")
	if strings.Contains(out.String(), "trace_id") {
		t.Error(out.String())
	}
}

// Whoever calls may write anything into the headers: what is not as the W3C has it
// counts as nothing, and what counts is passed on as it should be.
func FuzzOrigin(f *testing.F) {
	r, err := trace.Open(trace.Options{Endpoint: "http://127.0.0.1:1", Sample: 0})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { ctx, cancel := context.WithCancel(context.Background()); cancel(); r.Close(ctx) })
	for _, parent := range []string{sampled, unsampled, "", "00", "ff" + sampled[2:], "01" + sampled[2:] + "-more", sampled + "-x", sampled[:54] + "0", "00-" + strings.Repeat("0", 32) + sampled[35:],
		strings.ToUpper(sampled), sampled[:53] + "ff", strings.Repeat(sampled, 1000), "cc-" + sampled[3:]} {
		f.Add(parent, "a=b")
	}
	f.Add(sampled, strings.Repeat("a=b,", 1000))
	f.Add(sampled, "\x00\r\nInjected: 1")
	f.Fuzz(func(t *testing.T, parent, state string) {
		from := r.Origin(map[string][]string{"traceparent": {parent}, "tracestate": {state}})
		if from == nil {
			return
		}
		if len(parent) < 55 || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || parent[:2] == "ff" {
			t.Errorf("%q was taken", parent)
		}
		h := r.InjectDecision(from.Under(t.Context()), nil)
		if got := h["traceparent"][0]; len(got) != 55 || got[3:52] != parent[3:52] {
			t.Errorf("%q becomes %q", parent, got)
		}
		if s := h["tracestate"]; len(s) > 0 && (len(s[0]) > 600 || strings.ContainsAny(s[0], "\r\n\x00")) {
			t.Errorf("%q becomes %q", state, s[0])
		}
	})
}

func TestAHeaderThatComesTwiceDoesNotCount(t *testing.T) {
	t.Parallel()
	tr := open(t, trace.Options{Endpoint: "http://127.0.0.1:1"})
	if from := tr.Origin(http.Header{"Traceparent": {sampled, sampled}}); from != nil {
		t.Errorf("%v", from)
	}
}
