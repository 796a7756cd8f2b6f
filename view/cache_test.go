package view_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidings/view"
)

func TestACacheStaysInItsBounds(t *testing.T) {
	t.Parallel()
	const bytes = 100 * (view.EntryBytes + 100)
	c := view.NewCache(bytes)
	random := rand.New(rand.NewPCG(1, 2))
	kept := map[string]int{} // the last value of each key
	for i := range 20_000 {
		key := fmt.Sprint(random.IntN(300))
		switch random.IntN(4) {
		case 0:
			c.Put(key, i, random.IntN(2000))
			kept[key] = i
		case 1:
			c.Remove(key)
			delete(kept, key)
		default:
			if got, ok := c.Get(key); ok && got != kept[key] {
				t.Fatalf("%s is %d, want %d", key, got, kept[key])
			} else if _, known := kept[key]; ok && !known {
				t.Fatalf("%s was removed", key)
			}
		}
		if room := c.Room(); room < 0 || room > bytes {
			t.Fatalf("%d bytes are left of %d", room, bytes)
		}
	}
	for key := range kept {
		c.Remove(key)
	}
	if c.Room() != bytes {
		t.Errorf("an empty cache has %d bytes of %d left", c.Room(), bytes)
	}
}

func TestAWalkOverEverythingLeavesWhatIsReadAllTheTime(t *testing.T) {
	t.Parallel()
	c := view.NewCache(100 * (view.EntryBytes + 100))
	c.Put("hot", 1, 100)
	for i := range 10_000 {
		if _, ok := c.Get("hot"); !ok {
			t.Fatalf("it was driven out after %d others", i)
		}
		c.Put(fmt.Sprint(i), i, 100)
	}
}

func TestWhatIsLargerThanTheCacheIsNotKept(t *testing.T) {
	t.Parallel()
	c := view.NewCache(1000)
	c.Put("large", 1, 1000)
	if _, ok := c.Get("large"); ok || c.Room() != 1000 {
		t.Errorf("it was kept; %d bytes are left", c.Room())
	}
}
