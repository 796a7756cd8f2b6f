//go:build conformance

package processes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// cluster is an installation of several processes.
type cluster struct {
	nats    *process
	apis    []*api
	workers []*process
	data    string        // where the development key is
	bus     string        // URL of the nats-server
	auditor []nats.Option // as whom the tests read the log; none: as anybody
}

// startCluster runs two apis and two workers beside a nats-server, with these
// variables.
func startCluster(t testing.TB, variables ...string) *cluster {
	t.Helper()
	c := &cluster{data: t.TempDir()}
	c.nats, c.bus = startNATS(t)
	env := append([]string{"TIDINGS_NATS_URL=" + c.bus}, variables...)
	c.workers = []*process{startWorker(t, "worker 1", c.data, env), startWorker(t, "worker 2", c.data, env)}
	// One goes on with its view after a restart, the other makes it anew.
	c.apis = []*api{startAPI(t, "api 1", c.data, env, "--view", t.TempDir()), startAPI(t, "api 2", c.data, env)}
	return c
}

// authors are the tokens of n users.
func (c *cluster) authors(t testing.TB, n int) []string {
	t.Helper()
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = token(t, c.data, fmt.Sprintf("author%d", i), "USER")
	}
	return tokens
}

// createUser makes a user who is the bearer of the token.
func createUser(name, email string) call {
	return call{
		Query:     `mutation ($input: CreateUserInput!) { done: createUser(input: $input) { id name email } }`,
		Variables: map[string]any{"input": map[string]any{"name": name, "email": email}},
	}
}

func TestTwoAPIsAndTwoWorkersAreOneService(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	one, two := c.apis[0], c.apis[1]
	ada := token(t, c.data, "ada", "USER")

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	sockets, err := dialSocket(ctx, two.url, anybody, userChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer sockets.close()
	if err := sockets.(*socket).stands(); err != nil {
		t.Fatal(err)
	}

	var answer struct{ Done record }
	mustPost(t, one.url, ada, createUser("Ada", "ada@example.org"), &answer)
	if want := (record{ID: "ada", Name: "Ada", Email: "ada@example.org"}); answer.Done != want {
		t.Errorf("the mutation answered %+v, want %+v", answer.Done, want)
	}
	first := expect(t, sockets, "CREATED", "ada", "Ada")

	// From the cursor that the socket of api 2 gave, by events from api 1.
	events, err := dialEvents(ctx, one.url, anybody, userChanges.resume(first.Cursor))
	if err != nil {
		t.Fatal(err)
	}
	defer events.close()

	soap(t, one.url, readPartner(t, one), "CreateUser",
		`<t:input><t:name>Partner</t:name><t:email>partner@example.org</t:email></t:input>`)
	second := expect(t, sockets, "CREATED", "partner", "Partner")
	if other := expect(t, events, "CREATED", "partner", "Partner"); other != second {
		t.Errorf("by SSE %+v, by WebSocket %+v", other, second)
	}
	soapShows(t, two.url, readPartner(t, two), "GetUser", `<t:id>ada</t:id>`, ">Ada</")

	for _, a := range c.apis {
		checkState(t, a, anybody, "users", "name", map[string]string{"ada": "Ada", "partner": "Partner"})
	}
	data, err := post(ctx, two.url, anybody, call{Query: `{ user(id: "ada") { name email } }`})
	if want := `{"user":{"name":"Ada","email":null}}`; string(data) != want {
		t.Errorf("an anonymous caller got %s, want %s", data, want)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "FORBIDDEN") {
		t.Errorf("the refused field says %v", err)
	}
}

// expect reads the next event, which must be the given one.
func expect(t testing.TB, s stream, kind, id, text string) event {
	t.Helper()
	r, err := s.next()
	if err != nil {
		t.Fatalf("instead of %s %s: %v", kind, id, err)
	}
	e, err := readEvent(r)
	if err != nil {
		t.Fatalf("instead of %s %s: %v", kind, id, err)
	}
	if e.Kind != kind || e.ID != id || e.Text != text {
		t.Fatalf("the event is %+v, want %s %s %q", e, kind, id, text)
	}
	return e
}
