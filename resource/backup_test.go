package resource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/view"
)

// backup is what `nats stream backup` keeps in backup.json and stream.tar.s2: the
// answer and the chunks of JetStream's snapshot API.
type backup struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
	chunks [][]byte
}

func ask(t *testing.T, nc *nats.Conn, subject string, request any, answer any) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := nc.Request(subject, body, 30*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	var failed struct{ Error *struct{ Description string } }
	if err := errors.Join(json.Unmarshal(resp.Data, &failed), json.Unmarshal(resp.Data, answer)); err != nil || failed.Error != nil {
		t.Fatalf("%s: %s, %v", subject, resp.Data, err)
	}
}

// backUp does what `nats stream backup <stream> <directory>` does.
func backUp(t *testing.T, nc *nats.Conn, stream string) backup {
	t.Helper()
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	var b backup
	ask(t, nc, "$JS.API.STREAM.SNAPSHOT."+stream, map[string]any{"deliver_subject": inbox, "no_consumers": true, "chunk_size": 64 << 10, "jsck": true}, &b)
	for {
		m, err := sub.NextMsg(30 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Data) == 0 {
			return b
		}
		b.chunks = append(b.chunks, m.Data)
		if m.Reply == "" {
			continue
		}
		if err := m.Respond(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// restore does what `nats stream restore <directory>` does.
func restore(t *testing.T, nc *nats.Conn, stream string, b backup) {
	t.Helper()
	var to struct {
		Subject string `json:"deliver_subject"`
	}
	ask(t, nc, "$JS.API.STREAM.RESTORE."+stream, b, &to)
	for _, chunk := range append(b.chunks, nil) {
		resp, err := nc.Request(to.Subject, chunk, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var failed struct{ Error *struct{ Description string } }
		if len(resp.Data) > 0 && (json.Unmarshal(resp.Data, &failed) != nil || failed.Error != nil) {
			t.Fatalf("%s", resp.Data)
		}
	}
}

// The drill of docs/operations.md, Backup and restore: a backup under load, the
// stream is lost, it is restored and gets a new identity, and everything starts
// again.
func TestABackupUnderLoadIsRestored(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Prefix: "other"})
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	open := func() *bus.Bus { return bustest.Open(t, bus.Options{URL: server.URL()}) }
	before := open()
	keys, err := before.Bucket(t.Context(), bus.BucketOptions{Name: "keys", Description: "Keys.", MaxValue: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Put(t.Context(), "k1", []byte("answer"), 0); err != nil {
		t.Fatal(err)
	}

	m, err := schema.Load(pads)
	if err != nil {
		t.Fatal(err)
	}
	feed, ended := following(t, before, m)
	w := resource.NewWorker(before, m, resource.WorkerOptions{})
	var mu sync.Mutex
	acked := map[string]string{} // codes, by id
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				code := fmt.Sprintf("%d-%d", n, i)
				r, err := w.Carry(ctx, resource.Command{Type: "Pad", Verb: resource.Create, Input: json.RawMessage(`{"name":"n","code":"` + code + `"}`), Who: auth.Principal{Subject: "root"}, ID: resource.NewCommandID()})
				if err != nil {
					continue
				}
				var v struct{ ID string }
				_ = json.Unmarshal(r.Raw, &v) // a record has one
				mu.Lock()
				acked[v.ID] = code
				mu.Unlock()
			}
		})
	}
	defer writers.Wait()
	defer stop()
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acked)
	}
	until(t, func() bool { return count() >= 200 })
	mu.Lock()
	kept := map[string]string{}
	for id, code := range acked {
		kept[id] = code
	}
	mu.Unlock()
	log := backUp(t, nc, "tidings-log") // the log first, then what refers to it
	bucket := backUp(t, nc, "KV_tidings-keys")
	enough := count() + 50
	until(t, func() bool { return count() >= enough })
	cursor := feed.Now()

	for _, stream := range []string{"tidings-log", "KV_tidings-keys"} {
		var gone struct{ Success bool }
		ask(t, nc, "$JS.API.STREAM.DELETE."+stream, struct{}{}, &gone)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, bus.ErrLogReplaced) {
			t.Errorf("a process that had the log open ended with %v", err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("a process does not notice that the log is gone")
	}
	stop()
	writers.Wait()

	restore(t, nc, "tidings-log", log)
	restore(t, nc, "KV_tidings-keys", bucket)
	tool := open()
	if tool.LogID() != before.LogID() {
		t.Log("this server gives a restored stream a time of its own")
	}
	if _, err := tool.NewIdentity(t.Context()); err != nil {
		t.Fatal(err)
	}

	s := resourcetest.On(t, open(), pads, resource.FeedOptions{})
	if s.Bus.LogID() == cursor.Log || s.Bus.LogID() == tool.LogID() {
		t.Error("cursors into what was lost are taken for those of the restored log")
	}
	for id, code := range kept {
		raws, err := s.View.Get(t.Context(), "Pad", []string{id})
		if err != nil || raws[0] == nil {
			t.Errorf("what was acknowledged before the backup is gone: %s, %v", id, err)
		}
		if code[len(code)-1] != '7' {
			continue
		}
		_, err = s.Client.Submit(t.Context(), resource.Command{Type: "Pad", Verb: resource.Create, Input: json.RawMessage(`{"code":"` + code + `"}`), Who: auth.Principal{Subject: "root"}})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("a unique value is taken twice: %s, %v", code, err)
		}
	}
	found, err := resource.CheckLog(t.Context(), s.Bus, s.Model, nil)
	if err != nil || found.Flaws() > found.OrphanCount || found.Records.Records < len(kept) {
		t.Errorf("%+v, %v", found, err)
	}
	// The server cuts where the log ends at a moment, be it within a batch: then the
	// values that its last records were to have are reserved, and they are not there.
	if _, err := resource.RepairLog(t.Context(), s.Bus, s.Model, found, nil); err != nil {
		t.Error(err)
	}
	if found, err := resource.CheckLog(t.Context(), s.Bus, s.Model, nil); err != nil || found.Flaws() > 0 {
		t.Errorf("repaired, it has %+v, %v", found, err)
	}
	again, err := s.Bus.Bucket(t.Context(), bus.BucketOptions{Name: "keys", Description: "Keys.", MaxValue: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if value, _, err := again.Get(t.Context(), "k1"); err != nil || string(value) != "answer" {
		t.Errorf("%s, %v", value, err)
	}
}

// until polls a condition.
func until(t *testing.T, done func() bool) {
	t.Helper()
	again, late := time.NewTicker(time.Millisecond), time.NewTimer(time.Minute)
	defer again.Stop()
	defer late.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-late.C:
			t.Fatal("it takes too long")
		}
	}
}

// following runs a feed and says with what error it ended.
func following(t *testing.T, b *bus.Bus, m *schema.Model) (*resource.Feed, chan error) {
	t.Helper()
	v, err := view.Open(t.Context(), m, b.LogID(), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, ended := resource.NewFeed(b, m, v, resource.FeedOptions{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { ended <- f.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		_ = v.Close()
	})
	return f, ended
}
