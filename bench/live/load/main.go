// Command load compares servers of live events over real sockets: it starts one
// after the other on a core of its own, opens many WebSockets, publishes events
// at a rate and counts what comes. It is the bus, too. It prints tables in
// Markdown. docs/PERFORMANCE.md says what the figures mean.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
)

var (
	bin        = flag.String("bin", "", "directory of the servers' binaries")
	schemaDir  = flag.String("schema", "", "directory of the example's schema")
	serverCore = flag.String("server-core", "0", "core of the server")
	only       = flag.String("sides", "tidings,gqlgen,centrifuge,bare loop", "which sides")
	cases      = flag.String("cases", "quiet,knee,groups,slow,idle", "which cases")
	sizes      = flag.String("sizes", "1000,10000", "numbers of sockets")
	idleCount  = flag.Int("idle", 15000, "sockets of the case idle")
	rate       = flag.Float64("rate", 100, "events a second of the case rate")
	of         = flag.String("of", string(shared), "what the sockets of the case rate ask for")
	seconds    = flag.Float64("seconds", 3, "length of a step")
	holdSide   = flag.String("hold", "", "only open the sockets of the case idle, at this side's server")
	holdPort   = flag.Int("port", 0, "where that listens")
	settle     = flag.Duration("settle", 150*time.Second, "how long idle sockets are left alone before the memory is looked at")
)

func main() {
	flag.Parse()
	do := run
	if *holdSide != "" {
		do = func() error { return holdSockets(*holdSide, *holdPort, *idleCount) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// bench is what all cases share.
type bench struct {
	dir     string
	sides   []*side
	nats    string
	core    core
	writers *writers
	step    time.Duration
}

func run() error {
	dir, err := os.MkdirTemp("", "live")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	b, err := bus.Open(ctx, bus.Options{Dir: filepath.Join(dir, "log"), Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer b.Close(ctx)
	nc, err := nats.Connect(b.URL())
	if err != nil {
		return err
	}
	defer nc.Close()
	all := &bench{dir: dir, nats: b.URL(), core: core{nc}, writers: newWriters(b), step: time.Duration(*seconds * float64(time.Second))}
	defer all.writers.stop()
	for _, s := range sides(*bin, dir, b.URL()) {
		if slices.Contains(strings.Split(*only, ","), s.name) {
			all.sides = append(all.sides, s)
		}
	}
	for _, name := range strings.Split(*cases, ",") {
		switch name {
		case "quiet":
			err = all.quiet()
		case "knee":
			err = all.knees(shared)
		case "groups":
			err = errors.Join(all.knees(hundred), all.knees(different))
		case "rate":
			err = all.at(*rate)
		case "slow":
			err = all.slow()
		case "idle":
			err = all.idle()
		default:
			err = fmt.Errorf("there is no case %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) rig(s *side, g grouping, n int) *rig {
	r := &rig{side: s, g: g, n: n, dir: b.dir, publish: b.core}
	if s.log {
		r.publish = b.writers
	}
	return r
}

func (b *bench) numbers() (list []int) {
	for _, s := range strings.Split(*sizes, ",") {
		var n int
		if _, err := fmt.Sscan(s, &n); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// quiet measures 20 events a second to 1,000 sockets.
func (b *bench) quiet() error {
	fmt.Println("\n| 20 events/s to 1,000 sockets | CPU µs for each delivery | p50 ms | p99 ms |\n|---|---|---|---|")
	for _, s := range b.sides {
		r := b.rig(s, shared, 1000)
		x, err := r.step(20, max(b.step, 5*time.Second))
		r.down()
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.1f | %s | %s |\n", s.name, x.cpu, ms(x.p50), ms(x.p99))
	}
	return nil
}

// at measures one rate: for a look at where the time goes.
func (b *bench) at(rate float64) error {
	for _, n := range b.numbers() {
		for _, s := range b.sides {
			r := b.rig(s, grouping(*of), n)
			x, err := r.step(rate, b.step)
			r.down()
			if err != nil {
				return err
			}
			fmt.Printf("%s, %d sockets, %s: %s\n", s.name, n, *of, x)
		}
	}
	return nil
}

// knees looks for each side's knee, and measures the latency at half of it.
func (b *bench) knees(g grouping) error {
	fmt.Printf("\n| %s | sockets | deliveries/s at the knee | events/s | CPU µs for each delivery | p99 ms | at half of it: CPU µs | p50 ms | p99 ms |\n|---|---|---|---|---|---|---|---|---|\n", g)
	for _, n := range b.numbers() {
		for _, s := range b.sides {
			if _, has := s.target(g); !has {
				continue
			}
			if err := b.knee(s, g, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) knee(s *side, g grouping, n int) error {
	r := b.rig(s, g, n)
	defer r.down()
	x, err := r.knee(20_000/float64(n), b.step, func(x result) {
		fmt.Fprintf(os.Stderr, "%s, %d sockets, %s: %s\n", s.name, n, g, x)
	})
	if err != nil {
		return err
	}
	if x.rate == 0 {
		fmt.Printf("| %s | %d | – | | | | | | |\n", s.name, n)
		return nil
	}
	half, err := r.step(x.rate/2, b.step)
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %d | %.0f | %.1f | %.2f | %s | %.2f | %s | %s |\n", s.name, n, x.deliveries, x.rate, x.cpu, ms(x.p99), half.cpu, ms(half.p50), ms(half.p99))
	if !s.log || g != shared {
		return nil
	}
	if half, err = r.mutating(x.rate/2, b.step, b.nats); err != nil {
		return err
	}
	fmt.Printf("| %s, from a mutation | %d | | | | | %.2f | %s | %s |\n", s.name, n, half.cpu, ms(half.mutations.quantile(0.5)), ms(half.mutations.quantile(0.99)))
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }

func sqrt(x float64) float64 { return math.Sqrt(x) }
