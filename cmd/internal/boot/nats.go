package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"tidings/bus"
)

// Lacking tries which of some rights the credentials of c have not at their bus: see
// bus.Lacking.
func (c Config) Lacking(ctx context.Context, want bus.Rights, log *slog.Logger) (bus.Rights, error) {
	lacks, err := bus.Lacking(ctx, c.bus(RoleAdmin, log), want)
	return lacks, c.blame(err)
}

// bus says which bus this process uses, and as whom it comes.
func (c Config) bus(role string, log *slog.Logger) bus.Options {
	o := bus.Options{
		URL: c.NATSURL, Prefix: c.Prefix, Replicas: c.Replicas, History: c.History, MaxBytes: c.LogMaxBytes,
		Name: "tidings", Program: c.program, Listen: c.NATSListen, SyncAlways: c.SyncAlways, Logger: log,
		Access: c.access(), Unguarded: c.allows(openListener), Silence: c.NATSSilence,
	}
	if c.NATSURL == "" {
		o.Dir = filepath.Join(c.Data, "log")
		return o
	}
	if o.Inbox = c.NATSInbox; o.Inbox == "" {
		o.Inbox = "_INBOX_" + c.Prefix + "_" + role
	}
	return o
}

// The roles that processes come to the bus in: each has a file in deploy/nats.
const (
	RoleAPI    = "api"
	RoleWorker = "worker"
	RoleAdmin  = "admin"
)

func (r Role) onBus() string {
	if r.Edge {
		return RoleAPI
	}
	return RoleWorker
}

func (c Config) access() bus.Access {
	return bus.Access{
		Creds: c.NATSCreds, NKey: c.NATSNKey,
		User: c.NATSUser, Password: c.NATSPassword, PasswordFile: c.NATSPasswordFile,
		Token: c.NATSToken, TokenFile: c.NATSTokenFile,
		CA: c.NATSCA, Cert: c.NATSCert, Key: c.NATSKey, ServerName: c.NATSServerName,
		Open: c.allows(openFiles),
	}
}

// settingOf names the setting of a field of bus.Access.
var settingOf = map[string]string{
	"Creds": "TIDINGS_NATS_CREDS", "NKey": "TIDINGS_NATS_NKEY", "PasswordFile": "TIDINGS_NATS_PASSWORD_FILE",
	"TokenFile": "TIDINGS_NATS_TOKEN_FILE", "CA": "TIDINGS_NATS_CA", "Cert": "TIDINGS_NATS_CERT", "Key": "TIDINGS_NATS_KEY",
}

// checkNATS refuses settings of the bus that do not fit each other.
func (c Config) checkNATS() error {
	switch {
	case c.NATSPassword != "" && c.NATSPasswordFile != "":
		return errors.New("TIDINGS_NATS_PASSWORD and TIDINGS_NATS_PASSWORD_FILE are both set; remove one")
	case c.NATSToken != "" && c.NATSTokenFile != "":
		return errors.New("TIDINGS_NATS_TOKEN and TIDINGS_NATS_TOKEN_FILE are both set; remove one")
	case c.NATSURL == "" && (c.NATSCreds != "" || c.NATSNKey != "" || c.NATSServerName != "" || c.NATSInbox != ""):
		return errors.New("TIDINGS_NATS_CREDS, TIDINGS_NATS_NKEY, TIDINGS_NATS_SERVER_NAME and TIDINGS_NATS_INBOX are for an external bus: name it with TIDINGS_NATS_URL")
	case c.NATSURL == "" && c.NATSListen == "" && c.access() != (bus.Access{Open: c.allows(openFiles)}):
		return errors.New("TIDINGS_NATS_USER, TIDINGS_NATS_TOKEN and TIDINGS_NATS_CERT have no effect: name an external bus with TIDINGS_NATS_URL, or let the embedded one take clients with TIDINGS_NATS_LISTEN")
	}
	return c.checkUnsafe()
}

// openBus opens the bus; its credentials are taken up anew when their files change.
func (r *Rooms) openBus(ctx context.Context) (err error) {
	c := r.config
	if err := c.access().Check(); err != nil {
		return c.blame(err)
	}
	r.warnOfPlaintext(ctx)
	if r.Bus, err = r.awaitBus(ctx); err != nil {
		return fmt.Errorf("open the bus: %w", c.blame(err))
	}
	files := c.access().Files()
	if len(files) == 0 {
		return nil
	}
	k, err := keep("the credentials of the bus", func(texts [][]byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), renewWait)
		defer cancel()
		err := c.blame(r.Bus.Renew(ctx))
		if i := slices.Index(files, c.NATSCert); err == nil && i >= 0 {
			r.expiries.note("bus", certificates(texts[i])...)
		}
		return err
	}, files...)
	if err != nil {
		return err
	}
	r.kept = append(r.kept, k)
	return nil
}

// renewWait bounds a try with new credentials.
const renewWait = 10 * time.Second

// blame names the setting of a file that cannot be used.
func (c Config) blame(err error) error {
	if file, ok := errors.AsType[*bus.AccessError](err); ok {
		return fmt.Errorf("%s: %w", settingOf[file.Field], err)
	}
	return err
}
