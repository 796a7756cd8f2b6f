package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"tidings/cmd/internal/boot"
	"tidings/revoke"
)

// revokeCommand is `api revoke`: it asks the process on this machine, by its
// admin port, to take tokens back in all processes.
func revokeCommand(ctx context.Context, args, environ []string, stdout io.Writer) error {
	var o revoke.Order
	set := flag.NewFlagSet("api revoke", flag.ContinueOnError)
	set.SetOutput(stdout)
	set.StringVar(&o.TokenID, "jti", "", "the token with this id")
	set.StringVar(&o.Subject, "sub", "", "the tokens of this subject that were issued before --before, until now without it")
	before := set.String("before", "", "a time such as 2030-01-01T12:00:00Z; alone: everybody's tokens that were issued before it")
	admin := set.String("admin", "", "admin address of a process on this machine (TIDINGS_ADMIN)")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *before != "" {
		var err error
		if o.Before, err = time.Parse(time.RFC3339, *before); err != nil {
			return fmt.Errorf("--before %s is no time; write it as 2030-01-01T12:00:00Z", *before)
		}
	}
	if o == (revoke.Order{}) {
		return errors.New("nothing says which tokens: name one by --jti, those of a subject by --sub, or everybody's by --before")
	}
	return sendRevocation(ctx, *admin, environ, o)
}

func sendRevocation(ctx context.Context, admin string, environ []string, o revoke.Order) error {
	_, err := askAdmin(ctx, admin, environ, "/revoke", o, http.StatusNoContent)
	return err
}

// askAdmin sends an order to the admin port of a process, and returns its answer.
// Without an address it is that of the settings.
func askAdmin(ctx context.Context, admin string, environ []string, path string, order any, done int) ([]byte, error) {
	if admin == "" {
		c, err := boot.ReadConfig("api", nil, environ, printer(io.Discard))
		if err != nil {
			return nil, err
		}
		admin = c.Admin
	}
	host, port, err := net.SplitHostPort(admin)
	if err != nil {
		return nil, fmt.Errorf("the admin address %q: %w; name it with --admin", admin, err)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	data, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+net.JoinHostPort(host, port)+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w; run it where a process of the service has its admin port, or name that with --admin", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if resp.StatusCode != done {
		return nil, fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	return text, err
}
