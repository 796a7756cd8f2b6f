package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Workers asks who answers commands of this prefix (NATS ADR-32), and returns how many
// processes have said so within a while. It needs the right to publish on $SRV.INFO.
func (b *Bus) Workers(ctx context.Context, within time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	watched, done := b.denials.watch(ctx, func(subject string) bool { return subject == asksServices })
	defer done()
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return 0, fmt.Errorf("ask who serves: %w", unavailable(err))
	}
	defer sub.Unsubscribe() // which fails where the connection is gone, and with it the subscription
	if err := b.nc.PublishRequest(asksServices, inbox, nil); err != nil {
		return 0, fmt.Errorf("ask who serves: %w", unavailable(err))
	}
	found := map[string]bool{}
	for {
		m, err := sub.NextMsgWithContext(watched)
		switch {
		case ctx.Err() != nil || errors.Is(err, nats.ErrNoResponders):
			return len(found), nil
		case err != nil:
			return 0, fmt.Errorf("ask who serves: %w", b.denials.cause(ctx, watched, unavailable(err)))
		}
		if id, serves := b.answers(m.Data); serves {
			found[id] = true
		}
	}
}

const asksServices = micro.APIPrefix + ".INFO"

// answers reads what a service says of itself, and whether it answers commands.
func (b *Bus) answers(data []byte) (id string, serves bool) {
	var info struct {
		ID        string `json:"id"`
		Endpoints []struct {
			Subject string `json:"subject"`
		} `json:"endpoints"`
	}
	if json.Unmarshal(data, &info) != nil {
		return "", false
	}
	for _, e := range info.Endpoints {
		serves = serves || strings.HasPrefix(e.Subject, b.subjects.Prefix+".cmd.")
	}
	return info.ID, serves
}
