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

// eraseCommand is `api erase`: it asks a process on this machine that writes, by
// its admin port, to erase a record at once.
func eraseCommand(ctx context.Context, call Call) error {
	var o boot.EraseOrder
	set := flag.NewFlagSet(call.Program+" erase", flag.ContinueOnError)
	set.SetOutput(call.Stdout)
	set.StringVar(&o.Type, "type", "", "the record's type, such as User")
	set.StringVar(&o.ID, "id", "", "its id; if it lives it is deleted first")
	admin := set.String("admin", "", "admin address of a process on this machine that writes: a worker, or api without a bus (TIDINGS_ADMIN)")
	if err := set.Parse(call.Args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return boot.Usage(err)
	}
	if set.NArg() > 0 {
		return boot.Usage(fmt.Errorf("unknown argument %q; see %s --help", set.Arg(0), set.Name()))
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
`, e.Type, e.ID, what, e.Changes, e.Values, e.Seq)
	return nil
}
