package tool

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"

	"tidings/cmd/internal/boot"
	"tidings/resource"
)

var eraseHelp = boot.Help{
	Text: `
Delete a record, if it lives, and erase at once what it was from the log, instead of
after --erase-after. It says what is gone, and where something of it may remain:
docs/operations.md, Erasure and history.`,
	Usage:    "$0 erase --type TYPE --id ID [--admin ADDRESS]",
	Examples: "$0 erase --type User --id 018f2b6e-7c1e-7000-8000-000000000001",
}

// eraseCommand is `api erase`: it asks a process on this machine that writes, by
// its admin port, to erase a record at once.
func eraseCommand(ctx context.Context, call Call) error {
	var o boot.EraseOrder
	set := flag.NewFlagSet(call.Program+" erase", flag.ContinueOnError)
	set.StringVar(&o.Type, "type", "", "`type` of the record, such as User")
	set.StringVar(&o.ID, "id", "", "`id` of the record; if it lives it is deleted first")
	admin := set.String("admin", "", boot.AdminFlag("of a process on this machine that writes: a worker, or one without a bus of its own"))
	if err := eraseHelp.ReadFlags(set, call.Program, call.Args, call.Stdout); errors.Is(err, boot.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if o.Type == "" || o.ID == "" {
		return boot.Usage(errors.New("nothing says which record: name it by --type and --id"))
	}
	answer, err := call.askAdmin(ctx, *admin, "/erase", o, http.StatusOK)
	if err != nil {
		return err
	}
	var e resource.Erased
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("the process answered %.200q: %w", answer, err)
	}
	what := "had been deleted before"
	if e.Deleted {
		what = "is deleted"
	}
	fmt.Fprintf(call.Stdout, `%s %s %s.
Removed from the log: %d changes of it, and %d messages of its unique values.
Left in the log: the tombstone %d with the id and the owner's subject.
Gone with the deletion: the record in the views and caches of all processes.
It may remain in
- the files of the log, until the NATS server rewrites them, and its backups and mirrors
- the memory of running processes, for subscribers who come back: the last 8,192 changes
- answers under idempotency keys and jobs: for --idempotency-age and --jobs-age, a day
- what subscribers, services and streams of your own have received
`, Printable(e.Type), Printable(e.ID), what, e.Changes, e.Values, e.Seq)
	return nil
}
