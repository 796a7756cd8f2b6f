package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tidings/cmd/internal/boot"
)

// roles are those that a process comes to the bus in: each has a file in deploy/nats.
var roles = []string{boot.RoleAPI, boot.RoleWorker, boot.RoleAdmin}

// rights tries what the credentials may do at the bus, and says by its name what they
// may not and need. It returns the roles that they are of, in the order of roles; none:
// nothing else of the bus can be looked at.
func (x *examination) rights(ctx context.Context) (may []string) {
	if x.config.NATSURL == "" {
		return roles // the embedded one permits everything
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	may, err := x.rolesOf(ctx)
	if err == nil && len(may) == 0 {
		x.add("rights", stateFailure, "give this user the permissions of its role: deploy/nats; where another --nats-inbox is used, set it, and say which role by --role", "these credentials get no answers: they may subscribe neither to %s", strings.Join(inboxes(x.config), " nor to "))
	}
	var answered []string
	for _, role := range may {
		hears, failed := x.rightsAs(ctx, role)
		err = errors.Join(err, failed)
		if hears {
			answered = append(answered, role)
		}
	}
	if err != nil {
		x.unopened(err)
		return nil
	}
	return answered // who hears no answers would wait a minute for them
}

// inbox is where the answers to a role come.
func inbox(c boot.Config, role string) string { return "_INBOX_" + c.Prefix + "_" + role + ".>" }

func inboxes(c boot.Config) (list []string) {
	for _, role := range roles {
		list = append(list, inbox(c, role))
	}
	return list
}

// rolesOf are the roles whose answers the credentials may hear, or the one that is named;
// where all answers come elsewhere, those whose rights they have.
func (x *examination) rolesOf(ctx context.Context) (list []string, err error) {
	if x.role != "" {
		return []string{x.role}, nil
	}
	if x.config.NATSInbox != "" {
		return x.nearestRoles(ctx) // the inbox does not tell them apart
	}
	var all []right
	for _, subject := range inboxes(x.config) {
		all = append(all, right{subject: subject, subscribe: true})
	}
	lacking, err := x.config.Lacking(ctx, rights(all), discard())
	if err != nil {
		return nil, err
	}
	lacks := lackingOf(all, lacking)
	for i, role := range roles {
		if !slices.Contains(lacks, all[i]) {
			list = append(list, role)
		}
	}
	return list, nil
}

// nearestRoles are the roles that lack nothing of what they need; where each lacks
// something, those that lack least.
func (x *examination) nearestRoles(ctx context.Context) (list []string, err error) {
	least := 0
	for _, role := range roles {
		_, lacks, err := x.lackingAs(ctx, role)
		if err != nil {
			return nil, err
		}
		switch {
		case list == nil || len(lacks) < least:
			least, list = len(lacks), []string{role}
		case len(lacks) == least:
			list = append(list, role)
		}
	}
	return list, nil
}

// rightsAs says what one role needs and may not, and reports whether it hears answers.
func (x *examination) rightsAs(ctx context.Context, role string) (hears bool, err error) {
	needed, lacks, err := x.lackingAs(ctx, role)
	if err != nil {
		return false, err
	}
	hears = true
	answers := inbox(x.config, role)
	if own := x.config.NATSInbox; own != "" {
		answers = own + ".>"
	}
	for _, r := range lacks {
		hears = hears && !(r.subscribe && r.subject == answers)
		x.lacks(role, r)
	}
	if len(lacks) == 0 {
		x.add("rights", stateOK, "", "the credentials may do all that the role %s needs: %d permissions were tried", role, len(needed))
	}
	return hears, nil
}

// lackingAs tries what one role needs, and returns it, and what of it is lacking.
func (x *examination) lackingAs(ctx context.Context, role string) (needed, lacks []right, err error) {
	all, err := rightsOf(role, x.config)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range all {
		if own := x.config.NATSInbox; own != "" && r.subject == inbox(x.config, role) {
			r.subject = own + ".>"
		}
		if x.config.EraseAfter == 0 && strings.HasPrefix(r.subject, "$JS.API.STREAM.PURGE.") {
			continue
		}
		needed = append(needed, r)
	}
	lacking, err := x.config.Lacking(ctx, rights(needed), discard())
	if err != nil {
		return nil, nil, err
	}
	return needed, lackingOf(needed, lacking), nil
}

// lacks notes a right that is missing.
func (x *examination) lacks(role string, r right) {
	state, verb, list := stateFailure, "publish on", "publish"
	if r.spared() {
		state = stateWarning
	}
	if r.subscribe {
		verb, list = "subscribe to", "subscribe"
	}
	why := ""
	if r.why != "" {
		why = " (" + r.why + ")"
	}
	x.add("rights", state, "allow it under "+list+" of this user, as deploy/nats/"+role+".conf does, and in exports.conf and imports.conf where apis have an account of their own: docs/nats.md", "the role %s may not %s %s%s", role, verb, r.subject, why)
}
