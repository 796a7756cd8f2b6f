package bus

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// The log's identity is the time at which its stream was created, unless the
// stream's metadata say another: a stream that is restored from a backup has the
// time of the one that was lost, and goes on where the backup ends, under
// sequences that meant other messages before.

// metadataLog is the key of the stream's metadata that holds its identity.
const metadataLog = "tidings-log"

// logID is short and sorts by age: nanoseconds to the base of 36.
func logID(created time.Time) string { return strconv.FormatInt(created.UnixNano(), 36) }

// logIDOf is the identity of a stream.
func logIDOf(created time.Time, metadata map[string]string) string {
	id := metadata[metadataLog]
	if id == "" || len(id) > 32 || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return logID(created)
	}
	return id
}

// NewIdentity gives the log another identity and returns it: for a log that was restored
// from a backup, before anybody uses it. All positions in it that were told before
// expire, what was built from it is built anew, and every process that has it open
// ends, this bus's own Follow too: close the bus.
func (b *Bus) NewIdentity(ctx context.Context) (id string, err error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	s, err := b.js.Stream(ctx, b.subjects.Stream())
	if err != nil {
		return "", fmt.Errorf("renew the log: %w", unavailable(err))
	}
	config := s.CachedInfo().Config
	metadata := map[string]string{}
	maps.Copy(metadata, config.Metadata)
	maps.DeleteFunc(metadata, func(key, _ string) bool { return strings.HasPrefix(key, "_nats.") }) // the server's own
	id = logID(time.Now())
	metadata[metadataLog] = id
	config.Metadata = metadata
	if s, err = b.js.UpdateStream(ctx, config); err != nil {
		return "", fmt.Errorf("renew the log: %w", unavailable(err))
	}
	if got := logIDOf(time.Time{}, s.CachedInfo().Config.Metadata); got != id {
		return "", fmt.Errorf("renew the log: the stream keeps no metadata")
	}
	return id, nil
}
