package xmltree_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"tidings/xmltree"
)

// Large documents leave no large memory to the small ones that follow.
func TestTheMemoryOfLargeDocumentsIsNotKept(t *testing.T) { // by itself: it looks at the heap
	var memory xmltree.Memory
	read := func(doc string) {
		var tree xmltree.Tree
		if err := memory.Scan(&tree, []byte(doc), "", 16<<20); err != nil {
			t.Error(err)
		}
		tree.Release()
	}
	heap := func() int64 {
		runtime.GC() // what a pool keeps outlives one collection
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for _, doc := range []string{
		"<a>" + strings.Repeat("<b/>", 190_000) + "</a>",
		"<a>" + strings.Repeat("&lt;", 2<<20) + "</a>",
		"<a" + numbered(60, ` xmlns:p%d="u"`) + ">" + strings.Repeat("<b"+numbered(60, ` a%d=""`)+"/>", 6_000) + "</a>",
	} {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { read(doc) })
		}
		wg.Wait()
	}
	if kept := heap() - before; kept > 4<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	read("<a/>")
}
