package resource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

var warehouse = fstest.MapFS{"s.graphql": {Data: []byte(`
type Item @resource @auth(requires: ANYONE) {
  id: ID!
  name: String! @unique
  code: Int @unique
  note: String
}
type Slip @resource @auth(requires: ANYONE, on: [READ, CREATE]) @auth(requires: OWNER, on: [UPDATE, DELETE]) {
  id: ID!
  by: ID @owner
  text: String!
}
type Page @resource @auth(requires: ANYONE) {
  id: ID!
  text: String!
}`)}}

func warehouseModel(t testing.TB) *schema.Model {
	t.Helper()
	m, err := schema.Load(warehouse)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func change(typ string, verb resource.Verb, format string, args ...any) resource.Change {
	return resource.Change{Type: typ, Verb: verb, Input: json.RawMessage(fmt.Sprintf(format, args...))}
}

func transact(t testing.TB, c *resource.Client, who auth.Principal, changes ...resource.Change) []resource.Record {
	t.Helper()
	records, err := c.Transact(t.Context(), resource.Transaction{Who: who, Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func idOf(t testing.TB, r resource.Record) string {
	t.Helper()
	var record struct{ ID string }
	if err := json.Unmarshal(r.Raw, &record); err != nil || record.ID == "" {
		t.Fatalf("%s has no id: %v", r.Raw, err)
	}
	return record.ID
}

func TestATransactionChangesRecordsOfAnyTypesTogether(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, warehouse)
	old := transact(t, s.Client, alice, change("Item", resource.Create, `{"name":"a"}`), change("Slip", resource.Create, `{"text":"s"}`))
	item, slip := idOf(t, old[0]), idOf(t, old[1])
	records := transact(t, s.Client, alice,
		change("Item", resource.Create, `{"name":"b","code":2}`),
		change("Item", resource.Update, `{"id":%q,"note":"n"}`, item),
		change("Slip", resource.Delete, `{"id":%q}`, slip))
	if len(records) != 3 || !contains(records[0].Raw, `"name":"b"`) || !contains(records[1].Raw, `"note":"n"`) || string(records[2].Raw) != string(old[1].Raw) {
		t.Errorf("answered %s, %s, %s", records[0].Raw, records[1].Raw, records[2].Raw)
	}
	if records[1].Seq != records[0].Seq+1 || records[2].Seq != records[1].Seq+1 || records[2].Seq != end(t, s.Bus) {
		t.Errorf("they stand at %d, %d and %d of %d", records[0].Seq, records[1].Seq, records[2].Seq, end(t, s.Bus))
	}
	for i, r := range records { // the sequences are those of the log
		m, err := s.Bus.At(t.Context(), r.Seq)
		if err != nil || m == nil || i < 2 && string(m.Data) != string(r.Raw) {
			t.Errorf("the log holds %+v at %d (%v)", m, r.Seq, err)
		}
	}
	found, err := s.Client.Get(t.Context(), alice, "Slip", []string{slip})
	if err != nil || found[0].Raw != nil {
		t.Errorf("the view has the deleted record: %s, %v", found[0].Raw, err)
	}
}

func TestATransactionThatCannotBeMadeChangesNothing(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, warehouse)
	records := transact(t, s.Client, alice, change("Item", resource.Create, `{"name":"taken"}`), change("Slip", resource.Create, `{"text":"s"}`))
	item, slip := idOf(t, records[0]), idOf(t, records[1])
	before := end(t, s.Bus)
	good := change("Item", resource.Create, `{"name":"good"}`)
	for name, c := range map[string]struct {
		who     auth.Principal
		changes []resource.Change
		index   int
		code    fault.Code
	}{
		"not allowed":         {bob, []resource.Change{good, change("Slip", resource.Update, `{"id":%q,"text":"x"}`, slip)}, 1, fault.Forbidden},
		"not there":           {alice, []resource.Change{change("Item", resource.Delete, `{"id":"nobody"}`), good}, 0, fault.NotFound},
		"a wrong value":       {alice, []resource.Change{good, good, change("Item", resource.Create, `{"name":7}`)}, 2, fault.BadUserInput},
		"an unknown field":    {alice, []resource.Change{good, change("Item", resource.Create, `{"name":"x","nome":"y"}`)}, 1, fault.BadUserInput},
		"an unknown type":     {alice, []resource.Change{good, change("Other", resource.Create, `{}`)}, 1, fault.BadUserInput},
		"an unknown verb":     {alice, []resource.Change{good, change("Item", "drop", `{"id":%q}`, item)}, 1, fault.BadUserInput},
		"a value that is had": {alice, []resource.Change{good, change("Item", resource.Create, `{"name":"taken"}`)}, 1, fault.Conflict},
		"one value twice":     {alice, []resource.Change{change("Item", resource.Create, `{"name":"x"}`), good, change("Item", resource.Create, `{"name":"x"}`)}, 2, fault.Conflict},
		"one record twice":    {alice, []resource.Change{change("Item", resource.Update, `{"id":%q,"note":"1"}`, item), change("Item", resource.Update, `{"id":%q,"note":"2"}`, item)}, 1, fault.BadUserInput},
	} {
		_, err := s.Client.Transact(t.Context(), resource.Transaction{Who: c.who, Changes: c.changes})
		if item, ok := errors.AsType[*resource.ItemError](err); !ok || item.Index != c.index || !fault.Is(err, c.code) {
			t.Errorf("%s: got %v, want %s on account of change %d", name, err, c.code, c.index)
		}
	}
	for name, c := range map[string]resource.Transaction{
		"empty":    {Who: alice},
		"a bad id": {Who: alice, Changes: []resource.Change{good}, ID: "a b"},
	} {
		if _, err := s.Client.Transact(t.Context(), c); !fault.Is(err, fault.BadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if end(t, s.Bus) != before {
		t.Errorf("the log went on from %d to %d", before, end(t, s.Bus))
	}
}

func TestATransactionMayTakeWhatItGivesBack(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, warehouse)
	records := transact(t, s.Client, alice, change("Item", resource.Create, `{"name":"a","code":1}`), change("Item", resource.Create, `{"name":"b","code":2}`))
	one, two := idOf(t, records[0]), idOf(t, records[1])
	transact(t, s.Client, alice, // exchanged
		change("Item", resource.Update, `{"id":%q,"name":"b","code":2}`, one),
		change("Item", resource.Update, `{"id":%q,"name":"a","code":1}`, two))
	transact(t, s.Client, alice, // taken over, before and after it is given back
		change("Item", resource.Create, `{"name":"b"}`),
		change("Item", resource.Delete, `{"id":%q}`, one),
		change("Item", resource.Create, `{"name":"c","code":2}`))
	for _, held := range []string{`{"name":"a"}`, `{"name":"b"}`, `{"name":"c"}`, `{"name":"x","code":1}`, `{"name":"x","code":2}`} {
		_, err := s.Client.Submit(t.Context(), resource.Command{Type: "Item", Verb: resource.Create, Who: alice, Input: json.RawMessage(held)})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v", held, err)
		}
	}
	transact(t, s.Client, alice, change("Item", resource.Delete, `{"id":%q}`, two))
	transact(t, s.Client, alice, change("Item", resource.Create, `{"name":"a","code":1}`))
}

func TestATransactionBeyondABatchIsRefused(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, warehouse)
	items := func(n int) (list []resource.Change) { // three messages each
		for i := range n {
			list = append(list, change("Item", resource.Create, `{"name":"i%d","code":%d}`, i, i))
		}
		return list
	}
	for _, n := range []int{334, 1001} {
		if _, err := s.Client.Transact(t.Context(), resource.Transaction{Who: alice, Changes: items(n)}); !fault.Is(err, fault.BadUserInput) || !strings.Contains(err.Error(), "at most 1000") {
			t.Errorf("%d changes: %v", n, err)
		}
	}
	if records := transact(t, s.Client, alice, items(333)...); len(records) != 333 {
		t.Errorf("%d records", len(records))
	}
	var makes, drops []resource.Change
	for range 10 {
		makes = append(makes, change("Page", resource.Create, `{"text":%q}`, strings.Repeat("x", 60_000)))
	}
	for range 2 {
		for _, page := range transact(t, s.Client, alice, makes...) {
			drops = append(drops, change("Page", resource.Delete, `{"id":%q}`, idOf(t, page)))
		}
	}
	before := end(t, s.Bus)
	_, err := s.Client.Transact(t.Context(), resource.Transaction{Who: alice, Changes: drops})
	if !fault.Is(err, fault.PayloadTooLarge) || end(t, s.Bus) != before {
		t.Errorf("an answer that the bus cannot carry: %v; the log went from %d to %d", err, before, end(t, s.Bus))
	}
}

// The process that is a worker too carries transactions out itself.
func TestATransactionHereIsAnsweredAsOverTheBus(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, warehouse)
	over := resource.NewClient(s.Bus, s.Model, s.View, s.Feed)
	w := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	defer running.Wait()
	defer cancel()
	<-w.Ready()
	s.Client.Use(w)
	for name, tx := range map[string]resource.Transaction{
		"empty":        {Who: alice},
		"a bad id":     {Who: alice, ID: "a b", Changes: []resource.Change{change("Item", resource.Create, `{"name":"n"}`)}},
		"no name":      {Who: alice, Changes: []resource.Change{change("Item", resource.Create, `{"name":"n"}`), change("Item", resource.Create, `{}`)}},
		"no such type": {Who: alice, Changes: []resource.Change{change("Other", resource.Create, `{}`)}},
	} {
		_, here := s.Client.Transact(t.Context(), tx)
		_, there := over.Transact(t.Context(), tx)
		if here == nil || there == nil || here.Error() != there.Error() || fault.Of(here).Code != fault.Of(there).Code || fault.Of(here).Field != fault.Of(there).Field {
			t.Errorf("%s: here %v, over the bus %v", name, here, there)
		}
	}
	transact(t, s.Client, alice, change("Item", resource.Create, `{"name":"here"}`))
	transact(t, over, alice, change("Item", resource.Create, `{"name":"there"}`))
}

// Of a worker that dies after the append the answer is lost; whoever is asked
// next finds it in the log.
func TestATransactionThatHappensOnceIsAnsweredTheSameAgain(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	one, two := resource.NewWorker(b, warehouseModel(t), resource.WorkerOptions{}), resource.NewWorker(b, warehouseModel(t), resource.WorkerOptions{})
	carry := func(w *resource.Worker, id string, since uint64, changes ...resource.Change) []resource.Record {
		t.Helper()
		records, err := w.CarryAll(t.Context(), resource.Transaction{Who: alice, ID: id, Changes: changes, Once: &resource.Once{Since: since}})
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	first, second := onceID(t, 0), onceID(t, 1)
	create := []resource.Change{change("Item", resource.Create, `{"name":"a"}`), change("Item", resource.Create, `{"name":"b"}`), change("Slip", resource.Create, `{"text":"s"}`)}
	created := carry(one, first, 0, create...)
	mixed := []resource.Change{
		change("Item", resource.Update, `{"id":%q,"name":"b"}`, idOf(t, created[0])),
		change("Item", resource.Delete, `{"id":%q}`, idOf(t, created[1])),
		change("Slip", resource.Update, `{"id":%q,"text":"S"}`, idOf(t, created[2])),
		change("Item", resource.Create, `{"name":"a"}`)}
	since := end(t, b)
	changed := carry(one, second, since, mixed...)
	carry(two, onceID(t, 2), end(t, b), change("Item", resource.Update, `{"id":%q,"name":"z"}`, idOf(t, created[0])))
	last := end(t, b)
	for i, again := range carry(two, first, 0, create...) {
		same(t, "create", created[i], again)
	}
	for i, again := range carry(two, second, since, mixed...) {
		same(t, "change", changed[i], again)
	}
	if end(t, b) != last {
		t.Errorf("the log went on from %d to %d", last, end(t, b))
	}
}

func TestOfManyWhoSendATransactionThatHappensOnceOneWrites(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	workers := []*resource.Worker{resource.NewWorker(b, warehouseModel(t), resource.WorkerOptions{}), resource.NewWorker(b, warehouseModel(t), resource.WorkerOptions{})}
	for round := range 10 {
		before := end(t, b)
		tx := resource.Transaction{Who: alice, ID: onceID(t, round), Once: &resource.Once{Since: before}, Changes: []resource.Change{
			change("Item", resource.Create, `{"name":"a%d"}`, round), change("Item", resource.Create, `{"name":"b%d"}`, round)}}
		var wg sync.WaitGroup
		answers := make([][]resource.Record, 6)
		for n := range answers {
			wg.Go(func() {
				var err error
				if answers[n], err = workers[n%2].CarryAll(t.Context(), tx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		for _, other := range answers[1:] {
			for i := range other {
				same(t, "create", answers[0][i], other[i])
			}
		}
		if now := end(t, b); now != before+4 {
			t.Fatalf("a transaction of four messages wrote %d", now-before)
		}
	}
}

func TestWhatTheLogNoLongerTellsOfATransactionIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{History: 2})
	w := resource.NewWorker(b, warehouseModel(t), resource.WorkerOptions{})
	carry := func(id string, since uint64, changes ...resource.Change) ([]resource.Record, error) {
		return w.CarryAll(t.Context(), resource.Transaction{Who: alice, ID: id, Changes: changes, Once: &resource.Once{Since: since}})
	}
	created, err := carry(onceID(t, 0), 0, change("Item", resource.Create, `{"name":"a"}`), change("Item", resource.Create, `{"name":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	a, z := idOf(t, created[0]), idOf(t, created[1])
	lost, since := onceID(t, 1), end(t, b)
	both := []resource.Change{change("Item", resource.Update, `{"id":%q,"note":"1"}`, a), change("Item", resource.Update, `{"id":%q,"note":"1"}`, z)}
	if _, err := carry(lost, since, both...); err != nil {
		t.Fatal(err)
	}
	touch := func(id string) {
		for i := range 3 {
			if _, err := carry(onceID(t, 10+i), end(t, b), change("Item", resource.Update, `{"id":%q,"note":"%d"}`, id, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch(z) // what is sent for the first time need not be told
	if _, err := w.CarryAll(t.Context(), resource.Transaction{Who: alice, ID: onceID(t, 30), Once: &resource.Once{First: true},
		Changes: []resource.Change{change("Item", resource.Update, `{"id":%q,"note":"first"}`, z)}}); err != nil {
		t.Error(err)
	}
	for _, id := range []string{a, z} { // of one it can be told that it happened, then of none
		touch(id)
		last := end(t, b)
		if _, err := carry(lost, since, both...); !fault.Is(err, fault.Conflict) || end(t, b) != last {
			t.Errorf("%v; the log went from %d to %d", err, last, end(t, b))
		}
	}
}

// A transaction whose acknowledgement is lost is neither carried out twice nor
// answered with an error.
func TestALostAcknowledgementOfATransactionIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	proxy := newCutter(t, server.URL(), "Nats-Batch-Commit: 1")
	b := bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true})
	w := resource.NewWorker(b, warehouseModel(t), resource.WorkerOptions{})
	carry := func(changes ...resource.Change) []resource.Record {
		t.Helper()
		records, err := w.CarryAll(t.Context(), resource.Transaction{Who: alice, ID: onceID(t, 0), Changes: changes})
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	proxy.cuts.Store(1)
	created := carry(change("Item", resource.Create, `{"name":"a"}`), change("Slip", resource.Create, `{"text":"s"}`))
	if last := end(t, server); last != 3 || created[1].Seq != 3 {
		t.Errorf("created up to %d of %d", created[1].Seq, last)
	}
	proxy.cuts.Store(1)
	changed := carry(change("Item", resource.Update, `{"id":%q,"name":"b"}`, idOf(t, created[0])), change("Slip", resource.Delete, `{"id":%q}`, idOf(t, created[1])))
	if last := end(t, server); last != 7 || !contains(changed[0].Raw, `"name":"b"`) || string(changed[1].Raw) != string(created[1].Raw) {
		t.Errorf("changed %s and %s up to %d", changed[0].Raw, changed[1].Raw, last)
	}
	if proxy.cuts.Load() != 0 {
		t.Error("no acknowledgement was lost")
	}
}

// Many who want the same names, in transactions and by themselves, through two
// workers: what was answered is in the log, whole; what was refused is not, in no
// part; and no name is had twice.
func TestTransactionsAreAllOrNothingUnderContention(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	one := resourcetest.On(t, b, warehouse, resource.FeedOptions{})
	two := resourcetest.On(t, b, warehouse, resource.FeedOptions{})
	const writers, rounds, names = 8, 25, 12
	var seeds []resource.Change
	for n := range names / 2 {
		seeds = append(seeds, change("Item", resource.Create, `{"name":"n%d"}`, n))
	}
	var known []string
	for _, r := range transact(t, one.Client, alice, seeds...) {
		known = append(known, idOf(t, r))
	}
	var mu sync.Mutex
	committed := map[string][]resource.Record{}
	var refused []string
	sizes := map[string]int{}
	var wg sync.WaitGroup
	for writer := range writers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(writer), 1))
			client := []*resource.Client{one.Client, two.Client}[writer%2]
			for round := range rounds {
				tx := resource.Transaction{Who: alice, ID: fmt.Sprintf("w%d-%d", writer, round)}
				for i := range 1 + random.IntN(4) {
					name := random.IntN(names)
					switch random.IntN(3) {
					case 0:
						tx.Changes = append(tx.Changes, change("Item", resource.Create, `{"name":"n%d"}`, name))
					case 1:
						tx.Changes = append(tx.Changes, change("Slip", resource.Create, `{"text":"%d"}`, i))
					default:
						mu.Lock()
						id := known[random.IntN(len(known))]
						mu.Unlock()
						tx.Changes = append(tx.Changes, change("Item", resource.Update, `{"id":%q,"name":"n%d"}`, id, name))
					}
				}
				records, err := client.Transact(t.Context(), tx)
				mu.Lock()
				sizes[tx.ID] = len(tx.Changes)
				switch {
				case err == nil:
					committed[tx.ID] = records
					if tx.Changes[0].Type == "Item" {
						known = append(known, idOf(t, records[0]))
					}
				case fault.Is(err, fault.Conflict), fault.Is(err, fault.BadUserInput): // one record twice
					refused = append(refused, tx.ID)
				default:
					t.Errorf("%s: %v", tx.ID, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	found, state := readLog(t, b)
	for id, records := range committed {
		for i, r := range records {
			if found[resource.CommandID(id, i)] != r.Seq {
				t.Errorf("%s: change %d was answered at %d and stands at %d", id, i, r.Seq, found[resource.CommandID(id, i)])
			}
		}
	}
	for _, id := range refused {
		for i := range sizes[id] {
			if seq := found[resource.CommandID(id, i)]; seq != 0 {
				t.Errorf("%s was refused, and its change %d stands at %d", id, i, seq)
			}
		}
	}
	holders := map[string]string{}
	for subject, name := range state {
		if other, twice := holders[name]; twice {
			t.Errorf("%s and %s are both called %s", other, subject, name)
		}
		holders[name] = subject
	}
	if len(committed) == 0 || len(refused) == 0 {
		t.Errorf("%d were committed and %d refused: nothing was tried", len(committed), len(refused))
	}
	t.Logf("%d committed, %d refused, %v", len(committed), len(refused), slices.Sorted(maps.Keys(holders)))
}

// readLog returns where each command's change stands, and the names of the items.
func readLog(t *testing.T, b *bus.Bus) (commands map[string]uint64, names map[string]string) {
	t.Helper()
	commands, names = map[string]uint64{}, map[string]string{}
	_, err := b.Read(t.Context(), b.Subjects().Log(), 0, end(t, b), func(m bus.Message) error {
		if id := m.Header.Get("Tidings-Command"); id != "" {
			if commands[id] != 0 {
				t.Errorf("%s stands at %d and at %d", id, commands[id], m.Seq)
			}
			commands[id] = m.Seq
		}
		if typ, id, ok := b.Subjects().ParseRecord(m.Subject); ok && typ == "Item" {
			var item struct{ Name string }
			if err := json.Unmarshal(m.Data, &item); err != nil {
				return err
			}
			names[id] = item.Name
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return commands, names
}
