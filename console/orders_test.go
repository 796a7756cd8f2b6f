package console_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tidings/internal/proc/proctest"
	"tidings/schema"
)

const (
	endConnection = `mutation($process: ID!, $connection: ID!) { done: endConnection(process: $process, connection: $connection) }`
	endOperation  = `mutation($process: ID!, $connection: ID!, $operation: String!) { done: endOperation(process: $process, connection: $connection, operation: $operation) }`
	revokeTokens  = `mutation($subject: String!) { done: revoke(subject: $subject) }`
)

type done struct{ Done *bool }

// order sends a mutation on a socket of its own.
func (p *pod) order(t *testing.T, query string, variables map[string]any) done {
	t.Helper()
	c := connect(t, p.admin+"/console/graphql", token(t, "root", schema.Admin))
	return ask[done](c, "1", query, variables)
}

// find waits until the console of a process shows an operation of a subject.
func (p *pod) find(t *testing.T, subject, document string) (process, connection, id string) {
	t.Helper()
	c := connect(t, p.admin+"/console/graphql", token(t, "root", schema.Admin))
	c.subscribe("1", operationsQuery, map[string]any{"search": subject})
	until(c, func(o operations) bool {
		for _, n := range o.Operations.Nodes {
			if n.Subject == subject && strings.Contains(n.Document, document) {
				process, connection, id = n.Process, n.Connection, n.ID
				return true
			}
		}
		return false
	})
	return process, connection, id
}

// An order reaches the process that has the connection, ends that one, and nothing else.
func TestAnOperatorClosesAConnectionOfAnotherProcess(t *testing.T) {
	t.Parallel()
	p := pods(t, 2)
	ada, bob := connect(t, p[1].public, token(t, "ada", schema.User)), connect(t, p[1].public, token(t, "bob", schema.User))
	for _, c := range []*client{ada, bob} {
		c.subscribe("mine", posts, nil)
	}
	process, connection, _ := p[0].find(t, "ada", "postChanged")
	if d := p[0].order(t, endConnection, map[string]any{"process": process, "connection": connection}); d.Done == nil || !*d.Done {
		t.Fatalf("got %+v", d)
	}
	if code := ada.closed(); code != 1012 {
		t.Errorf("closed with %d", code)
	}
	p[0].find(t, "bob", "postChanged")
	p[0].write(t, 1)
	if m, err := bob.read(); err != nil || m.Type != "next" {
		t.Errorf("the other socket: %+v %v", m, err)
	}
	if d := p[0].order(t, endConnection, map[string]any{"process": process, "connection": connection}); d.Done == nil || *d.Done {
		t.Errorf("once more: %+v", d)
	}
}

// An order that came from a console is in two logs; one that somebody has made up, with
// the credentials of a process, in one.
func TestWhoGaveAnOrderIsInTheLogOfTheConsoleToo(t *testing.T) {
	t.Parallel()
	const ended, sent = "an operator has ended the connection", "an order of an operator was carried out by the process that it is for"
	p := pods(t, 2)
	ada, bob := connect(t, p[1].public, token(t, "ada", schema.User)), connect(t, p[1].public, token(t, "bob", schema.User))
	ada.subscribe("mine", posts, nil)
	bob.subscribe("mine", posts, nil)
	process, connection, _ := p[0].find(t, "ada", "postChanged")
	p[0].order(t, endConnection, map[string]any{"process": process, "connection": connection})
	ada.closed()
	for log, want := range map[*proctest.Log]string{p[0].log: sent, p[1].log: ended} {
		if text := log.String(); !strings.Contains(text, want) || !strings.Contains(text, "user=root conn_id="+connection) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	process, connection, _ = p[0].find(t, "bob", "postChanged")
	forged, err := json.Marshal(map[string]any{"by": "operator" + strings.Repeat("x", 1000), "connection": connection})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p[0].Bus.Reach(t.Context(), p[0].Bus.Subjects().Order(process), forged); err != nil {
		t.Fatal(err)
	}
	bob.closed()
	if text := p[1].log.String(); strings.Count(text, ended) != 2 || strings.Contains(text, strings.Repeat("x", 500)) {
		t.Errorf("the forged order is told as\n%s", text)
	}
	if text := p[0].log.String(); strings.Count(text, sent) != 1 {
		t.Errorf("the console has sent\n%s", text)
	}
}

func TestAnOperatorEndsOneOperationAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	p := pods(t, 2)
	ada := connect(t, p[1].public, token(t, "ada", schema.User))
	ada.subscribe("posts", posts, nil)
	ada.subscribe("users", users, nil)
	process, connection, id := p[0].find(t, "ada", "userChanged")
	if id != "users" {
		t.Fatalf("found %q", id)
	}
	if d := p[0].order(t, endOperation, map[string]any{"process": process, "connection": connection, "operation": id}); d.Done == nil || !*d.Done {
		t.Fatalf("got %+v", d)
	}
	if m, err := ada.read(); err != nil || m.ID != "users" || m.Type != "error" || !strings.Contains(string(m.Payload), `"FORBIDDEN"`) {
		t.Errorf("got %+v %s %v", m, m.Payload, err)
	}
	p[0].write(t, 1)
	if m, err := ada.read(); err != nil || m.ID != "posts" || m.Type != "next" {
		t.Errorf("got %+v %v", m, err)
	}
	if n := p[1].engine.Stats().Sinks; n != 1 {
		t.Errorf("%d subscribers are left", n)
	}
}

// An event stream has one operation: its end is the stream's.
func TestAnOperatorEndsAnEventStream(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	ended := make(chan string, 1)
	go func() {
		_, _, body := fetch(t, "POST", p.public, `{"query":"subscription { postChanged { kind } }"}`, "Content-Type", "application/json", "Accept", "text/event-stream", "Authorization", "Bearer "+token(t, "ada", schema.User))
		ended <- body
	}()
	process, connection, id := p.find(t, "ada", "postChanged")
	if d := p.order(t, endOperation, map[string]any{"process": process, "connection": connection, "operation": id}); d.Done == nil || !*d.Done {
		t.Fatalf("got %+v", d)
	}
	if body := <-ended; !strings.Contains(body, "FORBIDDEN") || !strings.Contains(body, "event: complete") {
		t.Errorf("got %s", body)
	}
}

// What was revoked at one process counts in none, and the consoles of whom it was end too.
func TestAnOperatorRevokesTheTokensOfASubjectInAllProcesses(t *testing.T) {
	t.Parallel()
	p := pods(t, 2)
	here, there := connect(t, p[0].public, token(t, "ada", schema.User)), connect(t, p[1].public, token(t, "ada", schema.User))
	other := connect(t, p[1].public, token(t, "bob", schema.User))
	other.subscribe("mine", posts, nil)
	for _, c := range []*client{here, there} {
		c.subscribe("mine", posts, nil)
	}
	p[0].find(t, "ada", "postChanged")
	if d := p[0].order(t, revokeTokens, map[string]any{"subject": "ada"}); d.Done == nil || !*d.Done {
		t.Fatalf("got %+v", d)
	}
	for _, c := range []*client{here, there} {
		if code := c.closed(); code != 4403 {
			t.Errorf("closed with %d", code)
		}
	}
	p[1].write(t, 1)
	if m, err := other.read(); err != nil || m.Type != "next" {
		t.Errorf("the other subject: %+v %v", m, err)
	}
}

// A console lives as long as the token that opened it counts.
func TestTheEndOfAnOperatorsTokenEndsTheConsole(t *testing.T) {
	t.Parallel()
	p := pods(t, 2)
	window := connect(t, p[1].admin+"/console/graphql", token(t, "operator", schema.Admin))
	window.subscribe("1", overviewQuery, nil)
	until(window, func(overview) bool { return true })
	short := connect(t, p[1].admin+"/console/graphql", tokenFor(t, "guest", schema.Admin, 2*time.Second))
	short.subscribe("1", overviewQuery, nil)
	if code := short.closed(); code != 4403 {
		t.Errorf("an expired token: closed with %d", code)
	}
	if d := p[0].order(t, revokeTokens, map[string]any{"subject": "operator"}); d.Done == nil || !*d.Done {
		t.Fatalf("got %+v", d)
	}
	if code := window.closed(); code != 4403 {
		t.Errorf("a revoked token: closed with %d", code)
	}
	dial(t, p[0].admin+"/console/graphql", token(t, "guest", schema.User)).closed()
}

func TestOrdersThatNobodyCanCarryOutSaySo(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	c := connect(t, p.admin+"/console/graphql", token(t, "root", schema.Admin))
	for _, process := range []string{"AAAAAAAAAAAA", "x", "*", "a.b"} {
		c.subscribe("1", endConnection, map[string]any{"process": process, "connection": "c"})
		m, err := c.read()
		if err != nil || !strings.Contains(string(m.Payload), "NOT_FOUND") {
			t.Errorf("%q: %s %v", process, m.Payload, err)
		}
		if m, _ := c.read(); m.Type != "complete" {
			t.Errorf("got %+v", m)
		}
	}
	c.subscribe("2", revokeTokens, map[string]any{"subject": " "})
	if m, err := c.read(); err != nil || !strings.Contains(string(m.Payload), "BAD_USER_INPUT") {
		t.Errorf("got %s %v", m.Payload, err)
	}
}
