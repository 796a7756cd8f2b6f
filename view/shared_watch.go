package view

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidings/internal/sleep"
)

const (
	// pollEvery is how often the position is asked for while somebody waits for
	// it, should notifications not arrive (a pooler in between, a standby), and
	// pollIdle while nobody does.
	pollEvery = 100 * time.Millisecond
	pollIdle  = time.Second
	// reconnectEvery is how often a connection is tried.
	reconnectEvery = 250 * time.Millisecond
	// awayGrace is how long the database may be away before the view is not ready.
	awayGrace = 15 * time.Second
)

var errFirst = errors.New("the database of the shared view was not reached yet")

// watch keeps the state up to date until ctx ends.
func (s *Shared) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		s.lost(err)
		_ = sleep.For(ctx, reconnectEvery)
	}
}

// listen follows the position by notifications, and by looking.
func (s *Shared) listen(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if err := s.connected(ctx, c); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "LISTEN "+quote(s.name)); err != nil && sqlState(err) == "" {
		return err // a standby refuses, and is looked at
	}
	looked := time.Now()
	for {
		n, err := heard(ctx, c)
		switch {
		case err != nil:
			return err
		case n != nil:
			if position, err := strconv.ParseUint(n.Payload, 10, 64); err == nil {
				s.reached(position)
			}
			continue
		case !s.awaited() && time.Since(looked) < pollIdle:
			continue
		}
		if err := s.look(ctx, c); err != nil {
			return err
		}
		looked = time.Now()
	}
}

// heard returns a notification, or none when there was none for a while.
func heard(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	short, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	n, err := c.WaitForNotification(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil && !c.IsClosed() {
		return nil, nil
	}
	return n, err
}

// look reads what the tables say of themselves.
func (s *Shared) look(ctx context.Context, c *pgx.Conn) error {
	before := s.Position()
	var found standing
	var log string
	var position int64
	err := c.QueryRow(ctx, "SELECT built, position, log FROM "+s.meta()+" WHERE format = $1", setFormat).Scan(&found.built, &position, &log)
	switch code := sqlState(err); {
	case errors.Is(err, pgx.ErrNoRows) || code == undefinedTable || code == undefinedSchema:
		found, err = standing{}, nil
	case code == insufficientPrivilege:
		return fmt.Errorf("%w: docs/operations.md says what to grant", err)
	case err != nil:
		return err
	case log != s.logID:
		found = standing{} // it shows another log
	default:
		found.position = uint64(position)
	}
	s.found(before, found)
	return nil
}

// found takes in a state that was read after the position before was known.
func (s *Shared) found(before uint64, now standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case now.position < before:
		s.log.Warn("the shared view shows less than before; reads wait until it has caught up with the log", "shown", before, "seq", now.position)
	case now.built && s.state.built:
		now.position = max(now.position, s.state.position) // another look was faster
	}
	if s.err != nil && s.err != errFirst {
		s.log.Info("the database of the shared view is there again")
	}
	if s.err != nil || now != s.state {
		s.state, s.err = now, nil
		s.changed()
	}
}

// reached takes in a position that was told.
func (s *Shared) reached(position uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.built && position > s.state.position {
		s.state.position = position
		s.changed()
	}
}

// lost notes that the state cannot be learned.
func (s *Shared) lost(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.log.Warn("the database of the shared view is away", "error", err)
	}
	if s.err == nil || s.err == errFirst {
		s.since = time.Now()
	}
	s.err = err
	s.changed()
}

// changed wakes those who wait. The caller holds the lock.
func (s *Shared) changed() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// now returns the state, what tells of a change, and why neither is known any more.
func (s *Shared) now() (standing, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.moved, s.err
}

// awaited reports whether somebody may be waiting for the tables.
func (s *Shared) awaited() bool { return s.waiting.Load() > 0 }

// Ready returns nil while the view can be read, or could be until a moment ago.
func (s *Shared) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil && (s.told == 0 || time.Since(s.since) > awayGrace):
		return fmt.Errorf("the database of the shared view is away: %w", s.err)
	case s.err == nil && !s.state.built:
		return errors.New("the shared view is not filled yet: a worker with this schema and TIDINGS_VIEW_URL does so")
	case s.err == nil && s.state.position < s.told:
		return errors.New("the shared view shows less than it did, and is catching up with the log")
	}
	return nil
}
