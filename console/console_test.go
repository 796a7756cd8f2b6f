package console_test

import (
	"fmt"
	"slices"
	"testing"

	"tidings/schema"
)

const overviewQuery = `subscription($after: DateTime) { overview(after: $after) {
  at here
  processes { id host role version started silent ready draining sockets streams operations groups deliveries executions requests opened latency { median high observed } queue queueLargest slowCloses refused resumed notResumed busConnected breakersOpen }
  log { leader last } latency { median high observed }
  groups { field name document variables roles subject members processes }
  changes { sequence at kind type id bytes }
} }`

type overview struct {
	Overview struct {
		At, Here  string
		Processes []struct {
			ID, Host, Role                                              string
			Ready                                                       bool
			Sockets, Operations, Groups, Deliveries, Executions, Opened float64
			Requests                                                    *float64
		}
		Latency *struct{ Median, High, Observed float64 }
		Groups  []struct {
			Field, Document, Variables, Subject string
			Roles                               []string
			Members, Processes                  int
		}
		Changes []struct {
			Sequence float64
			Kind     string
			Type     string
			ID       string
		}
	}
}

const operationsQuery = `subscription($process: ID, $search: String! = "", $order: OperationOrder! = DELIVERED, $first: Int! = 50) {
  operations(process: $process, search: $search, orderBy: $order, first: $first) { at total
    nodes { process connection id transport client subject roles expires name document variables begun delivered queue sequence } } }`

type operations struct {
	Operations struct {
		Total int
		Nodes []struct {
			Process, Connection, ID, Transport, Subject, Document, Variables, Name string
			Roles                                                                  []string
			Delivered                                                              float64
			Sequence                                                               *float64
		}
	}
}

const posts, users = `subscription Posts { postChanged { kind post { id title } } }`, `subscription Users($id: ID) { userChanged(id: $id) { kind user { id } } }`

// Sockets, operations and groups are what clients have opened, in all processes
// together, and what is delivered is counted where it happens.
func TestTheFiguresAgreeWithWhatWasDone(t *testing.T) {
	t.Parallel()
	p := pods(t, 2)
	for i, sockets := range []int{3, 2} {
		for n := range sockets {
			c := connect(t, p[i].public, token(t, fmt.Sprint("reader-", n), schema.User))
			c.subscribe("a", posts, nil)
			c.subscribe("b", users, map[string]any{"id": fmt.Sprint("u", n)})
			go func() { // reads what comes
				for {
					if _, _, err := c.ws.ReadMessage(); err != nil {
						return
					}
				}
			}()
		}
	}
	operator := connect(t, p[0].admin+"/console/graphql", token(t, "root", schema.Admin))
	operator.subscribe("1", overviewQuery, nil)
	seen := until(operator, func(o overview) bool {
		sockets, ops, groups := 0., 0., 0.
		for _, p := range o.Overview.Processes {
			sockets, ops, groups = sockets+p.Sockets, ops+p.Operations, groups+p.Groups
		}
		return len(o.Overview.Processes) == 2 && sockets == 5 && ops == 10 && groups == 4+3
	})
	largest := seen.Overview.Groups[0]
	if largest.Field != "postChanged" || largest.Members != 5 || largest.Processes != 2 {
		t.Errorf("the largest group is %+v", largest)
	}
	p[0].write(t, 4)
	delivered, executed := false, false
	seen = until(operator, func(o overview) bool {
		for _, p := range o.Overview.Processes {
			delivered = delivered || p.Deliveries > 0
			executed = executed || p.Executions > 0
		}
		return delivered && executed && len(o.Overview.Changes) == 4
	})
	if c := seen.Overview.Changes; c[0].Type != "Post" || c[0].Kind != "CREATED" || !slices.IsSortedFunc(c, func(a, b struct {
		Sequence float64
		Kind     string
		Type     string
		ID       string
	}) int {
		return int(b.Sequence - a.Sequence)
	}) {
		t.Errorf("the changes are %+v", c)
	}
	operator.subscribe("1b", operationsQuery, map[string]any{"search": "postchanged"})
	got := untilOf(operator, "1b", func(o operations) bool { return o.Operations.Total == 5 && o.Operations.Nodes[0].Delivered == 4 })
	for _, n := range got.Operations.Nodes {
		if n.Sequence == nil || *n.Sequence != seen.Overview.Changes[0].Sequence || n.Roles[0] != "USER" || n.Document != posts {
			t.Errorf("%+v", n)
		}
	}
}
