package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tidings/cmd/internal/boot"
)

// schema looks at the schema and at the locked versions of SOAP beside it.
func (x *examination) schema() {
	c := x.config
	m, err := c.LoadSchema()
	if err != nil {
		x.fail("schema", err, "mend it where it says; docs/schema.md")
		return
	}
	x.add("schema", stateOK, "", "%s: %d types are stored", c.Schema, len(m.Resources))
	locks, err := c.Locks()
	if err != nil {
		x.fail("contracts", err, "tidings soap check --schema "+c.Schema)
		return
	}
	for _, l := range locks {
		if broken := l.Check(m); len(broken) > 0 {
			x.add("contracts", stateFailure, "tidings soap check --schema "+c.Schema+" names each", "%s: %d promises to partners are not held", l.File(), len(broken))
		}
	}
	if len(locks) == 0 && !c.Dev {
		x.add("contracts", stateWarning, "write down what partners of SOAP see: tidings soap lock --schema "+c.Schema, "no version of SOAP is locked: a change of the schema can break partners")
	}
}

// keys looks at what verifies tokens, and at the key set where there is one.
func (x *examination) keys(ctx context.Context) {
	c := x.config
	if c.JWTJWKS != "" {
		x.keySet(ctx, c.JWTJWKS)
	}
	if c.Dev && x.dev { // which makes one at its start
		x.add("keys", stateOK, "", "development signs its own tokens")
		return
	}
	if _, err := c.Credentials(slog.New(slog.DiscardHandler)); err != nil {
		x.fail("keys", err, "docs/auth.md")
		return
	}
	x.add("keys", stateOK, "", "keys and accounts can be read")
}

// keySet asks for the keys of an identity provider.
func (x *examination) keySet(ctx context.Context, url string) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	err := getJSON(ctx, url, &set)
	switch {
	case err != nil:
		x.add("keys", stateFailure, "see that "+url+" can be reached from here, and is a key set (RFC 7517)", "the key set cannot be read: %s", err)
	case len(set.Keys) == 0:
		x.add("keys", stateFailure, "see that TIDINGS_JWT_JWKS names the key set of the identity provider", "%s has no keys", url)
	default:
		x.add("keys", stateOK, "", "%s has %d keys", url, len(set.Keys))
	}
}

func getJSON(ctx context.Context, url string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
}

// addresses looks whether a service could listen, and whether one does.
func (x *examination) addresses(ctx context.Context) {
	for _, a := range []struct{ flag, address string }{{"listen", x.config.Listen}, {"admin", x.config.Admin}} {
		if a.address == "" {
			continue
		}
		l, err := net.Listen("tcp", a.address)
		switch {
		case err == nil:
			l.Close()
			x.add("addresses", stateOK, "", "--%s %s is free", a.flag, a.address)
		case !errors.Is(err, syscall.EADDRINUSE):
			x.add("addresses", stateFailure, "choose another by --"+a.flag, "--%s %s: %s", a.flag, a.address, err)
		case x.ready(ctx):
			x.add("addresses", stateOK, "", "--%s %s is in use, and a service runs here", a.flag, a.address)
		default:
			x.add("addresses", stateWarning, "stop what has it if it is another program, or choose another address by --"+a.flag, "--%s %s is in use", a.flag, a.address)
		}
	}
}

// ready asks the admin port of a process on this machine.
func (x *examination) ready(ctx context.Context) bool {
	base, err := boot.AdminURL("tidings doctor", x.config.Admin, nil)
	if x.config.Admin == "" || err != nil {
		return false
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // what it says is for people
	if resp.StatusCode == http.StatusServiceUnavailable {
		x.add("service", stateWarning, "docs/runbook.md", "the process at %s is not ready: %s", base, strings.TrimSpace(string(text)))
	}
	return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusServiceUnavailable
}

// lowDisk is how much should be free for the view and an embedded log, in bytes.
const lowDisk = 1 << 30

// disk looks where the service stores things.
func (x *examination) disk() {
	dir := x.config.Data
	for _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir) // where it will be made
	}
	probe, err := os.CreateTemp(dir, ".tidings-doctor-*")
	if err != nil {
		x.add("disk", stateFailure, "let this user write there, or name another directory by --data", "%s", err)
		return
	}
	probe.Close()
	os.Remove(probe.Name())
	switch free, known := freeBytes(dir); {
	case !known:
		x.add("disk", stateOK, "", "%s can be written to", x.config.Data)
	case free < lowDisk:
		x.add("disk", stateWarning, "make room, or name another directory by --data: what is full refuses changes", "%d MiB are free for %s", free>>20, x.config.Data)
	default:
		x.add("disk", stateOK, "", "%d GiB are free for %s", free>>30, x.config.Data)
	}
}
