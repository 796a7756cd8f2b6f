package boot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// keptEvery is how often kept files are looked at.
const keptEvery = time.Second

// kept is what was made of files, and is made anew when they change.
type kept struct {
	what string // for people: the accounts
	// files are read one after the other; an empty name is no file and an empty text.
	files []string
	// take makes what is in force of their texts; with an error that stays which was.
	take func(texts [][]byte) error

	mu     sync.Mutex
	taken  [sha256.Size]byte // what was taken or refused last
	looked [sha256.Size]byte // at the last look
}

// keep makes what the files say now, and returns what makes it anew.
func keep(what string, take func(texts [][]byte) error, files ...string) (*kept, error) {
	k := &kept{what: what, files: files, take: take}
	texts, sum, err := k.read()
	if err == nil {
		err = take(texts)
	}
	k.taken, k.looked = sum, sum
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return k, nil
}

// read returns the texts of the files, and their sum; an error has a sum too.
func (k *kept) read() (texts [][]byte, sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for _, name := range k.files {
		var text []byte
		if name != "" {
			var failed error
			text, failed = readFile(name)
			err = errors.Join(err, failed)
		}
		fmt.Fprintf(h, "%d %v\n", len(text), err)
		h.Write(text)
		texts = append(texts, text)
	}
	return texts, [sha256.Size]byte(h.Sum(nil)), err
}

// readFile reads a file. One of nothing is one that somebody is about to write.
func readFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("%s is empty", name)
	}
	return text, err
}

// look takes the files when they are others than those that were taken last, and
// the same as at the last look: whoever writes them does so in several steps.
func (k *kept) look(ctx context.Context, log *slog.Logger) {
	k.mu.Lock()
	defer k.mu.Unlock()
	texts, sum, err := k.read()
	settled := sum == k.looked
	k.looked = sum
	if settled && sum != k.taken {
		k.change(ctx, log, texts, sum, err)
	}
}

// again takes the files as they are.
func (k *kept) again(ctx context.Context, log *slog.Logger) {
	k.mu.Lock()
	defer k.mu.Unlock()
	texts, sum, err := k.read()
	k.looked = sum
	k.change(ctx, log, texts, sum, err)
}

func (k *kept) change(ctx context.Context, log *slog.Logger, texts [][]byte, sum [sha256.Size]byte, err error) {
	k.taken = sum
	if err == nil {
		err = k.take(texts)
	}
	files := slog.Any("files", slices.DeleteFunc(slices.Clone(k.files), func(name string) bool { return name == "" }))
	if err != nil {
		log.LogAttrs(ctx, slog.LevelError, k.what+" are not read again; those in force stay", files, slog.Any("error", err))
		return
	}
	log.LogAttrs(ctx, slog.LevelInfo, k.what+" are read again", files)
}

// watch looks at all kept files until ctx ends, and then returns nil.
func (r *Rooms) watch(ctx context.Context) error {
	tick := time.NewTicker(keptEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		for _, k := range r.kept {
			k.look(ctx, r.log)
		}
	}
}

// again reads all kept files again, whether they have changed or not.
func (r *Rooms) again(ctx context.Context) {
	for _, k := range r.kept {
		k.again(ctx, r.log)
	}
}
