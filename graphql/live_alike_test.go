package graphql_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
)

// listen subscribes with variables.
func (s *service) listen(t testing.TB, who auth.Principal, query, vars string, b *inbox) {
	t.Helper()
	_, failed := s.engine.Subscribe(t.Context(), who, graphql.Request{Query: query, Variables: []byte(vars)}, "", b)
	if failed != nil {
		t.Fatalf("refused: %s", failed.Body)
	}
}

func TestWhoListensToOtherRecordsIsToldTheSameOfOneEvent(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	const listeners = 60
	boxes := make([]*inbox, listeners)
	for i := range boxes {
		boxes[i] = newInbox()
		s.listen(t, admin, `subscription ($f: TaskFilter) { taskChanged(filter: $f) { kind task { id rank } } }`,
			fmt.Sprintf(`{"f":{"rank":{"gt":%d}}}`, i), boxes[i])
	}
	id := idOf(t, s.task(t, resource.Create, `{"state":"a","rank":%d}`, listeners).Raw)
	s.task(t, resource.Update, `{"id":%q,"rank":%d}`, id, listeners/2) // half of them see it leave
	for i, b := range boxes {
		b.awaitCount(t, 2)
		kind := `"kind":"UPDATED"`
		if i >= listeners/2 {
			kind = `"kind":"LEFT"`
		}
		if !strings.Contains(string(b.payloads[0]), `"kind":"CREATED"`) || !strings.Contains(string(b.payloads[1]), kind) {
			t.Errorf("rank > %d was told %s, %s", i, b.payloads[0], b.payloads[1])
		}
	}
	shards := uint64(runtime.GOMAXPROCS(0))
	if got := s.engine.Stats(); got.Groups != listeners || got.Executions < 3 || got.Executions > 3*shards {
		t.Errorf("%+v, want 60 groups, and 3 executions in each of at most %d shards", got, shards)
	}
}

func TestWhatUsesVariablesFurtherDownIsExecutedApart(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"a directive":         `subscription ($f: TaskFilter, $x: Boolean!) { taskChanged(filter: $f) { kind task { id rank @include(if: $x) } } }`,
		"in a fragment":       `subscription ($f: TaskFilter, $x: Boolean!) { taskChanged(filter: $f) { ...p } } fragment p on TaskChange { kind task { rank @skip(if: $x) id } }`,
		"an inline fragment":  `subscription ($f: TaskFilter, $x: Boolean!) { taskChanged(filter: $f) { kind task { id ... @include(if: $x) { rank } } } }`,
		"a fragment's spread": `subscription ($f: TaskFilter, $x: Boolean!) { taskChanged(filter: $f) { kind task { id ...p @include(if: $x) } } } fragment p on Task { rank }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tasked(t, bustest.New(t), 0)
			yes, no := newInbox(), newInbox()
			s.listen(t, admin, query, `{"x":true}`, yes)
			s.listen(t, admin, query, `{"x":false}`, no)
			s.task(t, resource.Create, `{"state":"a","rank":1}`)
			yes.awaitCount(t, 1)
			no.awaitCount(t, 1)
			if strings.Contains(string(yes.payloads[0]), "rank") == strings.Contains(string(no.payloads[0]), "rank") {
				t.Errorf("both were told %s", yes.payloads[0])
			}
		})
	}
}

func TestOwnersAreToldApartWhateverTheyListenTo(t *testing.T) {
	t.Parallel()
	s := tasked(t, bustest.New(t), 0)
	const query = `subscription ($f: TaskFilter) { taskChanged(filter: $f) { kind task { id note } } }`
	own, boss, other := newInbox(), newInbox(), newInbox()
	s.listen(t, ada, query, `{"f":{"rank":{"gt":1}}}`, own)
	s.listen(t, admin, query, `{"f":{"rank":{"gt":2}}}`, boss)
	s.listen(t, ben, query, `{"f":{"rank":{"gt":3}}}`, other)
	s.task(t, resource.Create, `{"ownerId":"ada","state":"a","rank":9,"note":"secret"}`)
	s.task(t, resource.Create, `{"ownerId":"ben","state":"a","rank":9,"note":"of ben"}`)
	own.awaitCount(t, 1)
	boss.awaitCount(t, 2)
	other.awaitCount(t, 1)
	if strings.Contains(string(own.payloads[0]), "secret") || !strings.Contains(string(boss.payloads[0]), "secret") || strings.Contains(string(other.payloads[0]), "of ben") {
		t.Errorf("told %s, %s, %s", own.payloads[0], boss.payloads[0], other.payloads[0])
	}
}
