package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"tidings/internal/proc"
)

// overview is what all processes have said by a moment, as the contract has it.
type overview struct {
	at   time.Time
	json json.RawMessage
}

// overviewLocked makes it of the last reports.
func (c *Console) overviewLocked(now time.Time, changes []change) overview {
	var late []proc.Bucket
	processes := []map[string]any{}
	groups := map[string]group{}
	for _, h := range c.byHostLocked() {
		p, grownLate := processOf(h, now)
		processes = append(processes, p)
		late = together(late, grownLate)
		for _, g := range h.report.Groups {
			addGroup(groups, g)
		}
	}
	at := now.UTC()
	data, err := json.Marshal(map[string]any{
		"at": at, "here": c.id, "processes": processes, "log": c.logLocked(), "latency": latencyOf(late),
		"groups": largest(groups), "changes": changes,
	})
	if err != nil { // numbers and times were looked at (report.bounded), and all else is text
		data = []byte("null")
	}
	return overview{at: at, json: data}
}

// byHostLocked are those that have said something, in an order that stays.
func (c *Console) byHostLocked() []heard {
	return slices.SortedFunc(maps.Values(c.reports), func(a, b heard) int {
		return cmp.Or(strings.Compare(a.report.Role, b.report.Role), strings.Compare(a.report.Host, b.report.Host), a.report.Started.Compare(b.report.Started), strings.Compare(a.report.ID, b.report.ID))
	})
}

// processOf is a process in the contract, and how late its changes were.
func processOf(h heard, now time.Time) (p map[string]any, late []proc.Bucket) {
	r := h.report
	p = map[string]any{
		"id": r.ID, "host": clip(r.Host, maxName), "role": clip(r.Role, maxName), "version": clip(r.Version, maxName), "started": r.Started,
		"silent": now.Sub(h.at).Seconds(), "ready": r.NotReady == "", "draining": r.Draining,
		"busConnected": r.Bus, "breakersOpen": append([]string{}, r.Open...),
	}
	var before report
	if h.before != nil {
		before = *h.before
		late = since(r.Late, before.Late)
	}
	for name, n := range grown(r.Numbers, before.Numbers, r.At.Sub(before.At).Seconds()) {
		p[name] = n
	}
	p["latency"] = latencyOf(late)
	return p, late
}

// addGroup adds the members of equal groups of several processes up.
func addGroup(all map[string]group, g group) {
	key := strings.Join([]string{g.Document, g.Variables, g.Name, g.Subject, strings.Join(g.Roles, ",")}, "\x00")
	if sum, there := all[key]; there {
		g.Members = plus(g.Members, sum.Members)
		g.Processes = plus(g.Processes, sum.Processes)
	}
	if g.Roles == nil {
		g.Roles = []string{}
	}
	all[key] = g
}

func largest(all map[string]group) []group {
	list := slices.SortedFunc(maps.Values(all), func(a, b group) int {
		return cmp.Or(cmp.Compare(b.Members, a.Members), strings.Compare(a.Document, b.Document), strings.Compare(a.Variables, b.Variables), strings.Compare(a.Subject, b.Subject))
	})
	if list == nil {
		return []group{}
	}
	return list[:min(len(list), maxGroups)]
}

// logLocked is the log as this process sees it.
func (c *Console) logLocked() map[string]any {
	h := c.reports[c.id]
	l := map[string]any{"leader": h.report.Log["leader"] == 1}
	for name, n := range h.report.Log {
		if name != "leader" {
			l[name] = n
		}
	}
	return l
}

// listLocked puts the answers of all processes to a question together.
func (c *Console) listLocked(q question, now time.Time) list {
	all := list{Question: q, At: now.UTC(), Nodes: []operation{}}
	for _, h := range c.reports {
		for _, a := range h.report.Answers {
			if a.Question == q {
				all.Total = plus(all.Total, a.Total)
				all.Nodes = append(all.Nodes, a.Nodes...)
			}
		}
	}
	slices.SortFunc(all.Nodes, q.compare)
	all.Nodes = all.Nodes[:min(len(all.Nodes), q.First)]
	return all
}
