// Package tracetest gives tests a receiver of OTLP over HTTP.
package tracetest

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it arrived.
type Span struct {
	Trace, ID, Parent string // in hex; Parent is empty at a root
	Name, Kind        string // Kind is SERVER, CLIENT, …
	Error             bool
	Links             []Link
	Attributes        map[string]string
	Resource          map[string]string
	Begin, End        time.Time
}

// Link refers to another span.
type Link struct{ Trace, ID string }

// Receiver takes spans until its test ends.
type Receiver struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
	failed  error
}

// New starts a receiver on a free port of this machine.
func New(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{}
	s := httptest.NewServer(r)
	r.URL = s.URL
	t.Cleanup(func() {
		s.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.failed != nil {
			t.Error(r.failed)
		}
	})
	return r
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	spans, err := decode(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = append(r.headers, req.Header.Clone())
	if err != nil {
		r.failed = err
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.spans = append(r.spans, spans...)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Spans returns what has arrived so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Headers returns those of the requests so far.
func (r *Receiver) Headers() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.headers)
}

// Wait returns the spans as soon as done says that they are all there.
func (r *Receiver) Wait(t testing.TB, done func([]Span) bool) []Span {
	t.Helper()
	end := time.Now().Add(60 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		spans := r.Spans()
		if done(spans) {
			return spans
		}
		if time.Now().After(end) {
			t.Fatalf("these spans have arrived, and not all:\n%s", Show(spans))
		}
		<-tick.C
	}
}

// Show writes spans for people.
func Show(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&b, "%s %-8s %q id %s parent %q links %v %v\n", s.Trace, s.Kind, s.Name, s.ID, s.Parent, s.Links, s.Attributes)
	}
	return b.String()
}

func decode(req *http.Request) ([]Span, error) {
	if req.Method != http.MethodPost || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
		return nil, fmt.Errorf("%s %s of type %q is no OTLP", req.Method, req.URL.Path, req.Header.Get("Content-Type"))
	}
	var from io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		from = z
	}
	body, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		return nil, err
	}
	var spans []Span
	for _, r := range data.ResourceSpans {
		resource := values(r.Resource.GetAttributes())
		for _, s := range r.ScopeSpans {
			for _, one := range s.Spans {
				spans = append(spans, spanOf(one, resource))
			}
		}
	}
	return spans, nil
}

func spanOf(p *tracepb.Span, resource map[string]string) Span {
	s := Span{
		Trace: hex.EncodeToString(p.TraceId), ID: hex.EncodeToString(p.SpanId), Parent: hex.EncodeToString(p.ParentSpanId),
		Name: p.Name, Kind: strings.TrimPrefix(p.Kind.String(), "SPAN_KIND_"),
		Error:      p.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		Attributes: values(p.Attributes), Resource: resource,
		Begin: time.Unix(0, int64(p.StartTimeUnixNano)), End: time.Unix(0, int64(p.EndTimeUnixNano)),
	}
	for _, l := range p.Links {
		s.Links = append(s.Links, Link{hex.EncodeToString(l.TraceId), hex.EncodeToString(l.SpanId)})
	}
	return s
}

func values(list []*commonpb.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range list {
		switch v := kv.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.Key] = fmt.Sprint(v.IntValue)
		default:
			m[kv.Key] = fmt.Sprint(kv.Value)
		}
	}
	return m
}
