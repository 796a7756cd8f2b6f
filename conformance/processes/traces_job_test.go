//go:build conformance

package processes

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidings/internal/trace/tracetest"
)

const submitting = "22222222222222223333333333333333"

// A job that one api takes is carried out by any worker, long after the call: its
// items are a trace of their own, which refers to the call, and which goes on to
// what is written into the log.
func TestATraceOfAJobGoesFromTheCallToItsItems(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	c := startCluster(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL, "OTEL_BSP_SCHEDULE_DELAY=20", "TIDINGS_TRACE_SAMPLE=0")
	body := `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService"><s:Body>` +
		`<t:SubmitCreatePosts><t:inputs><t:item><t:title>one</t:title></t:item><t:item><t:title>two</t:title></t:item></t:inputs></t:SubmitCreatePosts></s:Body></s:Envelope>`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.apis[0].url+"/v1/SocialService", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+token(t, c.data, "partner", "USER"))
	req.Header.Set("traceparent", parent(submitting))
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", resp, err)
	}
	resp.Body.Close()

	const put, done = "publish tidings.jobs.{task}", "process tidings.jobs.{task}"
	written := func(all []tracetest.Span) []tracetest.Span {
		return slices.DeleteFunc(slices.Clone(all), func(s tracetest.Span) bool {
			return s.Trace == submitting || s.Name != "publish tidings.log.Post.{id}"
		})
	}
	all := r.Wait(t, func(all []tracetest.Span) bool {
		work := task(all, done)
		// What is above a write is of two workers: each sends its own spans.
		return named(all, submitting, put) != nil && work != nil && len(written(all)) > 0 &&
			!slices.ContainsFunc(written(all), func(w tracetest.Span) bool { return w.Trace == work.Trace && !under(all, w, work.ID) }) &&
			named(all, submitting, "process tidings.soap.v1.SocialService") != nil && named(all, submitting, "POST /v1/SocialService") != nil
	})
	above := named(all, submitting, put)
	for _, name := range []string{"SocialService/SubmitCreatePosts", "process tidings.soap.v1.SocialService", "request tidings.soap.v1.SocialService", "POST /v1/SocialService"} {
		s := named(all, submitting, name)
		if s == nil || above.Parent != s.ID {
			t.Fatalf("want %s above %s in\n%s", name, above.Name, tracetest.Show(all))
		}
		above = s
	}
	work := task(all, done)
	if want := (tracetest.Link{Trace: submitting, ID: named(all, submitting, put).ID}); work.Parent != "" || !slices.Equal(work.Links, []tracetest.Link{want}) ||
		work.Kind != "CONSUMER" || work.Resource["service.name"] != "tidings-worker" {
		t.Errorf("want a link to %v in\n%s", want, tracetest.Show(all))
	}
	for _, w := range written(all) {
		if w.Trace != work.Trace || !under(all, w, work.ID) {
			t.Errorf("want %s under %s in\n%s", w.ID, work.ID, tracetest.Show(all))
		}
	}
}

// task is the span of a name that refers to somebody's submission.
func task(all []tracetest.Span, name string) *tracetest.Span {
	i := slices.IndexFunc(all, func(s tracetest.Span) bool {
		return s.Name == name && slices.ContainsFunc(s.Links, func(l tracetest.Link) bool { return l.Trace == submitting })
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// under reports whether a span has another one above itself.
func under(all []tracetest.Span, s tracetest.Span, id string) bool {
	for range len(all) {
		if s.Parent == id {
			return true
		}
		i := slices.IndexFunc(all, func(o tracetest.Span) bool { return o.Trace == s.Trace && o.ID == s.Parent })
		if i < 0 {
			return false
		}
		s = all[i]
	}
	return false
}
