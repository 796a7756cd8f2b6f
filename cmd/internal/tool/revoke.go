package tool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tidings/cmd/internal/boot"
	"tidings/revoke"
)

var revokeHelp = boot.Help{
	Text: `
Take tokens back, in all processes: what comes with them is refused, and their
sockets and event streams are closed. The process whose admin port is asked tells
the others.`,
	Usage: `
$0 revoke --jti ID
$0 revoke --sub NAME [--before TIME]
$0 revoke --before TIME`,
	Examples: `
$0 revoke --sub alice
$0 revoke --before 2030-01-01T12:00:00Z --admin localhost:9091`,
}

// revokeCommand is `api revoke`: it asks the process on this machine, by its
// admin port, to take tokens back in all processes.
func revokeCommand(ctx context.Context, call Call) error {
	var o revoke.Order
	set := flag.NewFlagSet(call.Program+" revoke", flag.ContinueOnError)
	set.StringVar(&o.TokenID, "jti", "", "`id` of one token, its claim jti")
	set.StringVar(&o.Subject, "sub", "", "`name` of a subject, whose tokens count no more that were issued before --before, or until now")
	before := set.String("before", "", "`time` such as 2030-01-01T12:00:00Z; alone: of everybody's tokens, those that were issued before it")
	admin := set.String("admin", "", boot.AdminFlag("of a process on this machine"))
	if err := revokeHelp.ReadFlags(set, call.Program, call.Args, call.Stdout); errors.Is(err, boot.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *before != "" {
		var err error
		if o.Before, err = time.Parse(time.RFC3339, *before); err != nil {
			return boot.Usage(fmt.Errorf("--before %s is no time; write it as 2030-01-01T12:00:00Z", *before))
		}
	}
	if o == (revoke.Order{}) {
		return boot.Usage(errors.New("nothing says which tokens: name one by --jti, those of a subject by --sub, or everybody's by --before"))
	}
	_, err := call.askAdmin(ctx, *admin, "/revoke", o, http.StatusNoContent)
	return err
}

// askAdmin sends an order to the admin port of a process, and returns its answer.
// Without an address it is that of the settings.
func (c Call) askAdmin(ctx context.Context, admin, path string, order any, done int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	base, err := boot.AdminURL(c.Program, admin, c.Environ)
	if err != nil {
		return nil, err
	}
	status, text, err := boot.AskAdmin(ctx, base+path, order)
	if err == nil && status != done {
		err = fmt.Errorf("%d %s: %s", status, http.StatusText(status), strings.TrimSpace(string(text)))
	}
	return text, err
}
