package tool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"tidings/cmd/internal/boot"
)

var tokenHelp = boot.Help{
	Text: `
Print a token of the development key, for who calls a service that runs with --dev.
The services of production take the tokens of your identity provider: docs/auth.md.`,
	Usage: "$0 token --sub NAME [flags]",
	Examples: `
$0 token --sub alice --data notes/.tidings
TIDINGS_TOKEN=$($0 token --sub root --roles ADMIN --ttl 1h --data notes/.tidings)`,
}

// tokenCommand is `api token`: a token of the development key.
func tokenCommand(_ context.Context, call Call) error {
	set := flag.NewFlagSet(call.Program+" token", flag.ContinueOnError)
	sub := set.String("sub", "", "`name` of the bearer, the subject of the token")
	roles := set.String("roles", "USER", "`list` of what the bearer may be: USER, ADMIN, SERVICE, comma separated")
	ttl := set.Duration("ttl", 24*time.Hour, "`time` for which the token is good, such as 90s, 30m or 24h")
	data := set.String("data", "", "`dir` of what the service keeps, where the development key is (TIDINGS_DATA, or without it data; of tidings dev DIR: DIR/.tidings)")
	if err := tokenHelp.ReadFlags(set, call.Program, call.Args, call.Stdout); errors.Is(err, boot.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *ttl <= 0 {
		return boot.Usage(fmt.Errorf("--ttl %s is not in the future; say how long the token is good, such as --ttl 24h", *ttl))
	}
	if *sub == "" {
		return boot.Usage(errors.New("--sub is missing: name who the bearer of the token is, such as --sub alice"))
	}
	settings := []string{"--dev"}
	if *data != "" {
		settings = append(settings, "--data", *data)
	}
	c, err := boot.ReadConfig(call.Program, settings, call.Environ, printer(io.Discard))
	if err != nil {
		return err
	}
	_, missing := os.Stat(filepath.Join(c.Data, "dev.key"))
	token, err := c.DevToken(*sub, *roles, *ttl)
	if err != nil {
		return err
	}
	if c.JWTSecret == "" && missing != nil {
		fmt.Fprintf(call.Stderr, "%s: there was no key in %s: a new one is there now, which a service with this --data takes, and no other; --data names the directory of yours\n", set.Name(), c.Data)
	}
	_, err = fmt.Fprintln(call.Stdout, token)
	return err
}
