package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// The pace of fetching keys.
const (
	fetchTimeout = 10 * time.Second
	maxKeySet    = 512 << 10
	// refreshGap is the least time between two fetches, whatever tokens say: so
	// strangers with invented kids cost the issuer two fetches a minute.
	refreshGap = 30 * time.Second
	// refreshWait is how long a token with an unknown kid waits for the fetch
	// that it caused.
	refreshWait = 3 * time.Second
	retryFirst  = time.Second
)

// source is a key set that rotates: it is fetched again at an interval and when
// a token names a key that is not in it. When fetching fails the last good keys
// stay.
type source struct {
	from     string // an https URL, or a file
	remote   bool
	client   *http.Client
	interval time.Duration
	log      *slog.Logger
	wanted   chan struct{} // a token names an unknown key

	mu      sync.Mutex
	keys    []key
	tried   time.Time     // when the last fetch ended
	running bool          // somebody fetches
	next    chan struct{} // closed when the next fetch has ended
}

// newSource reads a file at once, since one that is wrong is a wrong setting. A
// URL is first fetched by run.
func newSource(from string, o Options) (*source, error) {
	s := &source{
		from: from, log: o.Logger, interval: o.Refresh,
		wanted: make(chan struct{}, 1), next: make(chan struct{}),
		client: &http.Client{Timeout: fetchTimeout, Transport: o.Transport, CheckRedirect: sameSafety},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.interval <= 0 {
		s.interval = 10 * time.Minute
	}
	u, err := url.Parse(from)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		s.remote = true
		return s, safe(u)
	}
	keys, err := s.fetch(context.Background())
	if err != nil {
		return nil, err
	}
	s.keys = keys
	return s, nil
}

// safe refuses to take keys from where anybody on the way could put others.
func safe(u *url.URL) error {
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("the keys would come from %s without TLS: use an https URL, or a file", u.Host)
}

func sameSafety(r *http.Request, via []*http.Request) error {
	if len(via) > 3 {
		return errors.New("redirected too often")
	}
	return safe(r.URL)
}

// run fetches until ctx ends.
func (s *source) run(ctx context.Context) {
	s.setRunning(true)
	defer s.setRunning(false)
	timer := time.NewTimer(0)
	if !s.remote {
		timer.Reset(s.interval)
	}
	defer timer.Stop()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wanted:
			if !s.due() {
				continue
			}
		}
		if s.refresh(ctx) {
			failed = 0
			timer.Reset(s.interval - rand.N(s.interval/10+1)) // processes that start together part
		} else {
			timer.Reset(min(retryFirst<<min(failed, 10), s.interval))
			failed++
		}
	}
}

func (s *source) setRunning(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = on
}

// due reports whether a token may cause a fetch.
func (s *source) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried.IsZero() || time.Since(s.tried) >= refreshGap
}

// refresh fetches once and wakes those who wait for it.
func (s *source) refresh(ctx context.Context) bool {
	keys, err := s.fetch(ctx)
	s.mu.Lock()
	had := len(s.keys)
	if err == nil {
		s.keys = keys
	}
	s.tried = time.Now()
	close(s.next)
	s.next = make(chan struct{})
	s.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the keys of tokens cannot be fetched; the last good ones stay",
			slog.String("source", s.from), slog.Int("keys", had), slog.Any("error", err))
	}
	return err == nil
}

func (s *source) fetch(ctx context.Context) ([]key, error) {
	text, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the keys of tokens: %w", err)
	}
	keys, err := parseJWKS(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.from, err)
	}
	return keys, nil
}

func (s *source) read(ctx context.Context) ([]byte, error) {
	if !s.remote {
		return os.ReadFile(s.from)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", s.from, res.Status)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxKeySet+1))
	if err == nil && len(text) > maxKeySet {
		err = fmt.Errorf("%s answered more than %d bytes", s.from, maxKeySet)
	}
	return text, err
}

// current returns the keys; nil when none could be fetched yet.
func (s *source) current() []key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys
}

// await asks for a fetch and waits until it has ended. It reports false at once
// when there was one a moment ago, and when nobody fetches.
func (s *source) await() bool {
	s.mu.Lock()
	next, may := s.next, s.running && (s.tried.IsZero() || time.Since(s.tried) >= refreshGap)
	s.mu.Unlock()
	if !may {
		return false
	}
	select {
	case s.wanted <- struct{}{}:
	default: // somebody has asked
	}
	patience := time.NewTimer(refreshWait)
	defer patience.Stop()
	select {
	case <-next:
		return true
	case <-patience.C:
		return false
	}
}
