package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/edge"
	"tidings/console"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
)

const deployed = "../../deploy/nats"

// What the doctor tries is what the servers are configured by.
func TestTheRightsAreThoseOfDeploy(t *testing.T) {
	t.Parallel()
	for _, role := range roles {
		want, err := os.ReadFile(filepath.Join(deployed, role+".conf"))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("rights", role+".conf")
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
			t.Errorf("%s is another file than in %s (%v); go test ./cmd/tidings -run Rights -update copies it", file, deployed, err)
		}
		list := parseRights(string(want))
		if lines := len(regexp.MustCompile(`(?m)^\s+"`).FindAllString(string(want), -1)); len(list) != lines || lines < 20 {
			t.Errorf("%s: %d rights of %d lines", role, len(list), lines)
		}
		for _, r := range list {
			if strings.ContainsAny(r.subject, "\" #") {
				t.Errorf("%s: %+v", role, r)
			}
		}
	}
	list, err := rightsOf(boot.RoleAPI, boot.Config{Prefix: "mine"})
	if err != nil || strings.Contains(fmt.Sprint(rights(list)), "tidings") {
		t.Error(err, rights(list))
	}
}

// guarded is a NATS server with the accounts of deploy/nats until the test ends, without
// some of the lines of its files ("api.conf: subject"), or with others in their place
// ("api.conf: subject -> other"). The password of each role is its name and "-password".
func guarded(t *testing.T, changed ...string) (url string) {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(deployed, "*.conf"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kept strings.Builder
		for line := range strings.Lines(string(text)) {
			for _, what := range changed {
				name, subject, _ := strings.Cut(what, ": ")
				subject, instead, replaced := strings.Cut(subject, " -> ")
				if name != filepath.Base(file) || !strings.HasPrefix(strings.TrimSpace(line), `"`+subject+`"`) {
					continue
				}
				if line = ""; replaced {
					line = `"` + instead + "\"\n"
				}
			}
			kept.WriteString(line)
		}
		said := regexp.MustCompile(`\$TIDINGS_([A-Z]+)_PASSWORD`).ReplaceAllStringFunc(kept.String(), func(name string) string {
			return strings.ToLower(strings.Split(name, "_")[1]) + "-password"
		})
		said = strings.ReplaceAll(said, "data/nats", fmt.Sprintf("%q", filepath.Join(dir, "store")))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := server.ProcessConfigFile(filepath.Join(dir, "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	o.Port, o.NoSigs, o.NoLog = server.RANDOM_PORT, true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server did not start")
	}
	return s.ClientURL()
}

// as are the variables of who comes in a role.
func as(url, role string) []string {
	return []string{"TIDINGS_NATS_URL=" + url, "TIDINGS_NATS_USER=" + role, "TIDINGS_NATS_PASSWORD=" + role + "-password"}
}

// setUp sets a bus up.
func setUp(t *testing.T, url string) {
	t.Helper()
	p := program{args: []string{"bus", "setup"}, environ: as(url, "admin"), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	if err := p.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTheDoctorFindsThatEachRoleMayWhatItNeeds(t *testing.T) {
	t.Parallel()
	url, dir := guarded(t), notes(t)
	doctor := func(role string, status int) map[string][]finding {
		t.Helper()
		return examined(t, status, as(url, role), dir, "--dev", "--data", t.TempDir(), "--listen", freeAddress(t), "--admin", "")
	}
	for _, role := range roles {
		f := doctor(role, statusAnswer)
		if !has(f["rights"], stateOK, "all that the role "+role+" needs") || len(f["rights"]) != 1 {
			t.Errorf("%s: %+v", role, f["rights"])
		}
		if !has(f["streams"], stateFailure, "`tidings bus setup` makes it") {
			t.Errorf("%s, before the bus is set up: %+v", role, f)
		}
	}
	setUp(t, url)
	for role, says := range map[string]string{"api": "no worker answers", "worker": "no worker answers", "admin": "no worker is on the bus"} {
		f := doctor(role, statusAnswer)
		if !has(f["processes"], stateFailure, says) || !has(f["processes"], stateFailure, "start a worker") || !has(f["clocks"], stateOK, "the bus") || has(f["streams"], stateFailure, "") {
			t.Errorf("%s, before anything runs: %+v", role, f)
		}
	}
	runs(t, as(url, "worker"), dir, boot.RoleWorker)
	runs(t, as(url, "api"), dir, boot.RoleAPI)
	for role, says := range map[string]string{"api": "a worker answers", "worker": "a worker answers", "admin": "one worker is on the bus"} {
		f := doctor(role, 0)
		if !has(f["processes"], stateOK, says) && !has(f["processes"], stateWarning, says) {
			t.Errorf("%s: %+v", role, f["processes"])
		}
		if role == "api" {
			eventually(t, func() bool { return has(doctor(role, 0)["processes"], stateOK, "report themselves: 1 api, 1 worker") }, func() string { return fmt.Sprint(doctor(role, 0)) })
		}
	}
}

// runs starts a process of the service until the test ends.
func runs(t *testing.T, environ []string, dir, role string) {
	t.Helper()
	c, err := boot.ReadConfig(role, []string{"--dev", "--schema", dir, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin", ""}, environ, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, out := make(chan error, 1), new(proctest.Log)
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if role == boot.RoleAPI {
		go func() { ended <- edge.Run(ctx, c, out, io.Discard) }()
		eventually(t, func() bool { return strings.Contains(out.String(), "ADMIN_TOKEN=") || len(ended) > 0 }, out.String)
		return
	}
	log := slog.New(slog.DiscardHandler)
	rooms, err := boot.Open(t.Context(), c, boot.Role{Writes: true}, log)
	if err != nil {
		ended <- nil
		t.Fatal(err)
	}
	seen, err := console.New(console.Options{Bus: rooms.Bus, Metrics: rooms.Metrics, Ready: rooms.Ready, Role: "worker"})
	if err != nil {
		ended <- rooms.Close()
		t.Fatal(err)
	}
	go func() {
		err := proc.Run(ctx, log, slices.Insert(rooms.Parts(), 0, proc.Part{Name: "console", Run: seen.Run})...)
		ended <- errors.Join(err, rooms.Close())
	}()
	if err := rooms.Started(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTheDoctorNamesEachRightThatIsMissing(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	url := guarded(t, "api.conf: tidings.cmd.>", "api.conf: tidings.ctl.look", "worker.conf: tidings.live.>", "worker.conf: $JS.API.STREAM.PURGE.tidings-log", "admin.conf: _INBOX_tidings_admin.>")
	for _, c := range []struct {
		role, state, says string
		args              []string
	}{
		{"api", stateFailure, "the role api may not publish on tidings.cmd.> (commands", nil},
		{"api", stateFailure, "allow it under publish of this user, as deploy/nats/api.conf", nil},
		{"api", stateWarning, "may not publish on tidings.ctl.look", nil},
		{"worker", stateFailure, "the role worker may not subscribe to tidings.live.> (what was stored, at once)", nil},
		{"worker", stateFailure, "$JS.API.STREAM.PURGE.tidings-log", nil},
		{"worker", stateFailure, "the role api may not subscribe to _INBOX_tidings_api.>", []string{"--role", "api"}},
		{"admin", stateFailure, "these credentials get no answers", nil},
	} {
		args := append([]string{dir, "--dev", "--data", t.TempDir(), "--listen", freeAddress(t), "--admin", ""}, c.args...)
		if f := examined(t, statusAnswer, as(url, c.role), args...); !has(f["rights"], c.state, c.says) {
			t.Errorf("%s: no %s %q in %+v", c.role, c.state, c.says, f["rights"])
		}
	}
	f := examined(t, statusAnswer, as(url, "worker"), dir, "--dev", "--data", t.TempDir(), "--listen", freeAddress(t), "--admin", "", "--erase-after", "0")
	if has(f["rights"], stateFailure, "PURGE") {
		t.Errorf("nothing is erased: %+v", f["rights"])
	}
	if _, errs, status := calls(t, "", "doctor", dir, "--role", "king"); status != statusUsage || !strings.Contains(errs, "api, worker, admin") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// Who is told that the api may not do what the admin does gives it what it must not have.
func TestTheDoctorKnowsARoleWhoseAnswersComeElsewhere(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	url := guarded(t, "api.conf: _INBOX_tidings_api.> -> replies.>", "api.conf: tidings.cmd.>", "worker.conf: _INBOX_tidings_worker.> -> replies.>", "admin.conf: _INBOX_tidings_admin.> -> replies.>")
	for role, says := range map[string]string{
		"api":    "the role api may not publish on tidings.cmd.>",
		"worker": "all that the role worker needs",
		"admin":  "all that the role admin needs",
	} {
		f := examined(t, statusAnswer, as(url, role), dir, "--dev", "--data", t.TempDir(), "--listen", freeAddress(t), "--admin", "", "--nats-inbox", "replies")
		if !has(f["rights"], stateFailure, says) && !has(f["rights"], stateOK, says) || len(f["rights"]) != 1 {
			t.Errorf("%s: %d findings, %+v", role, len(f["rights"]), f["rights"])
		}
	}
}
