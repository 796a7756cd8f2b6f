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

// tokenCommand is `api token`: a token of the development key.
func tokenCommand(_ context.Context, call Call) error {
	set := flag.NewFlagSet(call.Program+" token", flag.ContinueOnError)
	set.SetOutput(call.Stdout)
	sub := set.String("sub", "", "who the bearer is")
	roles := set.String("roles", "USER", "what the bearer may do: USER, ADMIN, SERVICE, comma separated")
	ttl := set.Duration("ttl", 24*time.Hour, "how long the token is good")
	data := set.String("data", "", "data directory that holds the development key (data)")
	if err := set.Parse(call.Args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return boot.Usage(err)
	}
	if set.NArg() > 0 {
		return boot.Usage(fmt.Errorf("unknown argument %q; see %s --help", set.Arg(0), set.Name()))
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
