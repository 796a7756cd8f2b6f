// Command table reads what go test -bench printed, several runs of it, and
// prints the best run of each benchmark. Benchmarks that differ in their last
// name alone, one of which is "gqlgen", stand together with their ratios.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

const baseline = "gqlgen"

func main() {
	list, err := read(os.Stdin)
	if err == nil {
		err = write(os.Stdout, list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// result is one benchmark's runs.
type result struct {
	group, side string // Query/object and tidings
	cores       int
	ns          []float64
	cpu         []float64 // empty where nobody counted it
	bytes       float64   // of the best run, as allocs
	allocs      float64
}

// price is the least that an operation cost: of processor time where that was
// counted, otherwise of time by the clock.
func (r *result) price() float64 { return slices.Min(r.prices()) }

func (r *result) prices() []float64 {
	if len(r.cpu) > 0 {
		return r.cpu
	}
	return r.ns
}

// spread is how far the median run is from the best, in per cent.
func (r *result) spread() float64 {
	sorted := slices.Sorted(slices.Values(r.prices()))
	return 100 * (sorted[len(sorted)/2]/sorted[0] - 1)
}

// counted is the least processor time as text.
func (r *result) counted() string {
	if len(r.cpu) == 0 {
		return ""
	}
	return strconv.FormatFloat(slices.Min(r.cpu), 'f', 0, 64)
}

// read collects the runs, in the order in which the benchmarks first came.
func read(from io.Reader) ([]*result, error) {
	var list []*result
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") || words[3] != "ns/op" {
			continue
		}
		one, err := parse(words)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		i := slices.IndexFunc(list, func(r *result) bool {
			return r.group == one.group && r.side == one.side && r.cores == one.cores
		})
		if i < 0 {
			list = append(list, one)
			continue
		}
		list[i].add(one)
	}
	return list, lines.Err()
}

// parse reads a line: name, iterations, then values with their units.
func parse(words []string) (*result, error) {
	r := &result{cores: 1}
	name := strings.TrimPrefix(words[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil {
			name, r.cores = name[:i], n
		}
	}
	r.group = name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		r.group, r.side = name[:i], name[i+1:]
	}
	for i := 2; i+1 < len(words); i += 2 {
		value, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return nil, err
		}
		switch words[i+1] {
		case "ns/op":
			r.ns = append(r.ns, value)
		case "cpu-ns/op":
			r.cpu = append(r.cpu, value)
		case "B/op":
			r.bytes = value
		case "allocs/op":
			r.allocs = value
		}
	}
	return r, nil
}

func (r *result) add(one *result) {
	if one.price() < r.price() {
		r.bytes, r.allocs = one.bytes, one.allocs
	}
	r.ns = append(r.ns, one.ns...)
	r.cpu = append(r.cpu, one.cpu...)
}

func write(to io.Writer, list []*result) error {
	compared := map[string]*result{}
	for _, r := range list {
		if r.side == baseline {
			compared[key(r)] = r
		}
	}
	var ratios, rest []*result
	for _, r := range list {
		if compared[key(r)] != nil {
			ratios = append(ratios, r)
			continue
		}
		rest = append(rest, r)
	}
	// Queries before events, the cheapest side first.
	slices.SortStableFunc(ratios, func(a, b *result) int {
		return cmp.Or(cmp.Compare(a.cores, b.cores), -cmp.Compare(a.group, b.group), cmp.Compare(a.price(), b.price()))
	})
	w := tabwriter.NewWriter(to, 0, 0, 1, ' ', 0)
	row(w, "case", "side", "cores", "CPU ns/op", "ns/op", "B/op", "allocs/op", "gqlgen / it", "spread")
	row(w, "---", "---", "---", "---", "---", "---", "---", "---", "---")
	for _, r := range ratios {
		ratio := fmt.Sprintf("%.2f", compared[key(r)].price()/r.price())
		row(w, r.group, r.side, r.cores, r.counted(), slices.Min(r.ns), r.bytes, r.allocs, ratio, fmt.Sprintf("+%.0f %%", r.spread()))
	}
	fmt.Fprintln(w)
	row(w, "part", "cores", "CPU ns/op", "ns/op", "B/op", "allocs/op", "spread")
	row(w, "---", "---", "---", "---", "---", "---", "---")
	for _, r := range rest {
		name := strings.TrimSuffix(r.group+"/"+r.side, "/")
		row(w, name, r.cores, r.counted(), slices.Min(r.ns), r.bytes, r.allocs, fmt.Sprintf("+%.0f %%", r.spread()))
	}
	return w.Flush()
}

// row writes a line of a Markdown table.
func row(w io.Writer, cells ...any) {
	for _, c := range cells {
		if number, ok := c.(float64); ok {
			c = strconv.FormatFloat(number, 'f', 0, 64)
		}
		fmt.Fprintf(w, "| %v \t", c)
	}
	fmt.Fprintln(w, "|")
}

func key(r *result) string { return r.group + "-" + strconv.Itoa(r.cores) }
