package main

import (
	"embed"
	"slices"
	"strings"

	"tidings/bus"
	"tidings/cmd/internal/boot"
)

// rightsFiles are those of deploy/nats: what each role may do, with the reasons.
//
//go:embed rights/*.conf
var rightsFiles embed.FS

// right is a subject on which a role publishes, or to which it subscribes.
type right struct {
	subject   string
	subscribe bool
	why       string
}

// rightsOf are the rights that a role needs under the prefix of a service.
func rightsOf(role string, c boot.Config) ([]right, error) {
	text, err := rightsFiles.ReadFile("rights/" + role + ".conf")
	if err != nil {
		return nil, err
	}
	list := parseRights(string(text))
	if c.Prefix == "" || c.Prefix == "tidings" {
		return list, nil
	}
	for i := range list {
		list[i].subject = strings.ReplaceAll(list[i].subject, "tidings", c.Prefix)
	}
	return list, nil
}

// parseRights reads the lines of deploy/nats: each subject stands on one of its own, and
// its reason behind it or above.
func parseRights(text string) (list []right) {
	subscribe, group := false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		said, isRemark := strings.CutPrefix(line, "#")
		rest, isSubject := strings.CutPrefix(line, `"`)
		switch {
		case strings.HasPrefix(line, "subscribe"):
			subscribe, group = true, ""
		case isRemark:
			group = strings.TrimSpace(group + " " + strings.TrimSpace(said))
		case line == "":
			group = ""
		case isSubject:
			subject, behind, _ := strings.Cut(rest, `"`)
			r := right{subject, subscribe, group}
			if _, why, given := strings.Cut(behind, "#"); given {
				r.why = strings.TrimSpace(why)
			}
			list = append(list, r)
		}
	}
	return list
}

// rights are those of a list, as the bus tries them.
func rights(list []right) (all bus.Rights) {
	for _, r := range list {
		if r.subscribe {
			all.Subscribe = append(all.Subscribe, r.subject)
		} else {
			all.Publish = append(all.Publish, r.subject)
		}
	}
	return all
}

// lackingOf are those of a list that are lacking.
func lackingOf(list []right, lacking bus.Rights) []right {
	return slices.DeleteFunc(slices.Clone(list), func(r right) bool {
		among := lacking.Publish
		if r.subscribe {
			among = lacking.Subscribe
		}
		return !slices.Contains(among, r.subject)
	})
}

// spared reports whether a service can do without a right, at the price of what the right is
// for: answers of another account, orders of operators, being seen, what is kept for later
// starts.
func (r right) spared() bool {
	if strings.HasPrefix(r.why, "operators:") {
		return true
	}
	answers := !r.subscribe && (strings.HasPrefix(r.subject, "_R_.") || strings.HasPrefix(r.subject, "_INBOX_"))
	return answers || r.subject == "$SRV.>" || strings.Contains(r.subject, ".ctl.") || strings.Contains(r.subject, "-views") || strings.Contains(r.subject, "-snapshots")
}
