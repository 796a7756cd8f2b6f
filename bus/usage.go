package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Usage is how much the log holds and may hold, and the store that it lies in.
// Of what may be held, zero means that there is no bound or that the server does
// not tell it.
type Usage struct {
	First, Last           uint64 // sequences
	Bytes, MaxBytes       int64  // of the log, on one server
	Messages, MaxMessages int64
	Subjects              int64 // records, and unique values
	Replicas, Current     int   // servers that shall keep the log, and those of them that have all of it
	Stored, MaxStored     int64 // bytes of all streams of the account, or of the embedded server
}

// Usage asks the log's leader, and the server for the store. UNAVAILABLE when
// they do not answer.
func (b *Bus) Usage(ctx context.Context) (Usage, error) {
	u, err := b.usage(ctx)
	if err != nil {
		return Usage{}, fmt.Errorf("usage of the log: %w", err)
	}
	return u, nil
}

func (b *Bus) usage(ctx context.Context) (u Usage, err error) {
	var log struct {
		Config struct {
			MaxBytes int64 `json:"max_bytes"`
			MaxMsgs  int64 `json:"max_msgs"`
			Replicas int   `json:"num_replicas"`
		} `json:"config"`
		State struct {
			First    uint64 `json:"first_seq"`
			Last     uint64 `json:"last_seq"`
			Bytes    int64  `json:"bytes"`
			Messages int64  `json:"messages"`
			Subjects int64  `json:"num_subjects"`
		} `json:"state"`
		Cluster struct {
			Replicas []struct {
				Current bool `json:"current"`
				Offline bool `json:"offline"`
			} `json:"replicas"`
		} `json:"cluster"`
	}
	if err := b.api(ctx, "STREAM.INFO."+b.subjects.Stream(), &log); err != nil {
		return u, err
	}
	u = Usage{First: log.State.First, Last: log.State.Last, Bytes: log.State.Bytes, MaxBytes: max(0, log.Config.MaxBytes), Messages: log.State.Messages, MaxMessages: max(0, log.Config.MaxMsgs), Subjects: log.State.Subjects}
	u.Replicas, u.Current = max(1, log.Config.Replicas), 1 // the leader, which has answered
	for _, r := range log.Cluster.Replicas {
		if r.Current && !r.Offline {
			u.Current++
		}
	}
	if b.server != nil {
		u.Stored, u.MaxStored = b.server.stored()
		return u, nil
	}
	var account struct {
		Storage int64 `json:"storage"`
		Limits  struct {
			Storage int64 `json:"max_storage"`
		} `json:"limits"`
	}
	if err := b.api(ctx, "INFO", &account); err != nil {
		return u, err
	}
	u.Stored, u.MaxStored = account.Storage, max(0, account.Limits.Storage)
	return u, nil
}

// api asks the API of JetStream something, and decodes the answer.
func (b *Bus) api(ctx context.Context, what string, into any) error {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	resp, err := b.exchangeOn(ctx, "$JS.API."+what, nil)
	if err != nil {
		return unavailable(err)
	}
	var failed struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(resp.Data, &failed); err != nil {
		return fmt.Errorf("answer of %s: %w", what, err)
	}
	if failed.Error != nil {
		return unavailable(failed.Error)
	}
	return json.Unmarshal(resp.Data, into)
}

// stored is what the embedded server's store holds and may hold.
func (e *embedded) stored() (used, most int64) {
	z, err := e.ns.Jsz(&server.JSzOptions{})
	if err != nil {
		return 0, 0
	}
	return int64(z.Store), max(0, z.Config.MaxStore)
}

// usageEvery is how often the log's size is looked at.
const usageEvery = 15 * time.Second

// WatchUsage looks at the log's size until ctx ends, and then returns nil. At 75
// and at 90 percent of a limit it says so in the log, once for each step, and
// again after the share has fallen below it. A full log that refuses changes is
// told with or without it.
func (b *Bus) WatchUsage(ctx context.Context) error {
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	a := alarm{log: b.log, full: b.remedyFull()}
	for {
		if u, err := b.Usage(ctx); err == nil {
			a.look(ctx, u)
		} else if ctx.Err() == nil {
			b.log.LogAttrs(ctx, slog.LevelDebug, "the log's size is not known", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// steps are the shares of a limit, in percent, that are worth a line; slack is how
// far a share must fall below one before that is armed again.
var steps = [...]int64{75, 90}

const slack = 5

// alarm remembers which steps were told. Its zero value has told none.
type alarm struct {
	log   *slog.Logger
	full  string   // what to do about a full log
	tolds [3]int64 // the highest step told, of each limit
}

func (a *alarm) look(ctx context.Context, u Usage) {
	for i, l := range [...]struct {
		what       string
		used, most int64
		remedy     string
	}{
		{"bytes of the log", u.Bytes, u.MaxBytes, a.full + "; or keep fewer changes of each record (--history)"},
		{"messages of the log", u.Messages, u.MaxMessages, "raise the limit: nats stream edit --max-msgs"},
		{"bytes of the store", u.Stored, u.MaxStored, "give the NATS server, or the account, more storage; or keep fewer changes of each record (--history)"},
	} {
		a.tolds[i] = a.step(ctx, a.tolds[i], l.what, l.used, l.most, l.remedy)
	}
}

func (a *alarm) step(ctx context.Context, told int64, what string, used, most int64, remedy string) int64 {
	if most <= 0 {
		return 0
	}
	percent := int64(float64(used) / float64(most) * 100)
	var reached int64
	for _, s := range steps {
		if percent >= s || s <= told && percent > s-slack {
			reached = s
		}
	}
	if reached > told {
		a.log.LogAttrs(ctx, slog.LevelWarn, fmt.Sprintf("%d%% of the %s are taken; at 100%% all changes are refused", percent, what),
			slog.Int64("used", used), slog.Int64("limit", most), slog.String("remedy", remedy))
	}
	return reached
}

// isFull reports whether a stream refused a message because it, the account or
// the store has no room.
func isFull(err *apiError) bool {
	full := isCode(err, codeStoreFailed) && (strings.Contains(err.Description, "maximum bytes") || strings.Contains(err.Description, "maximum messages"))
	return full || isCode(err, codeAccountResources, codeInsufficientResources, codeNoStorage, codeNoMemory)
}

// fullness logs that the log is full, now and then. Its zero value is ready.
type fullness struct{ told atomic.Int64 }

func (f *fullness) tell(ctx context.Context, b *Bus, err *apiError) {
	now, told := time.Now().UnixNano(), f.told.Load()
	if now-told < int64(complainEvery) || !f.told.CompareAndSwap(told, now) {
		return
	}
	b.log.LogAttrs(ctx, slog.LevelError, "the log is full and refuses all changes", slog.Any("error", err), slog.String("remedy", b.remedyFull()))
}

func (b *Bus) remedyFull() string {
	return "raise its limit, by `" + b.opts.Program + " bus setup --edit --log-max-bytes <bytes>` with the credentials of an administrator or with an embedded bus by --log-max-bytes; if it has none, give the NATS server or the account more storage. Changes are taken again at once"
}
