package resource_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// All kinds of references, versions, unique values and a short history.
var storm = fstest.MapFS{"s.graphql": {Data: []byte(`
type Team @resource @auth(requires: ANYONE) { id: ID! text: String version: Int! @version }
type Member @resource @auth(requires: ANYONE) {
  id: ID! text: String version: Int! @version
  name: String @unique
  teamId: ID!
  team: Team @belongsTo(field: "teamId", onDelete: CASCADE)
}
type Badge @resource @auth(requires: ANYONE) {
  id: ID! text: String version: Int! @version
  memberId: ID
  member: Member @belongsTo(field: "memberId", onDelete: RESTRICT)
}
type Note @resource @auth(requires: ANYONE) {
  id: ID! text: String version: Int! @version
  memberId: ID
  member: Member @belongsTo(field: "memberId", onDelete: SET_NULL)
  aboutId: ID
  about: Member @belongsTo(field: "aboutId", onDelete: SET_NULL)
}
type Part @resource @auth(requires: ANYONE) {
  id: ID! text: String version: Int! @version
  name: String @unique
  ofId: ID
  of: Part @belongsTo(field: "ofId", onDelete: CASCADE)
}
type Profile @resource(history: 5) @auth(requires: ANYONE) {
  id: ID! @owner
  text: String version: Int! @version
  name: String @unique
  friendId: ID
  friend: Profile @belongsTo(field: "friendId", onDelete: SET_NULL)
}
type Handle @resource @auth(requires: ANYONE) { id: ID! text: String version: Int! @version name: String @unique }
type Account @resource @auth(requires: ANYONE) { id: ID! @owner text: String version: Int! @version name: String @unique }
`)}}

var (
	stormTypes = []string{"Team", "Member", "Badge", "Note", "Part", "Profile", "Handle", "Account"}
	stormRefs  = []rule{
		{"Member", "teamId", "Team", "CASCADE"}, {"Badge", "memberId", "Member", "RESTRICT"},
		{"Note", "memberId", "Member", "SET_NULL"}, {"Note", "aboutId", "Member", "SET_NULL"},
		{"Part", "ofId", "Part", "CASCADE"}, {"Profile", "friendId", "Profile", "SET_NULL"},
	}
)

// line is a proxy before a NATS server that can be cut, and held up. Some of what
// is sent is passed on and never answered.
type line struct {
	net.Listener
	server string
	held   sync.RWMutex // who holds it stops all that passes
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	wg     sync.WaitGroup
	losses atomic.Int64
}

func newLine(t *testing.T, serverURL string) *line {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &line{Listener: l, server: u.Host, conns: map[net.Conn]struct{}{}}
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *line) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	unheard := make(chan struct{}) // closed when what the server says reaches nobody any more
	both.Go(func() { p.answer(client, server, unheard) })
	both.Go(func() { p.ask(server, client, unheard) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// ask copies to the server. Now and then the client is gone right after something
// that is to be stored, and the server reads that, and its end, all the same.
func (p *line) ask(server, client net.Conn, unheard chan<- struct{}) {
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		p.held.RLock()
		lost := rand.IntN(40) == 0 && bytes.Contains(buf[:n], []byte("Tidings-Command"))
		if lost {
			p.losses.Add(1)
			close(unheard)
			_ = client.Close()
		}
		_, bad := server.Write(buf[:n])
		p.held.RUnlock()
		switch {
		case lost:
			_ = server.(*net.TCPConn).CloseWrite() // the server closes when it has read it
			return
		case err != nil, bad != nil:
			_ = server.Close()
			return
		}
	}
}

// answer copies to the client, while it is there.
func (p *line) answer(client, server net.Conn, unheard <-chan struct{}) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		p.held.RLock()
		_, bad := client.Write(buf[:n])
		p.held.RUnlock()
		if err != nil {
			return
		}
		select {
		case <-unheard:
			_, _ = io.Copy(io.Discard, server)
			return
		default:
		}
		if bad != nil {
			return
		}
	}
}

// lasts waits for as long as something takes, or until the end.
func lasts(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (p *line) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// attempted is a change that somebody asked for, by the text that it sets.
type attempted struct {
	done    bool // it was acknowledged
	expects float64
}

// weather is one run.
type weather struct {
	t       *testing.T
	server  *bus.Bus
	clients []*resource.Client
	lines   []*line
	until   time.Time

	mu    sync.Mutex
	ids   map[string][]string // of each type, the newest
	tried map[string]attempted
	codes map[string]int
	next  int
}

// over reports whether it is time to end, and everything has happened.
func (w *weather) over() bool {
	if time.Now().Before(w.until) || w.lost() == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.codes["ok"] > 0 && w.codes["tx ok"] > 0 && w.codes["load ok"] > 0
}

// lost is how many answers were lost.
func (w *weather) lost() (n int64) {
	for _, p := range w.lines {
		n += p.losses.Load()
	}
	return n
}

func (w *weather) some(typ string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if typ == "Profile" || typ == "Account" {
		return fmt.Sprintf("p%d", rand.IntN(6))
	}
	if len(w.ids[typ]) == 0 {
		return "nobody"
	}
	return w.ids[typ][rand.IntN(len(w.ids[typ]))]
}

func (w *weather) saw(typ, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.ids[typ], id) {
		w.ids[typ] = append(w.ids[typ], id)
	}
	if n := len(w.ids[typ]); n > 6 {
		w.ids[typ] = w.ids[typ][n-6:]
	}
}

func (w *weather) token() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	return fmt.Sprintf("t%d", w.next)
}

// wanted is one of five names that several ask for at a time.
func (w *weather) wanted() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("n%d", w.next/30*5+rand.IntN(5))
}

func (w *weather) note(token string, a attempted, code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.codes[code]++
	if token != "" {
		w.tried[token] = a
	}
}

// change makes one up.
func (w *weather) change() (c resource.Change, token string, expects float64) {
	c.Type = stormTypes[rand.IntN(len(stormTypes))]
	input := map[string]any{}
	switch n := rand.IntN(10); {
	case n < 2:
		c.Verb = resource.Delete
	case n < 6:
		c.Verb = resource.Update
	default:
		c.Verb = resource.Create
	}
	if c.Verb != resource.Create || c.Type == "Profile" || c.Type == "Account" {
		input["id"] = w.some(c.Type)
	}
	if c.Verb != resource.Create && rand.IntN(4) == 0 {
		expects = float64(1 + rand.IntN(4))
		input["expectedVersion"] = expects
	}
	if c.Verb != resource.Delete {
		token = w.token()
		input["text"] = token
		for _, ref := range stormRefs {
			if ref.from == c.Type && (c.Verb == resource.Create && ref.key == "teamId" || rand.IntN(2) == 0) {
				input[ref.key] = w.some(ref.to)
			}
		}
		if slices.Contains([]string{"Member", "Part", "Profile"}, c.Type) && rand.IntN(2) == 0 {
			input["name"] = fmt.Sprintf("n%d", rand.IntN(5))
		}
		if c.Type == "Handle" || c.Type == "Account" { // they also want what nobody has had yet
			input["name"] = w.wanted()
		}
	}
	c.Input, _ = json.Marshal(input)
	return c, token, expects
}

func (w *weather) client() *resource.Client { return w.clients[rand.IntN(len(w.clients))] }

// one sends a single command; some of them twice at once, as one that happens once.
func (w *weather) one(ctx context.Context) {
	c, token, expects := w.change()
	cmd := resource.Command{Type: c.Type, Verb: c.Verb, Input: c.Input, Who: admin}
	var r resource.Record
	var err error
	if rand.IntN(4) > 0 {
		r, err = w.client().Submit(ctx, cmd)
	} else {
		one, two := w.client(), w.client()
		cmd.ID = resource.NewCommandID()
		cmd.Once = &resource.Once{Since: one.Position().Seq, First: true}
		again := cmd
		again.Once = &resource.Once{Since: cmd.Once.Since}
		results := make(chan error, 1)
		go func() {
			lasts(ctx, time.Duration(rand.IntN(5))*time.Millisecond)
			_, err := two.Submit(ctx, again)
			results <- err
		}()
		r, err = one.Submit(ctx, cmd)
		if other := <-results; other == nil && err != nil {
			r, err = two.Submit(ctx, again) // it has happened, and tells so
			if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Timeout) && !fault.Is(err, fault.Unavailable) {
				w.t.Errorf("%s %s %s happened for one and not for the other: %v", c.Verb, c.Type, c.Input, err)
			}
		}
	}
	w.note(token, attempted{done: err == nil, expects: expects}, codeOf(err))
	if err == nil {
		w.saw(c.Type, idOf(w.t, r))
	}
}

// several sends a transaction.
func (w *weather) several(ctx context.Context) {
	t := resource.Transaction{Who: admin}
	var tokens []string
	var expects []float64
	add := func(c resource.Change, token string, e float64) {
		t.Changes, tokens, expects = append(t.Changes, c), append(tokens, token), append(expects, e)
	}
	if rand.IntN(2) == 0 {
		token, other := w.token(), w.token()
		add(resource.Change{Type: "Team", Verb: resource.Create, Input: fmt.Appendf(nil, `{"text":%q}`, token)}, token, 0)
		add(resource.Change{Type: "Member", Verb: resource.Create, Input: fmt.Appendf(nil, `{"text":%q,"name":"n%d"}`, other, rand.IntN(5)), Refs: map[string]int{"teamId": 0}}, other, 0)
	}
	for range 1 + rand.IntN(2) {
		add(w.change())
	}
	records, err := w.client().Transact(ctx, t)
	for i := range t.Changes {
		w.note(tokens[i], attempted{done: err == nil, expects: expects[i]}, "tx "+codeOf(err))
		if err == nil {
			w.saw(t.Changes[i].Type, idOf(w.t, records[i]))
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return string(fault.Of(err).Code)
}

// load imports profiles, over those that are there.
func (w *weather) load(ctx context.Context, l *resource.Loader, m *resourcetest.Service) {
	var items []resource.Loadable
	for i := range 3 {
		id, token := fmt.Sprintf("p%d", i+rand.IntN(2)*3), w.token()
		g := resource.Given{Type: "Profile", ID: id, Record: fmt.Appendf(nil, `{"id":%q,"text":%q,"version":%d,"name":"n%d"}`, id, token, 1+rand.IntN(9), rand.IntN(5))}
		item, _, err := resource.Fit(m.Model, g)
		if err != nil {
			w.t.Error(err)
			return
		}
		if !slices.ContainsFunc(items, func(o resource.Loadable) bool { return o.ID == id }) {
			items = append(items, item)
		}
	}
	_, err := l.Load(ctx, items)
	w.note("", attempted{}, "load "+codeOf(err))
}

// Workers whose connections are cut, held up and lose answers, and who end and
// come again, while others delete, erase and import.
func TestNothingIsLostOrDoneTwiceInAStorm(t *testing.T) {
	t.Parallel()
	long := 3 * time.Second
	if d, err := time.ParseDuration(os.Getenv("TIDINGS_TEST_STORM")); err == nil {
		long = d
	}
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	w := &weather{t: t, server: server, ids: map[string][]string{}, tried: map[string]attempted{}, codes: map[string]int{}}
	calm := resourcetest.Reader(t, server, storm, resource.FeedOptions{})
	var all []bus.Message
	collect := func() {
		after := uint64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Seq
		}
		if _, err := server.Read(context.Background(), server.Subjects().Log(), after, end(t, server), func(m bus.Message) error { all = append(all, m); return nil }); err != nil {
			t.Error(err)
		}
	}
	var writers, troubles sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	open := func() (*resourcetest.Service, *line) {
		p := newLine(t, server.URL())
		w.lines = append(w.lines, p)
		b := bustest.Open(t, bus.Options{URL: "nats://" + p.Addr().String(), Memory: true})
		return resourcetest.Reader(t, b, storm, resource.FeedOptions{}), p
	}
	var processes [3]*resourcetest.Service
	for i := range processes {
		processes[i], _ = open()
	}
	loading, _ := open()
	w.until = time.Now().Add(long)
	for i, s := range processes {
		p := w.lines[i]
		c := resource.NewClient(s.Bus, s.Model, s.View, s.Feed)
		c.Persist(&bus.Patience{For: 15 * time.Second})
		w.clients = append(w.clients, c)
		worker := func() *resource.Worker {
			return resource.ReserveAhead(resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{Reads: s.Client}))
		}
		if i == 0 { // a process that is both
			here := worker()
			resourcetest.Run(t, "worker", here.Run)
			c.Use(here)
		}
		troubles.Go(func() { // its worker ends and comes again
			for ctx.Err() == nil {
				running, end := context.WithTimeout(ctx, time.Duration(200+rand.IntN(2000))*time.Millisecond)
				if w.over() {
					running = ctx
				}
				err := worker().Run(running)
				end()
				if err != nil && ctx.Err() == nil {
					lasts(ctx, 10*time.Millisecond)
				}
			}
		})
		troubles.Go(func() {
			for !w.over() {
				lasts(ctx, time.Duration(1000+rand.IntN(7000))*time.Millisecond)
				if rand.IntN(3) > 0 {
					p.cut()
					continue
				}
				p.held.Lock()
				lasts(ctx, time.Duration(rand.IntN(600))*time.Millisecond)
				if long > 30*time.Second && rand.IntN(5) == 0 {
					lasts(ctx, 4*time.Second)
				}
				p.held.Unlock()
			}
		})
	}
	e, err := resource.OpenEraser(t.Context(), server, calm.Model, resource.EraserOptions{After: 300 * time.Millisecond, Every: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	troubles.Go(func() { _ = e.Run(ctx) })
	troubles.Go(func() {
		for ctx.Err() == nil {
			collect()
		}
	})
	writers.Go(func() {
		l := resource.NewLoader(loading.Bus, loading.Model, resource.LoadOptions{OnConflict: resource.ConflictReplace})
		for !w.over() {
			w.load(ctx, l, loading)
			lasts(ctx, 50*time.Millisecond)
		}
	})
	for range 16 {
		writers.Go(func() {
			for !w.over() {
				asking, cancel := context.WithTimeout(ctx, 25*time.Second)
				if rand.IntN(4) == 0 {
					w.several(asking)
				} else {
					w.one(asking)
				}
				cancel()
			}
		})
	}
	writers.Wait()
	stop()
	troubles.Wait()
	w.repair(calm.Model)
	collect()
	t.Logf("%d messages, %d lost answers, %v", len(all), w.lost(), w.codes)
	w.check(all)
}

// repair frees the values that were reserved ahead for records which never came.
func (w *weather) repair(m *schema.Model) {
	found, err := resource.CheckLog(context.Background(), w.server, m, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := resource.RepairLog(context.Background(), w.server, m, found, nil); err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("%d values reserved in vain", found.OrphanCount)
}

// check holds what was acknowledged against all that the log has ever held.
func (w *weather) check(all []bus.Message) {
	t, s := w.t, w.server.Subjects()
	type state map[string]any
	records, set := map[string]state{}, map[string]int{}
	holders := map[string]string{}
	for _, m := range all {
		if _, _, _, ok := s.ParseUnique(m.Subject); ok {
			var h struct{ ID string }
			_ = json.Unmarshal(m.Data, &h)
			holders[m.Subject] = h.ID
			continue
		}
		typ, id, ok := s.ParseRecord(m.Subject)
		if !ok {
			continue
		}
		var now state
		if err := json.Unmarshal(m.Data, &now); err != nil {
			t.Fatal(err)
		}
		before := records[typ+" "+id]
		if m.Header.Get("Tidings-Actor") == "worker" { // nothing was there, and so it stays
			if before != nil && before["gone"] != true {
				t.Errorf("%d: %s %s was put an end to", m.Seq, typ, id)
			}
			continue
		}
		version, _ := now["version"].(float64)
		had, _ := before["version"].(float64)
		if imported := m.Header.Get("Tidings-Actor") == "import"; version <= had || !imported && version != had+1 {
			t.Errorf("%d: %s %s goes from version %v to %v", m.Seq, typ, id, had, version)
		}
		deleted := m.Header.Get("Tidings-Kind") == "DELETED"
		now["gone"] = deleted
		if text, _ := now["text"].(string); text != "" && text != before["text"] {
			set[text]++
			if a := w.tried[text]; a.expects > 0 && version != a.expects+1 {
				t.Errorf("%d: %s %s has version %v, and was to be changed at %v", m.Seq, typ, id, version, a.expects)
			}
		}
		records[typ+" "+id] = now
	}
	for token, a := range w.tried {
		if n := set[token]; n > 1 || a.done && n != 1 {
			t.Errorf("%s, acknowledged %t, was done %d times", token, a.done, n)
		}
	}
	taken, named := map[string]string{}, map[string]bool{}
	for name, now := range records {
		typ, id, _ := strings.Cut(name, " ")
		if now["gone"] == true {
			continue
		}
		for _, ref := range stormRefs {
			to, _ := now[ref.key].(string)
			if target := records[ref.to+" "+to]; ref.from == typ && to != "" && (target == nil || target["gone"] == true) {
				t.Errorf("%s %s.%s refers to %q, which is not there", typ, id, ref.key, to)
			}
		}
		if value, _ := now["name"].(string); value != "" {
			if other := taken[typ+value]; other != "" {
				t.Errorf("%s %s and %s have the name %s", typ, id, other, value)
			}
			taken[typ+value], named[name] = id, true
		}
	}
	for subject, id := range holders {
		typ, _, _, _ := s.ParseUnique(subject)
		if id != "" && !named[typ+" "+id] {
			t.Errorf("%s is held by %s, which has no such value", subject, id)
		}
	}
	held := 0
	for _, id := range holders {
		if id != "" {
			held++
		}
	}
	if held != len(taken) {
		t.Errorf("%d values are held, %d records have one", held, len(taken))
	}
}
