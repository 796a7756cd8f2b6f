//go:build conformance

package processes

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// count is what a load has come to.
type count struct {
	acked, lost, doubled  int // writes
	events, gaps, doubles int // in the log; missing or out of order, and twice, at subscribers
}

// audit compares what the writers and the subscribers of a load were told with
// the log, and the log with itself.
func (m *mixed) audit(t testing.TB) count {
	t.Helper()
	log := m.readToEnd(t)
	checkOrder(t, log)
	checkCommands(t, log)
	posts := after(eventsOf(t, log, "Post"), m.before())
	users := after(eventsOf(t, log, "User"), m.before())
	c := count{events: len(posts) + len(users)}
	c.add(m.posts.compare(t, posts))
	c.add(m.users.compare(t, users))
	c.add(m.onPosts.compare(t, posts))
	c.add(m.onUsers.compare(t, users))
	m.checkWhole(t, posts)
	m.registers.check(t, log)
	checkReservations(t, newest(log))
	for _, a := range m.apis {
		checkView(t, a, m.admin, func() map[string]stored { return newest(m.readStored(t, "tidings.log.>")) })
	}
	return c
}

// readToEnd reads the log with the last event that the subscribers were told of:
// a copy that has just come back may be behind, and not say so.
func (m *mixed) readToEnd(t testing.TB) (log []stored) {
	t.Helper()
	poll(t, patience, "the log has the last event of which the subscribers were told", func() error {
		log = m.readStored(t, "tidings.log.>")
		for _, typ := range []string{"Post", "User"} {
			if events := after(eventsOf(t, log, typ), m.before()); !slices.ContainsFunc(events, func(e event) bool { return e.Text == lastText }) {
				pause(t.Context(), time.Second)
				return fmt.Errorf("of the %d messages that were read the newest is %d, and there is no last event of a %s", len(log), log[len(log)-1].Seq, typ)
			}
		}
		return nil
	})
	return log
}

func (c *count) add(more count) {
	c.acked += more.acked
	c.lost += more.lost
	c.doubled += more.doubled
	c.gaps += more.gaps
	c.doubles += more.doubles
}

// after is what follows the event with the text.
func after(events []event, text string) []event {
	i := slices.IndexFunc(events, func(e event) bool { return e.Text == text })
	return events[i+1:]
}

// checkOrder: each message of a subject names the one before it.
func checkOrder(t testing.TB, log []stored) {
	t.Helper()
	last := map[string]uint64{}
	for _, m := range log {
		if m.Subject == "tidings.log._schema" || m.Subject == "tidings.log._checked" {
			continue // they expect nothing of themselves
		}
		if want := strconv.FormatUint(last[m.Subject], 10); m.After != want {
			t.Errorf("%s: message %d was decided on %s, and the one before it is %s", m.Subject, m.Seq, m.After, want)
		}
		last[m.Subject] = m.Seq
	}
}

// checkCommands: no command has changed a record twice.
func checkCommands(t testing.TB, log []stored) {
	t.Helper()
	seen := map[string]uint64{}
	for _, m := range log {
		if m.Command == "" {
			continue
		}
		if before := seen[m.Command]; before > 0 {
			t.Errorf("the command %s is in the log as %d and %d (%s)", m.Command, before, m.Seq, m.Subject)
		}
		seen[m.Command] = m.Seq
	}
}

// compare counts what was acknowledged and is not there once.
func (l *ledger) compare(t testing.TB, events []event) count {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := count{acked: len(l.acked)}
	times, ids := map[string]int{}, map[string]string{}
	for _, e := range events {
		times[e.Text]++
		ids[e.Text] = e.ID
	}
	for text, id := range l.acked {
		if times[text] == 0 || id != "" && ids[text] != id {
			c.lost++
			t.Errorf("acknowledged at %s for record %q, and it is there %d times (record %q): %s", l.at[text].Format(time.StampMilli), id, times[text], ids[text], text)
		}
	}
	for text := range l.attempts {
		if times[text] > 1 {
			c.doubled++
			t.Errorf("one attempt caused %d events: %s", times[text], text)
		}
	}
	return c
}

// compare counts what each subscriber was told otherwise than the log says.
func (a *audience) compare(t testing.TB, log []event) (c count) {
	t.Helper()
	for _, s := range a.all {
		seen, at := map[string]bool{}, 0
		for _, e := range s.events {
			if seen[e.Cursor] {
				c.doubles++
				t.Errorf("%s was told twice of %+v", s.name, e)
				continue
			}
			seen[e.Cursor] = true
			i := slices.IndexFunc(log[at:], func(l event) bool { return l.ID == e.ID && l.Kind == e.Kind && l.Text == e.Text })
			if i != 0 {
				c.gaps++
				t.Errorf("%s was told of %+v where the log has %+v", s.name, e, log[at:min(at+3, len(log))])
			}
			at = min(at+max(0, i)+1, len(log))
		}
		if at < len(log) && log[at].Text != lastText && (at == 0 || log[at-1].Text != lastText) {
			c.gaps++
			t.Errorf("%s was told of %d events of %d", s.name, at, len(log))
		}
	}
	return c
}

// checkWhole: a transaction is there or not, but never in part.
func (m *mixed) checkWhole(t testing.TB, posts []event) {
	t.Helper()
	there := map[string]bool{}
	for _, e := range posts {
		there[e.Text] = true
	}
	for _, name := range m.batches.whole {
		n := 0
		for i := range batchItems {
			if there[itemTitle(name, i)] {
				n++
			}
		}
		if n != 0 && n != batchItems {
			t.Errorf("of the transaction %s there are %d of %d", name, n, batchItems)
		}
	}
}

// newest is the last message of each subject.
func newest(log []stored) map[string]stored {
	state := map[string]stored{}
	for _, m := range log {
		state[m.Subject] = m
	}
	return state
}

// checkReservations: each address that a user has is reserved for that user, and no other is.
func checkReservations(t testing.TB, state map[string]stored) {
	t.Helper()
	const of = "tidings.log._unique.User.email."
	held := map[string]string{}
	for subject, m := range state {
		if !strings.HasPrefix(subject, "tidings.log.User.") || m.Kind == "DELETED" {
			continue
		}
		var u record
		if err := json.Unmarshal(m.Data, &u); err != nil {
			t.Fatal(err)
		}
		quoted, _ := json.Marshal(u.Email)
		sum := sha256.Sum256(quoted)
		hash := base64.RawURLEncoding.EncodeToString(sum[:])
		if other := held[hash]; other != "" {
			t.Errorf("%s and %s share %s", other, u.ID, u.Email)
		}
		held[hash] = u.ID
	}
	for subject, m := range state {
		hash, ok := strings.CutPrefix(subject, of)
		if !ok {
			continue
		}
		var r record
		if err := json.Unmarshal(m.Data, &r); err != nil {
			t.Fatal(err)
		}
		if r.ID != held[hash] {
			t.Errorf("%s is reserved for %q, and %q has it", subject, r.ID, held[hash])
		}
		delete(held, hash)
	}
	for hash, id := range held {
		t.Errorf("what %s has is not reserved: %s", id, hash)
	}
}

// What is stored of each type, and may be read by an administrator.
var storedFields = map[string]string{
	"posts": "id authorId title excerpt body kind tags minutes createdAt updatedAt",
	"users": "id name email adminNotes avatar createdAt",
}

// viewMetrics finds how far a view has come, and where the log ends.
var viewMetrics = regexp.MustCompile(`(?m)^tidings_(view|log_last|log_left)\S* .*`)

// checkView waits until an api lists exactly what the log says, which newest
// reads: what nobody was told of may still have come to it.
func checkView(t testing.TB, a *api, admin string, newest func() map[string]stored) {
	t.Helper()
	before := t.Failed()
	defer func() {
		if t.Failed() && !before {
			_, text := fetch(t, strings.Replace(a.ready, "/readyz", "/metrics", 1), "", "")
			t.Logf("%s tells of its view:\n%s", a.name, strings.Join(viewMetrics.FindAllString(text, -1), "\n"))
		}
	}()
	for kind, typ := range map[string]string{"posts": "Post", "users": "User"} {
		poll(t, 20*time.Second, fmt.Sprintf("%s shows the %s of the log", a.name, kind), func() error {
			want := records(t, newest(), typ)
			have, err := walk(t.Context(), a.url, admin, kind)
			if err != nil {
				return err
			}
			for id, text := range want {
				if have[id] != text {
					return fmt.Errorf("%s is %s, want %s", id, have[id], text)
				}
			}
			if len(have) != len(want) {
				return fmt.Errorf("there are %d, want %d", len(have), len(want))
			}
			return nil
		})
	}
}

// records are the records of a type, as JSON, by their ids.
func records(t testing.TB, state map[string]stored, typ string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for subject, m := range state {
		if !strings.HasPrefix(subject, "tidings.log."+typ+".") || m.Kind == "DELETED" {
			continue
		}
		var r map[string]any
		if err := json.Unmarshal(m.Data, &r); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(r)
		all[fmt.Sprint(r["id"])] = string(text)
	}
	return all
}

// walk reads every record of a kind as JSON, page by page.
func walk(ctx context.Context, base, token, kind string) (map[string]string, error) {
	all := map[string]string{}
	for after := any(nil); ; {
		data, err := post(ctx, base, token, call{
			Query:     `query ($after: String) { list: ` + kind + `(first: 100, after: $after) { nodes { ` + storedFields[kind] + ` } pageInfo { hasNextPage endCursor } } }`,
			Variables: map[string]any{"after": after},
		})
		if err != nil {
			return nil, err
		}
		var page struct {
			List struct {
				Nodes    []map[string]any
				PageInfo struct {
					HasNextPage bool
					EndCursor   string
				}
			}
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, err
		}
		for _, r := range page.List.Nodes {
			text, _ := json.Marshal(r)
			id := fmt.Sprint(r["id"])
			if all[id] != "" {
				return nil, fmt.Errorf("%s is in the list twice", id)
			}
			all[id] = string(text)
		}
		if !page.List.PageInfo.HasNextPage {
			return all, nil
		}
		after = page.List.PageInfo.EndCursor
	}
}
