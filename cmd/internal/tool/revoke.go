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

// revokeCommand is `api revoke`: it asks the process on this machine, by its
// admin port, to take tokens back in all processes.
func revokeCommand(ctx context.Context, call Call) error {
	var o revoke.Order
	set := flag.NewFlagSet(call.Program+" revoke", flag.ContinueOnError)
	set.SetOutput(call.Stdout)
	set.StringVar(&o.TokenID, "jti", "", "the token with this id")
	set.StringVar(&o.Subject, "sub", "", "the tokens of this subject that were issued before --before, until now without it")
	before := set.String("before", "", "a time such as 2030-01-01T12:00:00Z; alone: everybody's tokens that were issued before it")
	admin := set.String("admin", "", "admin address of a process on this machine (TIDINGS_ADMIN)")
	if err := set.Parse(call.Args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return boot.Usage(err)
	}
	if set.NArg() > 0 {
		return boot.Usage(fmt.Errorf("unknown argument %q; see %s --help", set.Arg(0), set.Name()))
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
