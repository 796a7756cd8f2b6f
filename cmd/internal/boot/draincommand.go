package boot

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tidings/internal/proc"
)

var drainHelp = Help{
	Text: `
Empty the process on this machine before it ends: it is not ready any more, and its
sockets and event streams are closed one after the other, so that their clients go
on at other processes. It says how much remains. Hooks call it that run before a
container is stopped.`,
	Usage: "$0 drain [--wait] [--admin ADDRESS]",
	Examples: `
$0 drain --wait
$0 drain --admin 127.0.0.1:9091`,
}

// DrainCommand is `api drain` and `worker drain`: it asks the process on this
// machine, by its admin port, to drain, and with --wait until it has done so, or
// has ended. It tells how much remains. A preStop hook of a container without a
// shell calls it.
func DrainCommand(ctx context.Context, program string, args, environ []string, stdout io.Writer) error {
	set := flag.NewFlagSet(program+" drain", flag.ContinueOnError)
	wait := set.Bool("wait", false, "wait until the process has drained: as long as --drain-delay and --drain-window say, and some seconds more")
	admin := set.String("admin", "", AdminFlag("of the process on this machine"))
	if err := drainHelp.ReadFlags(set, program, args, stdout); errors.Is(err, ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	base, err := AdminURL(program, *admin, environ)
	if err != nil {
		return err
	}
	said, err := drainOnce(ctx, base+"/drain")
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, said.words())
	for *wait && !said.Done {
		next, err := drainOnce(ctx, base+"/drain?wait=2s")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // it was there, and has drained before it ended
			fmt.Fprintln(stdout, "the process has ended")
			return nil
		}
		if next != said {
			said = next
			fmt.Fprintln(stdout, said.words())
		}
	}
	return nil
}

// drained is what the process says of its drain.
type drained struct{ proc.Drained }

func (d drained) words() string {
	if d.Done {
		return "drained"
	}
	return fmt.Sprintf("draining: %d remain", d.Remaining)
}

func drainOnce(ctx context.Context, url string) (said drained, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	status, text, err := AskAdmin(ctx, url, struct{}{})
	if err != nil {
		return said, err
	}
	if status != http.StatusOK && status != http.StatusAccepted {
		return said, fmt.Errorf("%d %s: %s", status, http.StatusText(status), strings.TrimSpace(string(text)))
	}
	return said, json.Unmarshal(text, &said.Drained)
}
