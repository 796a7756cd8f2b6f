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
	bytes       float64 // of the best run, as allocs
	allocs      float64
}

func (r *result) best() float64 { return slices.Min(r.ns) }

// spread is how far the median run is from the best, in per cent.
func (r *result) spread() float64 {
	sorted := slices.Sorted(slices.Values(r.ns))
	return 100 * (sorted[len(sorted)/2]/sorted[0] - 1)
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
		case "B/op":
			r.bytes = value
		case "allocs/op":
			r.allocs = value
		}
	}
	return r, nil
}

func (r *result) add(one *result) {
	if one.ns[0] < r.best() {
		r.bytes, r.allocs = one.bytes, one.allocs
	}
	r.ns = append(r.ns, one.ns...)
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
	order := func(a, b *result) int {
		return cmp.Or(cmp.Compare(a.cores, b.cores), cmp.Compare(a.group, b.group), cmp.Compare(a.best(), b.best()))
	}
	slices.SortStableFunc(ratios, order)
	w := tabwriter.NewWriter(to, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, "| case \t| side \t| cores \t| ns/op \t| B/op \t| allocs/op \t| gqlgen / it \t| median over best \t|\n|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for _, r := range ratios {
		fmt.Fprintf(w, "| %s \t| %s \t| %d \t| %.0f \t| %.0f \t| %.0f \t| %.2f \t| +%.0f %% \t|\n",
			r.group, r.side, r.cores, r.best(), r.bytes, r.allocs, compared[key(r)].best()/r.best(), r.spread())
	}
	fmt.Fprint(w, "\n| part \t| cores \t| ns/op \t| B/op \t| allocs/op \t| median over best \t|\n|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for _, r := range rest {
		fmt.Fprintf(w, "| %s \t| %d \t| %.0f \t| %.0f \t| %.0f \t| +%.0f %% \t|\n",
			strings.TrimSuffix(r.group+"/"+r.side, "/"), r.cores, r.best(), r.bytes, r.allocs, r.spread())
	}
	return w.Flush()
}

func key(r *result) string { return r.group + "-" + strconv.Itoa(r.cores) }
