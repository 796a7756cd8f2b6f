//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// soon is what a refusal may take at most: a caller must not wait for
// processes that are known to be away.
const soon = 2 * time.Second

// While there is no worker, or no bus, writes are refused at once with a code
// that says to try later, reads are answered from the views, subscribers stay,
// and everything goes on by itself when the processes are back.
func TestReadsGoOnWhileWritesCannot(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "TIDINGS_RETRY=2s")
	author := c.authors(t, 1)[0]
	want := map[string]string{}
	say := func(text string) {
		t.Helper()
		id, err := mutate(t.Context(), c.apis[0], author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}, text)
		if err != nil {
			t.Fatal(err)
		}
		want[id] = text
	}
	say("with all")
	shown := func() {
		t.Helper()
		for _, a := range c.apis {
			checkState(t, a, anybody, "posts", "title", want)
		}
	}
	shown()
	account := readPartner(t, c.apis[0])
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	listener, err := dialSocket(ctx, c.apis[1].url, anybody, postChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.close()
	if err := listener.(*socket).stands(); err != nil {
		t.Fatal(err)
	}
	back := func(text string) {
		t.Helper()
		poll(t, 15*time.Second, "writes are possible again", func() error {
			_, err := mutate(t.Context(), c.apis[1], author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": text}}}, text)
			return err
		})
		r, err := listener.next()
		if err != nil {
			t.Fatal(err)
		}
		e, err := readEvent(r)
		if err != nil || e.Text != text {
			t.Fatalf("the listener got %+v (%v), want %q", e, err, text)
		}
		want[e.ID] = text
		shown()
	}

	c.workers[0].kill(t)
	c.workers[1].kill(t)
	c.refused(t, author, account)
	shown()
	c.workers[0].restart(t)
	c.workers[1].restart(t)
	back("with workers")

	c.nats.kill(t)
	c.refused(t, author, account)
	shown()
	c.nats.restart(t)
	back("with the bus")
}

// refused sends writes of both kinds to both apis, which must not take long to
// say that they are not available, once they or the bus have noticed it: what
// was sent to a process that has just died has no answer.
func (c *cluster) refused(t testing.TB, author string, account partner) {
	t.Helper()
	for _, a := range c.apis {
		// For as long as --retry says they hope that it comes back.
		poll(t, time.Minute, a.name+" notices", func() error { return refusal(t, a, author) })
		poll(t, time.Minute, a.name+" notices for SOAP", func() error { return soapRefusal(t, a, account) })
		began := time.Now()
		if err := refusal(t, a, author); err != nil {
			t.Error(err)
		}
		if err := soapRefusal(t, a, account); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("%s took %s to refuse", a.name, took)
		}
	}
}

// refusal is nil when an api refuses a mutation as not available.
func refusal(t testing.TB, a *api, author string) error {
	_, err := mutate(t.Context(), a, author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": "x"}}}, "x")
	if refused, ok := errors.AsType[graphQLError](err); ok && refused.Extensions.Code == "UNAVAILABLE" {
		return nil
	}
	return fmt.Errorf("%s answered a mutation with %v", a.name, err)
}

// soapRefusal is nil when an api refuses a SOAP call as not available.
func soapRefusal(t testing.TB, a *api, account partner) error {
	t.Helper()
	text := envelope("urn:tidings:v1:SocialService", account, "GetUser", `<t:id>x</t:id>`)
	resp, err := client.Post(a.url+"/v1/SocialService", "text/xml; charset=utf-8", strings.NewReader(text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(string(body), "UNAVAILABLE") {
		return fmt.Errorf("%s answered a SOAP call with %d %s", a.name, resp.StatusCode, body)
	}
	return nil
}
