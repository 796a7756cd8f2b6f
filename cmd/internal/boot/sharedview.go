package boot

import (
	"context"
	"errors"
	"fmt"

	"tidings/internal/proc"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// shownView is a view as editions use it: a file of this process, or tables of
// PostgreSQL that processes share.
type shownView interface {
	resource.View
	Ready() error
	Sync(ctx context.Context) error
	Close() error
}

// openShared opens the shared view of a model. Who writes fills it as well, when
// nobody else does.
func (r *Rooms) openShared(m *schema.Model) (*store, error) {
	o := view.SharedOptions{URL: r.config.ViewURL, Prefix: r.config.Prefix, Logger: r.log}
	v, err := view.OpenShared(m, r.Bus.LogID(), o)
	if err != nil {
		return nil, err
	}
	s := &store{View: v, Feed: resource.NewFeed(r.Bus, m, v, resource.FeedOptions{Metrics: r.Metrics, Logger: r.log})}
	if r.role.Writes {
		s.projector = &resource.Projector{Bus: r.Bus, Model: m, View: o}
	}
	return s, nil
}

// parts are what fills the view.
func (s *store) parts() []proc.Part {
	parts := []proc.Part{{Name: "feed", Run: s.Feed.Run}}
	if s.projector != nil {
		parts = append(parts, proc.Part{Name: "projector", Run: s.projector.Run})
	}
	return parts
}

func (c *Config) checkViewURL() error {
	if c.ViewURL == "" {
		return nil
	}
	if c.View != "" {
		return errors.New("TIDINGS_VIEW and TIDINGS_VIEW_URL are both set: a process reads a view of its own or the shared one; remove one")
	}
	if err := view.CheckSharedURL(c.ViewURL); err != nil {
		return fmt.Errorf("TIDINGS_VIEW_URL: %w", err)
	}
	return nil
}
