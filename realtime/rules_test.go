package realtime_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/realtime"
)

// rule is one rule of a WebSocket subprotocol as a dialogue, line by line:
//
//	> sends a message
//	< expects a message
//	x expects the close code, as the next thing or behind other messages
//	! waits until that many subscribers are there
//	+ makes the source of all ticks give one event
type rule struct{ name, dialogue string }

const begin = `
	> {"type":"connection_init"}
	< {"type":"connection_ack"}`

// The rules of graphql-transport-ws, in the order of its PROTOCOL.md.
var rules = []rule{
	{"messages may come before connection_init: ping", `
		> {"type":"ping"}
		< {"type":"pong"}
		> {"type":"connection_init"}
		< {"type":"connection_ack"}`},
	{"a ping is answered with its payload", begin + `
		> {"type":"ping","payload":{"at":1,"deep":{"list":[1,"ü",null]}}}
		< {"type":"pong","payload":{"at":1,"deep":{"list":[1,"ü",null]}}}
		> {"type":"ping","payload":null}
		< {"type":"pong"}`},
	{"a pong is taken with and without a payload, asked for or not", begin + `
		> {"type":"pong"}
		> {"type":"pong","payload":{"x":1}}
		> {"type":"ping"}
		< {"type":"pong"}`},
	{"connection_init takes any payload", `
		> {"type":"connection_init","payload":{"anything":[{"else":true}],"resume":null}}
		< {"type":"connection_ack"}`},
	{"connection_init takes null for a payload", `
		> {"type":"connection_init","payload":null}
		< {"type":"connection_ack"}`},
	{"members that the protocol does not know are passed over", `
		> {"more":1,"type":"connection_init","id":"x"}
		< {"type":"connection_ack"}
		> {"id":"1","type":"subscribe","payload":{"query":"query who","more":2},"more":3}
		< {"id":"1","type":"next","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}`},
	{"a second connection_init is 4429", begin + `
		> {"type":"connection_init"}
		x 4429`},
	{"a second connection_init at once is 4429", `
		> {"type":"connection_init","payload":{"authToken":"wrong"}}
		> {"type":"connection_init"}
		x 4403`},
	{"subscribe before connection_init is 4401", `
		> {"id":"1","type":"subscribe","payload":{"query":"query who"}}
		x 4401`},
	{"complete before connection_init ends nothing", `
		> {"id":"1","type":"complete"}
		> {"type":"connection_init"}
		< {"type":"connection_ack"}`},
	{"a query gives next and complete", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"query who"}}
		< {"id":"1","type":"next","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}`},
	{"a mutation gives next and complete", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"mutation set"}}
		< {"id":"1","type":"next","payload":{"data":{"set":true}}}
		< {"id":"1","type":"complete"}`},
	{"a source that ends completes", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"subscription ends"}}
		< {"id":"1","type":"next","payload":{"data":1}}
		< {"id":"1","type":"complete"}`},
	{"what cannot be parsed is an error without a complete", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"{"}}
		< {"id":"1","type":"error","payload":[{"message":"unexpected {","extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}
		> {"type":"ping"}
		< {"type":"pong"}`},
	{"a source that breaks is an error without a complete", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"subscription breaks"}}
		< {"id":"1","type":"error","payload":[{"message":"broken"}]}
		> {"type":"ping"}
		< {"type":"pong"}`},
	{"an id in use is 4409", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"subscription ticks"}}
		> {"id":"1","type":"subscribe","payload":{"query":"query who"}}
		x 4409`},
	{"an id is free after complete from the server", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"query who"}}
		< {"id":"1","type":"next","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}
		> {"id":"1","type":"subscribe","payload":{"query":"query who"}}
		< {"id":"1","type":"next","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}`},
	{"an id is free after an error", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"subscription breaks"}}
		< {"id":"1","type":"error","payload":[{"message":"broken"}]}
		> {"id":"1","type":"subscribe","payload":{"query":"query who"}}
		< {"id":"1","type":"next","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}`},
	{"an id is free after complete from the client, at once", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"subscription ticks"}}
		> {"id":"1","type":"complete"}
		> {"id":"1","type":"subscribe","payload":{"query":"subscription ends"}}
		< {"id":"1","type":"next","payload":{"data":1}}
		< {"id":"1","type":"complete"}`},
	{"after complete from the client nothing more comes", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"subscription ticks"}}
		! 1
		+
		< {"id":"1","type":"next","payload":{"data":1,"extensions":{"cursor":"1"},"filler":""}}
		> {"id":"1","type":"complete"}
		! 0
		+
		> {"type":"ping"}
		< {"type":"pong"}`},
	{"complete of an id that is not in use is passed over", begin + `
		> {"id":"none","type":"complete"}
		> {"id":"1","type":"subscribe","payload":{"query":"query who"}}
		< {"id":"1","type":"next","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}
		> {"id":"1","type":"complete"}
		> {"type":"ping"}
		< {"type":"pong"}`},
	{"an id is any text", begin + `
		> {"id":"\u0000 \"}]😀\ud83d\ude00\u2028","type":"subscribe","payload":{"query":"mutation set"}}
		< {"id":"\u0000 \"}]😀\ud83d\ude00\u2028","type":"next","payload":{"data":{"set":true}}}
		< {"id":"\u0000 \"}]😀\ud83d\ude00\u2028","type":"complete"}`},
	{"null is nothing", begin + `
		> {"id":"1","type":"subscribe","payload":{"query":"query who","variables":null,"operationName":null,"extensions":null}}
		< {"id":"1","type":"next","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}`},
	{"an unknown type is 4400", begin + `
		> {"type":"start","id":"1","payload":{"query":"query who"}}
		x 4400`},
	{"types are told apart by case", begin + `
		> {"type":"PING"}
		x 4400`},
}

// The rules of the older protocol, where they differ.
var legacyRules = []rule{
	{"connection_init is answered with connection_ack and ka", legacyBegin},
	{"operations may follow connection_init at once", `
		> {"type":"connection_init","payload":{}}
		> {"id":"1","type":"start","payload":{"query":"query who","variables":{},"operationName":null}}
		< {"type":"connection_ack"}
		< {"type":"ka"}
		< {"id":"1","type":"data","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}`},
	{"a source that ends completes", legacyBegin + `
		> {"id":"1","type":"start","payload":{"query":"subscription ends"}}
		< {"id":"1","type":"data","payload":{"data":1}}
		< {"id":"1","type":"complete"}`},
	{"stop is answered with complete, and nothing more comes", legacyBegin + `
		> {"id":"1","type":"start","payload":{"query":"subscription ticks"}}
		! 1
		+
		< {"id":"1","type":"data","payload":{"data":1,"extensions":{"cursor":"1"},"filler":""}}
		> {"id":"1","type":"stop"}
		< {"id":"1","type":"complete"}
		! 0
		+
		> {"id":"1","type":"stop"}
		> {"id":"2","type":"start","payload":{"query":"mutation set"}}
		< {"id":"2","type":"data","payload":{"data":{"set":true}}}
		< {"id":"2","type":"complete"}`},
	{"a start replaces its namesake", legacyBegin + `
		> {"id":"1","type":"start","payload":{"query":"subscription ticks"}}
		! 1
		> {"id":"1","type":"start","payload":{"query":"subscription ends"}}
		< {"id":"1","type":"data","payload":{"data":1}}
		< {"id":"1","type":"complete"}
		! 0`},
	{"an error is one object, without a complete", legacyBegin + `
		> {"id":"1","type":"start","payload":{"query":"{"}}
		< {"id":"1","type":"error","payload":{"message":"unexpected {","extensions":{"code":"GRAPHQL_PARSE_FAILED"}}}
		> {"id":"1","type":"start","payload":{"query":"subscription breaks"}}
		< {"id":"1","type":"error","payload":{"message":"broken"}}`},
	{"what is no message is a connection_error, and the connection goes on", legacyBegin + `
		> hello
		< {"type":"connection_error","payload":{"message":"the message is not a JSON object with a type"}}
		> {"type":"subscribe","id":"1","payload":{"query":"query who"}}
		< {"type":"connection_error","payload":{"message":"a client does not send messages of type \"subscribe\""}}
		> {"type":"start","payload":{"query":"query who"}}
		< {"type":"connection_error","payload":{"message":"start needs an id that is a string and not empty"}}
		> {"id":"1","type":"start","payload":{"query":"query who"}}
		< {"id":"1","type":"data","payload":{"data":{"who":""}}}
		< {"id":"1","type":"complete"}`},
	{"a start before connection_init is a connection_error and 4401", `
		> {"id":"1","type":"start","payload":{"query":"query who"}}
		< {"type":"connection_error","payload":{"message":"unauthorized: graphql-ws begins with connection_init"}}
		x 4401`},
	{"a second connection_init is a connection_error and 4429", legacyBegin + `
		> {"type":"connection_init"}
		< {"type":"connection_error","payload":{"message":"too many initialisation requests"}}
		x 4429`},
	{"connection_terminate closes", legacyBegin + `
		> {"type":"connection_terminate"}
		x 1000`},
}

const legacyBegin = begin + `
	< {"type":"ka"}`

func TestEveryRuleOfGraphqlTransportWs(t *testing.T) {
	t.Parallel()
	playAll(t, realtime.Subprotocol, rules)
}

func TestEveryRuleOfTheOlderGraphqlWs(t *testing.T) {
	t.Parallel()
	playAll(t, realtime.LegacySubprotocol, legacyRules)
}

func playAll(t *testing.T, subprotocol string, list []rule) {
	t.Helper()
	for _, r := range list {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, realtime.Options{})
			f.play(t, dialAs(t, f.url, []string{subprotocol}, nil), r.dialogue)
		})
	}
}

func (f fixture) play(t *testing.T, c *client, dialogue string) {
	t.Helper()
	for line := range strings.Lines(dialogue) {
		what, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what {
		case "":
		case ">":
			c.send(text)
		case "<":
			c.expect(text)
		case "x":
			code, _ := strconv.Atoi(text)
			c.expectClose(code)
		case "!":
			want, _ := strconv.Atoi(text)
			eventually(t, "there are "+text+" subscribers", func() bool { return f.engine.subscribers() == want })
		case "+":
			f.engine.emit("")
		default:
			t.Fatalf("what does %q mean?", line)
		}
	}
}

func TestTheNewerSubprotocolIsSpokenWhereTheClientKnowsIt(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	cases := []struct {
		offered []string
		spoken  string
	}{
		{[]string{realtime.Subprotocol}, realtime.Subprotocol},
		{[]string{realtime.LegacySubprotocol}, realtime.LegacySubprotocol},
		{[]string{realtime.LegacySubprotocol, realtime.Subprotocol}, realtime.Subprotocol},
		{[]string{"graphql-subscriptions", realtime.Subprotocol, realtime.LegacySubprotocol}, realtime.Subprotocol},
	}
	for _, c := range cases {
		ws := dialAs(t, f.url, c.offered, nil)
		if got := ws.ws.Subprotocol(); got != c.spoken {
			t.Errorf("of %q the service chose %q, want %q", c.offered, got, c.spoken)
		}
		ws.init("")
	}
}

func TestAnOldClientIsToldThatItsTokenIsWrong(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := dialAs(t, f.url, []string{realtime.LegacySubprotocol}, nil)
	c.send(`{"type":"connection_init","payload":{"authToken":"wrong"}}`)
	if data, err := c.read(); err != nil || object(t, data)["type"] != "connection_error" {
		t.Fatalf("got %s %v", data, err)
	}
	c.expectClose(4403)
}

func TestAnOldClientIsKeptAliveAndResumes(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{KeepAlive: 10 * time.Millisecond})
	for range 3 {
		f.engine.emit("")
	}
	c := dialAs(t, f.url, []string{realtime.LegacySubprotocol}, nil)
	c.send(`{"type":"connection_init","payload":{"resume":{"7":"2"}}}`)
	c.expect(`{"type":"connection_ack"}`)
	for range 3 {
		c.expect(`{"type":"ka"}`)
	}
	c.send(`{"id":"7","type":"start","payload":{"query":"subscription ticks"}}`)
	c.skip("ka", `{"id":"7","type":"data","payload":{"data":3,"extensions":{"cursor":"3"},"filler":""}}`)
	c.send(`{"id":"8","type":"start","payload":{"query":"subscription ticks","extensions":{"cursor":"2"}}}`)
	c.skip("ka", `{"id":"8","type":"data","payload":{"data":3,"extensions":{"cursor":"3"},"filler":""}}`)
}

func TestAnOldClientThatSaysNothingIsToldSo(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{InitTimeout: 20 * time.Millisecond})
	c := dialAs(t, f.url, []string{realtime.LegacySubprotocol}, nil)
	c.expect(`{"type":"connection_error","payload":{"message":"connection initialisation timeout"}}`)
	c.expectClose(4408)
}

// A client that completes and then gets the answer to a ping has seen the last
// of the operation, whatever was on its way meanwhile.
func TestNothingComesBehindACompleteThatWasTaken(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	over := map[string]bool{}
	for n := range 200 {
		id := strconv.Itoa(n)
		var emitting sync.WaitGroup
		emitting.Go(func() {
			for range 20 {
				f.engine.emit("")
			}
		})
		c.subscribe(id, "subscription ticks")
		c.send(`{"id":"` + id + `","type":"complete"}`)
		c.send(`{"type":"ping"}`)
		for {
			data, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			m := object(t, data)
			if m["type"] == "pong" {
				break
			}
			if name, _ := m["id"].(string); m["type"] != "next" || over[name] {
				t.Fatalf("behind the complete of %s came %s", id, data)
			}
		}
		over[id] = true
		emitting.Wait()
	}
	eventually(t, "nothing is left", func() bool { return f.engine.subscribers() == 0 && f.hub.Stats().Operations == 0 })
}
