package resource_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// cutter is a proxy before a NATS server. It passes everything on, but cuts the
// connection right after a client sent the bytes that it waits for: the server
// does the work, and the client never learns of it.
type cutter struct {
	net.Listener
	server string
	after  []byte
	cuts   atomic.Int32
	// meanwhile, if not nil, happens before the client can connect again.
	meanwhile func()
	cutting   sync.RWMutex
	wg        sync.WaitGroup
}

func newCutter(t *testing.T, serverURL, after string) *cutter {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, server: u.Host, after: []byte(after)}
	c.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.pipe(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) pipe(client net.Conn) {
	defer client.Close()
	c.cutting.RLock()
	server, err := net.Dial("tcp", c.server)
	c.cutting.RUnlock()
	if err != nil {
		return
	}
	defer server.Close()
	c.wg.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		cut := c.cuts.Load() > 0 && bytes.Contains(buf[:n], c.after) && c.cuts.Add(-1) >= 0
		if cut {
			c.cutting.Lock()
			_ = client.Close() // before the server can answer
		}
		_, err = server.Write(buf[:n])
		if cut {
			if c.meanwhile != nil {
				c.meanwhile()
			}
			c.cutting.Unlock()
			// The server has the bytes once it has answered a ping of ours.
			_, _ = server.Write([]byte("PING\r\n"))
			_, _ = server.Read(make([]byte, 1))
			return
		}
		if err != nil {
			return
		}
	}
}

// A command whose acknowledgement is lost is neither carried out twice nor
// answered with an error: the worker finds it in the log.
func TestALostAcknowledgementIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	proxy := newCutter(t, server.URL(), "Tidings-Command: cut-")
	b := bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true})
	w := resource.NewWorker(b, social(t), resource.WorkerOptions{})
	carry := func(id string, verb resource.Verb, input string) resource.Record {
		t.Helper()
		r, err := w.Carry(t.Context(), resource.Command{Type: "Post", Verb: verb, Who: alice, ID: id, Input: json.RawMessage(input)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	created := carry("whole", resource.Create, `{"title":"T"}`)
	var post struct{ ID string }
	if err := json.Unmarshal(created.Raw, &post); err != nil {
		t.Fatal(err)
	}
	proxy.cuts.Store(1)
	updated := carry("cut-update", resource.Update, `{"id":"`+post.ID+`","title":"U"}`)
	if !contains(updated.Raw, `"title":"U"`) || updated.Seq != created.Seq+1 {
		t.Errorf("updated %s at %d", updated.Raw, updated.Seq)
	}
	proxy.cuts.Store(1)
	deleted := carry("cut-delete", resource.Delete, `{"id":"`+post.ID+`"}`)
	if string(deleted.Raw) != string(updated.Raw) {
		t.Errorf("a delete answers %s", deleted.Raw)
	}
	if _, last, err := server.State(t.Context()); err != nil || last != created.Seq+2 {
		t.Errorf("the log ends at %d, want %d (%v)", last, created.Seq+2, err)
	}
	if proxy.cuts.Load() != 0 {
		t.Error("no acknowledgement was lost")
	}
}

// What the log has trimmed since may have been the change: it is not made again.
func TestALostAcknowledgementThatTheLogNoLongerKeepsIsNoReasonToChangeTwice(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{Listen: "127.0.0.1:0", History: 2}), club, resource.FeedOptions{})
	proxy := newCutter(t, s.Bus.URL(), "Tidings-Command: cut-")
	w := resource.NewWorker(bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true, History: 2}), s.Model, resource.WorkerOptions{})
	team := made(t, s, "Team", `{"name":"first"}`)
	proxy.meanwhile = func() {
		for now(t, s.Bus, "Team", team)["name"] != "mine" && t.Context().Err() == nil {
			runtime.Gosched() // until the server has stored it
		}
		for i := range 3 {
			if err := try(t, s, "Team", resource.Update, `{"id":%q,"name":"later %d"}`, team, i); err != nil {
				t.Error(err)
			}
		}
	}
	proxy.cuts.Store(1)
	_, err := w.Carry(t.Context(), resource.Command{Type: "Team", Verb: resource.Update, Who: admin, ID: "cut-update", Input: fmt.Appendf(nil, `{"id":%q,"name":"mine"}`, team)})
	if name := now(t, s.Bus, "Team", team)["name"]; !fault.Is(err, fault.Conflict) || name != "later 2" {
		t.Errorf("%v; the name is %v", err, name)
	}
}

// A process that starts while a bucket has no leader does not give up.
func TestABucketIsOpenedAlthoughAQuestionIsLost(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	proxy := newCutter(t, server.URL(), "$JS.API.STREAM.INFO.KV_")
	b := bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true})
	proxy.cuts.Store(1)
	if _, err := b.Bucket(t.Context(), bus.BucketOptions{Name: "lost"}); err != nil || proxy.cuts.Load() > 0 {
		t.Errorf("%v, with %d cuts to come", err, proxy.cuts.Load())
	}
}

func TestAnObjectStoreAndAQueueAreOpenedAlthoughAQuestionIsLost(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	for question, open := range map[string]func(b *bus.Bus) error{
		"$JS.API.STREAM.INFO.OBJ_": func(b *bus.Bus) error {
			return b.Objects(bus.ObjectsOptions{Name: "lost"}).Write(t.Context(), "o", nil, strings.NewReader("x"))
		},
		"$JS.API.CONSUMER.INFO.": func(b *bus.Bus) error {
			_, err := b.Queue(t.Context(), bus.QueueOptions{Name: "lost"})
			return err
		},
	} {
		if err := server.Objects(bus.ObjectsOptions{Name: "lost"}).Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		proxy := newCutter(t, server.URL(), question)
		b := bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true})
		proxy.cuts.Store(1)
		if err := open(b); err != nil || proxy.cuts.Load() > 0 {
			t.Errorf("%s: %v, with %d cuts to come", question, err, proxy.cuts.Load())
		}
	}
}

// A question to the log that is lost with a connection is asked again, while the
// command has time.
func TestALostQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"}), club, resource.FeedOptions{})
	proxy := newCutter(t, s.Bus.URL(), "$JS.API.DIRECT.GET.")
	w := resource.NewWorker(bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true}), s.Model, resource.WorkerOptions{})
	team := made(t, s, "Team", `{"name":"first"}`)
	proxy.cuts.Store(1)
	_, err := w.Carry(t.Context(), resource.Command{Type: "Team", Verb: resource.Update, Who: admin, ID: "lost", Input: fmt.Appendf(nil, `{"id":%q,"name":"second"}`, team)})
	if err != nil || proxy.cuts.Load() > 0 {
		t.Errorf("%v, with %d cuts to come", err, proxy.cuts.Load())
	}
}
