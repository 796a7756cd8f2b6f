package wssec_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"tidings/wssec"
	"tidings/xmltree"
)

// genuine is what was signed in the messages of testdata/foreign.
type genuine struct {
	trust trust
	docs  [][]byte
	times []time.Time
	// bodies and stamps are the canonical forms of those parts.
	bodies, stamps map[string]bool
}

func readGenuine(tb testing.TB) *genuine {
	tb.Helper()
	g := &genuine{trust: trust{partners(tb), true}, bodies: map[string]bool{}, stamps: map[string]bool{}}
	for _, file := range foreign(tb) {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		m := parse(tb, data)
		g.docs = append(g.docs, data)
		g.times = append(g.times, created(tb, m))
		g.bodies[canonicalText(m.Body)] = true
		g.stamps[canonicalText(timestampOf(m))] = true
	}
	return g
}

// check fails when a message is believed that says something that nobody signed.
func (g *genuine) check(tb testing.TB, data []byte, at time.Time) (accepted bool) {
	tb.Helper()
	m, err := parts(data)
	if err != nil {
		return false
	}
	signed, err := wssec.Verify(m, g.trust, at)
	if err != nil {
		if _, ok := err.(*wssec.Error); !ok {
			tb.Fatalf("%v is no *wssec.Error", err)
		}
		return false
	}
	stamp := timestampOf(m)
	if !signed.Covers(m.Body) || !g.bodies[canonicalText(m.Body)] || !signed.Covers(stamp) || !g.stamps[canonicalText(stamp)] {
		tb.Fatalf("accepted, but never signed: %s", data)
	}
	return true
}

func timestampOf(m wssec.Message) xmltree.Elem {
	for e := range m.Security.Children() {
		if e.Is(wssec.UtilityNS, "Timestamp") {
			return e
		}
	}
	return xmltree.Elem{}
}

func canonicalText(e xmltree.Elem) string {
	var out bytes.Buffer
	if !e.Exists() || wssec.Canonical(&out, e) != nil {
		return ""
	}
	return out.String()
}

func TestNoMutationChangesWhatWasSigned(t *testing.T) {
	t.Parallel()
	g := readGenuine(t)
	r := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for i, doc := range g.docs {
		for range 30 { // FuzzVerify looks for more
			if g.check(t, mutate(r, doc), g.times[i]) {
				accepted++
			}
		}
	}
	if accepted == 0 {
		t.Error("nothing was accepted: the mutations are too coarse to find anything")
	}
}

// mutate changes a document once or twice: bytes, or elements as a whole, which
// are taken away, repeated, moved and exchanged.
func mutate(r *rand.Rand, doc []byte) []byte {
	for range 1 + r.IntN(2) {
		tree, err := xmltree.Scan(doc, "")
		if err != nil {
			return doc
		}
		doc = []byte(tree.Source())
		all := elements(tree.Root())
		from, to := all[r.IntN(len(all))].Span()
		at, end := all[r.IntN(len(all))].Span()
		piece := slices.Clone(doc[from:to])
		switch r.IntN(6) {
		case 0:
			doc[r.IntN(len(doc))] ^= 1 << r.IntN(7)
		case 1:
			doc = slices.Delete(doc, from, to)
		case 2:
			doc = slices.Insert(doc, at, piece...)
		case 3:
			doc = slices.Insert(doc, end, piece...)
		case 4:
			if to <= at {
				doc = slices.Delete(slices.Insert(doc, at, piece...), from, to)
			}
		case 5:
			if i := bytes.IndexByte(doc[from:to], '>'); i > 0 {
				more := []string{` Id="x"`, ` xmlns:soapenv="urn:x"`, ` xmlns=""`, ` xmlns:xsd="urn:x"`, ` mustUnderstand="0"`}
				doc = slices.Insert(doc, from+i, []byte(more[r.IntN(len(more))])...)
			}
		}
	}
	return doc
}

func elements(e xmltree.Elem) []xmltree.Elem {
	all := []xmltree.Elem{e}
	for c := range e.Children() {
		all = append(all, elements(c)...)
	}
	return all
}

func FuzzVerify(f *testing.F) {
	g := readGenuine(f)
	for _, doc := range g.docs {
		f.Add(doc)
	}
	at := slices.MinFunc(g.times, time.Time.Compare)
	f.Add(seal{pair: readPair(f, "partner")}.message(f, unsigned))
	m := parse(f, seal{pair: readPair(f, "partner")}.message(f, unsigned))
	g.bodies[canonicalText(m.Body)], g.stamps[canonicalText(timestampOf(m))] = true, true
	f.Fuzz(func(t *testing.T, data []byte) {
		g.check(t, data, at)
		if m, err := parts(data); err == nil {
			g.check(t, data, stampTime(m))
		}
	})
}

// stampTime is when a message says that it was made, or the zero time.
func stampTime(m wssec.Message) time.Time {
	for e := range timestampChildren(m) {
		if at, err := xmltree.ParseDateTime(e.Text()); err == nil {
			return at
		}
	}
	return time.Time{}
}

func timestampChildren(m wssec.Message) func(func(xmltree.Elem) bool) {
	if stamp := timestampOf(m); stamp.Exists() {
		return stamp.Children()
	}
	return func(func(xmltree.Elem) bool) {}
}
