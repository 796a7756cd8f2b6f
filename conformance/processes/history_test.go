//go:build conformance

package processes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The writes of a record are linearizable: each happens at one moment between
// its call and its answer, whichever workers carry them out, and a refusal says
// how the record was at such a moment. An answer that did not come says that it
// happened at some moment after the call, or never. A read with the position of
// an own write sees that write, or a later one.

// registers are records that several clients change at once, and what they were told.
type registers struct {
	apis  []*api
	admin string
	names []string // the records' ids

	mu    sync.Mutex
	ops   map[string][]porcupine.Operation // by record
	reads []positioned
	began time.Time
}

// demand is what is asked of a record.
type demand struct {
	verb string // create, update, delete, or look: an update of nothing
	name string
}

// answer is what was answered: the name is that of the record, after a change or before a deletion.
type answer struct {
	end  string // ok, exists, absent, nothing, unknown
	name string
}

// positioned is a read after an own write.
type positioned struct {
	id         string
	wrote, saw string // names; empty: deleted
}

// along is one record by itself, whose changes come in the order of the log: its
// state is how many of them there were.
func along(chain []string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			at, in, out := state.(int), input.(demand), output.(answer)
			was, becomes := chain[at], in.name
			if in.verb == "delete" {
				becomes = ""
			}
			changes := (was != "") == (in.verb != "create") && at+1 < len(chain) && chain[at+1] == becomes
			switch {
			case out.end == "nothing":
				return true, at
			case out.end == "exists":
				return was != "", at
			case out.end == "absent":
				return was == "", at
			case in.verb == "look":
				return was != "" && out.name == was, at
			case in.verb == "delete" && out.end == "ok":
				return changes && out.name == was, at + 1
			}
			return changes && (out.end == "unknown" || out.name == in.name), at + 1
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// chainOf is what a record was called, from before its first change on; empty:
// there was none. To delete what is not there changes nothing.
func chainOf(names []string) []string { return slices.Compact(slices.Concat([]string{""}, names)) }

func newRegisters(apis []*api, admin, name string, many int) *registers {
	r := &registers{apis: apis, admin: admin, ops: map[string][]porcupine.Operation{}, began: time.Now()}
	for i := range many {
		r.names = append(r.names, fmt.Sprintf("%s-register%d", name, i))
	}
	return r
}

// client asks one thing after the other.
func (r *registers) client(number int) func(context.Context) error {
	random, n := rand.New(rand.NewPCG(uint64(r.began.UnixNano()), uint64(number))), 0
	return every(120*time.Millisecond, func(context.Context) error {
		n++
		id := r.names[random.IntN(len(r.names))]
		a := demand{verb: []string{"create", "create", "update", "update", "update", "look", "look", "delete"}[random.IntN(8)], name: fmt.Sprintf("%d.%d", number, n)}
		via := random.IntN(len(r.apis))
		position, err := r.ask(id, a, r.apis[via])
		if err == nil && position != "" && a.verb != "delete" { // of deletions there may be several: the log does not tell which
			err = r.read(id, a, position, r.apis[(via+1)%len(r.apis)])
		}
		return err
	})
}

var registerMutations = map[string]string{
	"create": createUser("", "").Query,
	"update": `mutation ($input: UpdateUserInput!) { done: updateUser(input: $input) { id name } }`,
	"look":   `mutation ($input: UpdateUserInput!) { done: updateUser(input: $input) { id name } }`,
	"delete": `mutation ($input: DeleteUserInput!) { done: deleteUser(input: $input) { id name } }`,
}

// ask asks, and notes what was answered. The error is of an answer that nobody should get.
func (r *registers) ask(id string, a demand, via *api) (position string, err error) {
	input := map[string]any{"id": id}
	if a.verb == "create" || a.verb == "update" {
		input["name"] = a.name
	}
	if a.verb == "create" {
		input["email"] = id + "@example.org"
	}
	began := time.Since(r.began)
	got, err := postAll(context.Background(), via.url, r.admin, call{
		Query: registerMutations[a.verb], Variables: map[string]any{"input": input}, Extensions: map[string]any{"position": true},
	})
	ended := time.Since(r.began)
	out := answer{end: "unknown"}
	if err == nil {
		if out, err = readAnswer(got); err != nil {
			return "", fmt.Errorf("%s of %s: %w", a.verb, id, err)
		}
	}
	op := porcupine.Operation{Input: a, Output: out, Call: int64(began), Return: int64(ended)}
	if out.end == "unknown" {
		op.Return = math.MaxInt64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops[id] = append(r.ops[id], op)
	if out.end != "ok" || a.verb == "look" {
		return "", nil
	}
	return got.Extensions.Position, nil
}

func readAnswer(got result) (answer, error) {
	err := got.err()
	refused, _ := errors.AsType[graphQLError](err)
	switch {
	case err == nil:
		var data struct{ Done record }
		if err := json.Unmarshal(got.Data, &data); err != nil {
			return answer{}, err
		}
		return answer{"ok", data.Done.Name}, nil
	case refused.Extensions.Code == "NOT_FOUND":
		return answer{end: "absent"}, nil
	case refused.Extensions.Code == "CONFLICT" && strings.Contains(refused.Message, "exists"):
		return answer{end: "exists"}, nil
	case refused.Extensions.Code == "CONFLICT" && strings.Contains(refused.Message, "too many at once"):
		return answer{end: "nothing"}, nil
	case passing(refused):
		return answer{end: "unknown"}, nil
	}
	return answer{}, err
}

// read reads with a position, elsewhere than where the write went.
func (r *registers) read(id string, a demand, position string, via *api) error {
	got, err := postAll(context.Background(), via.url, r.admin, call{
		Query: `query ($id: ID!) { user(id: $id) { name } }`, Variables: map[string]any{"id": id}, Extensions: map[string]any{"position": position},
	})
	if err != nil {
		return nil // there was no answer
	}
	if refused, ok := errors.AsType[graphQLError](got.err()); ok && refused.Extensions.Code != "NOT_FOUND" {
		if passing(refused) {
			return nil
		}
		return fmt.Errorf("read %s at %s: %w", id, position, refused)
	}
	var data struct{ User *record }
	if err := json.Unmarshal(got.Data, &data); err != nil {
		return err
	}
	p := positioned{id: id, wrote: a.name}
	if data.User != nil {
		p.saw = data.User.Name
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, p)
	return nil
}

// check asks whether there is an order of the writes that explains all answers, and
// whether each read saw what it had to, by the order in the log.
func (r *registers) check(t testing.TB, log []stored) {
	t.Helper()
	names := map[string][]string{} // of each record, as they follow one another; empty: deleted
	for _, e := range eventsOf(t, log, "User") {
		name := e.Text
		if e.Kind == "DELETED" {
			name = ""
		}
		names[e.ID] = append(names[e.ID], name)
	}
	all := 0
	for id, ops := range r.ops {
		all += len(ops)
		chain := chainOf(names[id])
		ops = settled(ops, chain)
		switch porcupine.CheckOperationsTimeout(along(chain), ops, time.Minute) {
		case porcupine.Unknown:
			t.Errorf("whether the %d writes of %s are linearizable takes too long to find out", len(ops), id)
		case porcupine.Illegal:
			var text strings.Builder
			for _, op := range ops {
				fmt.Fprintf(&text, "%12s %12s %+v -> %+v\n", time.Duration(op.Call), time.Duration(op.Return), op.Input, op.Output)
			}
			t.Errorf("the writes of %s are not linearizable; in the log it is %q:\n%s", id, names[id], text.String())
		}
	}
	for _, p := range r.reads {
		wrote := slices.Index(names[p.id], p.wrote)
		if wrote < 0 || !slices.Contains(names[p.id][wrote:], p.saw) {
			t.Errorf("who wrote %q to %s read %q with the position of that: %q", p.wrote, p.id, p.saw, names[p.id])
		}
	}
	t.Logf("%d writes of %d records were checked, %d reads saw what was written", all, len(r.ops), len(r.reads))
}

// settled leaves out the writes that nobody answered and that the log, which has
// all changes, does not have: each that may be anywhere or nowhere would double
// the work of the search. Of deletions the log does not tell which they are: those
// that were asked for first explain as much as any others.
func settled(ops []porcupine.Operation, chain []string) (list []porcupine.Operation) {
	deletions := -1 // that nobody was told of; the chain begins with no record
	for _, name := range chain {
		if name == "" {
			deletions++
		}
	}
	for _, op := range ops {
		if op.Input.(demand).verb == "delete" && op.Output.(answer).end == "ok" {
			deletions--
		}
	}
	for _, op := range slices.SortedFunc(slices.Values(ops), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) }) {
		in := op.Input.(demand)
		switch {
		case op.Output.(answer).end != "unknown":
		case in.verb == "look":
			continue // it changes nothing that is told here
		case in.verb != "delete":
			if !slices.Contains(chain, in.name) {
				continue
			}
		case deletions <= 0:
			continue
		default:
			deletions--
		}
		list = append(list, op)
	}
	return list
}
