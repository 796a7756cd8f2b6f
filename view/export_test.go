package view

import (
	"context"
	"fmt"
	"time"
)

// Cache is a cache for tests.
type Cache struct{ c *cache[string, int] }

// NewCache returns a cache of so many bytes.
func NewCache(bytes int) Cache { return Cache{newCache[string, int](bytes)} }

// EntryBytes is what each entry costs beside its value.
const EntryBytes = entryBytes

// Put, Get and Remove are what a cache does.
func (c Cache) Put(key string, value, bytes int) { c.c.put(key, value, bytes) }
func (c Cache) Get(key string) (int, bool)       { return c.c.get(key) }
func (c Cache) Remove(key string) bool {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	return c.c.removeLocked(key)
}

// Room is how many bytes are left.
func (c Cache) Room() int { return c.c.room }

// Remembered reports whether a record is in memory.
func Remembered(v *View, typ, id string) bool { return v.memory.record(typ, id) != nil }

// MaxUnwritten is how many changes the file may lack before Apply writes them.
const MaxUnwritten = maxUnwritten

// Unwritten is how many records the file lacks.
func Unwritten(v *View) int {
	v.behind.mu.RLock()
	defer v.behind.mu.RUnlock()
	n := len(v.behind.waiting.rows)
	if v.behind.leaving != nil {
		n += len(v.behind.leaving.rows)
	}
	return n
}

// Hold keeps everybody from writing the file until release is called.
func Hold(v *View) (release func()) {
	v.writing <- struct{}{}
	return func() { <-v.writing }
}

// Fill makes the file's disk full, or gives it room again.
func Fill(ctx context.Context, v *View, full bool) error {
	defer Hold(v)()
	pages := 1 // SQLite takes the size that it has when that is more
	if !full {
		pages = 1 << 30
	}
	_, err := v.writer.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", pages))
	return err
}

// Unlock gives back a projection's lock, which it does not notice.
func Unlock(ctx context.Context, p *Projection) error {
	_, err := p.conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	return err
}

// Age makes a projection's tables look as if nobody had filled them for long.
func Age(ctx context.Context, p *Projection) error {
	_, err := p.conn.Exec(ctx, "UPDATE "+p.meta()+" SET used = now() - interval '1 year'")
	return err
}

// There reports whether a shared view's tables are there.
func There(ctx context.Context, p *Projection, s *Shared) (there bool, err error) {
	err = p.conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", s.name).Scan(&there)
	return there, err
}

// GoBack makes a projection's tables as they were at an earlier position, before
// a post.
func GoBack(ctx context.Context, p *Projection, position int64, post string) error {
	if _, err := p.conn.Exec(ctx, "DELETE FROM "+p.tables["Post"].name+" WHERE id = $1", marked(post)); err != nil {
		return err
	}
	_, err := p.conn.Exec(ctx, "UPDATE "+p.meta()+" SET position = $1", position)
	return err
}

// ForgetPast deletes what records were.
func ForgetPast(ctx context.Context, p *Projection) error {
	_, err := p.conn.Exec(ctx, "TRUNCATE "+p.past())
	return err
}

// Statements counts what others have running on the server.
func Statements(ctx context.Context, p *Projection) (n int, err error) {
	err = p.conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND query LIKE '%position(%'").Scan(&n)
	return n, err
}

// Analyze has the server learn how often values occur.
func Analyze(ctx context.Context, p *Projection) error {
	_, err := p.conn.Exec(ctx, "ANALYZE")
	return err
}

// Impatient takes the tables away from a projection that stalls for so long.
func Impatient(o SharedOptions, stalled time.Duration) SharedOptions {
	o.stalled = stalled
	return o
}

// Silence is after how long without a sign of life a projection is cut off.
const Silence = silence
