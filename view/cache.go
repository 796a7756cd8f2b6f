package view

import "sync"

// cache keeps values up to a number of bytes. What goes first is what was not
// asked for again since it came or since it was last passed over (SIEVE, NSDI
// 2024): a walk over everything does not drive out what is read all the time,
// and a hit moves nothing. Safe for concurrent use.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	room    int // in bytes, what is left
	entries map[K]*entry[K, V]
	newest  *entry[K, V]
	oldest  *entry[K, V]
	hand    *entry[K, V] // the next to be looked at; nil: the oldest
}

type entry[K comparable, V any] struct {
	key          K
	value        V
	size         int
	again        bool // asked for since the hand passed
	newer, older *entry[K, V]
}

// entryBytes is what an entry costs beside its key and value.
const entryBytes = 160

func newCache[K comparable, V any](bytes int) *cache[K, V] {
	return &cache[K, V]{room: bytes, entries: map[K]*entry[K, V]{}}
}

func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return value, false
	}
	e.again = true
	return e.value, true
}

// put keeps a value of so many bytes, unless there can be no room for it.
func (c *cache[K, V]) put(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putLocked(key, value, bytes)
}

func (c *cache[K, V]) putLocked(key K, value V, bytes int) {
	size := bytes + entryBytes
	if e := c.entries[key]; e != nil {
		c.drop(e)
	}
	for c.room < size && c.oldest != nil {
		c.drop(c.victim())
	}
	if c.room < size {
		return
	}
	e := &entry[K, V]{key: key, value: value, size: size, older: c.newest}
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
	c.entries[key] = e
	c.room -= size
}

// removeLocked forgets a value and reports whether there was one.
func (c *cache[K, V]) removeLocked(key K) bool {
	e := c.entries[key]
	if e != nil {
		c.drop(e)
	}
	return e != nil
}

// clearLocked forgets all values.
func (c *cache[K, V]) clearLocked() {
	for c.oldest != nil {
		c.drop(c.oldest)
	}
}

// victim passes over those that were asked for again, from the oldest to the
// newest and round, and returns the first that was not.
func (c *cache[K, V]) victim() *entry[K, V] {
	e := c.hand
	if e == nil {
		e = c.oldest
	}
	for e.again {
		e.again = false
		if e = e.newer; e == nil {
			e = c.oldest
		}
	}
	c.hand = e.newer
	return e
}

func (c *cache[K, V]) drop(e *entry[K, V]) {
	if c.hand == e {
		c.hand = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}
	delete(c.entries, e.key)
	c.room += e.size
}
