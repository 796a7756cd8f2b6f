package realtime_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidings/realtime"
)

// successor is an engine that has what another one has logged.
func successor(e *scripted) *scripted {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := newScripted()
	next.log = append(next.log, e.log...)
	return next
}

func TestSubscriptionsGoOnAtAnotherEngineWithoutAGap(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.subscribe("1", "subscription ticks")
	c.subscribe("2", "subscription ticks")
	s := post(t, f.url, "subscription ticks", nil)
	eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == 3 })
	f.engine.emit("")
	old, next := f.engine, successor(f.engine)
	f.hub.Switch(next, func() {
		old.emit("") // nobody hears it from here
		next.emit("")
	})
	next.emit("")
	if old.subscribers() != 0 || next.subscribers() != 3 {
		t.Errorf("%d are left, %d have come", old.subscribers(), next.subscribers())
	}
	got := map[string][]string{}
	for range 6 {
		data, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		m := object(t, data)
		id := m["id"].(string)
		got[id] = append(got[id], fmt.Sprint(m["payload"].(map[string]any)["data"]))
	}
	for n := range 3 {
		s.expect("next", fmt.Sprint(n+1), tick(n+1, ""))
	}
	for _, id := range []string{"1", "2"} {
		if strings.Join(got[id], " ") != "1 2 3" {
			t.Errorf("operation %s got %v", id, got[id])
		}
	}
	c.send(`{"id":"1","type":"complete"}`)
	eventually(t, "one has left the new engine", func() bool { return next.subscribers() == 2 })
}

func TestASubscriptionThatTheNextEngineRefusesEndsAlone(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.subscribe("1", "subscription ticks")
	c.subscribe("2", "subscription ticks more")
	s := post(t, f.url, "subscription ticks more", nil)
	eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == 3 })
	next := newScripted()
	next.gone = "subscription ticks more"
	f.hub.Switch(next, func() {})
	const list = `[{"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"},"message":"The schema was reloaded, and this subscription did not go on: no such subscription"}]`
	c.expect(`{"id":"2","type":"error","payload":` + list + `}`)
	s.expect("next", "", `{"errors":`+list+`}`)
	s.expect("complete", "", "")
	next.emit("")
	c.expect(`{"id":"1","type":"next","payload":` + tick(1, "") + `}`)
	c.subscribe("2", "subscription ticks") // the name is free again
	eventually(t, "it is at the new engine", func() bool { return next.subscribers() == 2 })
}

func TestSwitchWaitsForAnswersOfTheOldEngine(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.subscribe("1", "mutation slow")
	<-f.engine.blocked
	switched := make(chan struct{})
	go func() { defer close(switched); f.hub.Switch(newScripted(), func() {}) }()
	c.subscribe("2", "query who") // either engine has the answer
	c.expect(`{"id":"2","type":"next","payload":{"data":{"who":""}}}`)
	c.expect(`{"id":"2","type":"complete"}`)
	select {
	case <-switched:
		t.Error("the old engine could have been closed before it had answered")
	default:
	}
	close(f.engine.release)
	c.expect(`{"id":"1","type":"next","payload":{"data":{"slow":true}}}`)
	<-switched
}

// Clients come and go while engines are replaced: nobody stays behind.
func TestNobodyStaysAtAnOldEngine(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	stop, ended := make(chan struct{}), make(chan error, 4)
	for range cap(ended) {
		go func() { ended <- comeAndGo(f.url, stop) }()
	}
	held := connect(t, f.url, "")
	for n := range 50 {
		held.subscribe(fmt.Sprint(n), "subscription ticks")
		old := f.engine
		f.engine = successor(old)
		f.hub.Switch(f.engine, func() {})
		if n := old.subscribers(); n > 0 {
			t.Fatalf("%d are left at the old engine", n)
		}
	}
	close(stop)
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	eventually(t, "all are at the last engine", func() bool { return f.engine.subscribers() == 50 })
}

// comeAndGo opens short streams until it is stopped.
func comeAndGo(url string, stop chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"query":"subscription ends"}`))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), "event: complete") {
			return fmt.Errorf("%s %q: %w", resp.Status, body, err)
		}
	}
}

func TestAPanicOfAnEngineDoesNotKeepItInService(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.subscribe("1", "subscription panics")
	if m, err := c.read(); err != nil || !strings.Contains(string(m), "internal error") {
		t.Fatal(string(m), err)
	}
	switched := make(chan struct{})
	go func() { defer close(switched); f.hub.Switch(newScripted(), func() {}) }()
	select {
	case <-switched:
	case <-time.After(20 * time.Second):
		t.Fatal("the old engine is waited for in vain")
	}
}

func TestASubscriptionThatWaitsForTheBusDelaysNoOther(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.subscribe("waits", "subscription waits")
	const others = 20
	for n := range others {
		c.subscribe(fmt.Sprint(n), "subscription ticks")
	}
	eventually(t, "all subscribe", func() bool { return f.engine.subscribers() == others+1 })
	next, switched := newScripted(), make(chan struct{})
	go func() { defer close(switched); f.hub.Switch(next, func() {}) }()
	<-next.blocked
	eventually(t, "the others go on", func() bool { return next.subscribers() == others })
	close(next.release)
	<-switched
}
