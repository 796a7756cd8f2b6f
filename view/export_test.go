package view

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
