package main

import (
	"strings"
	"testing"
)

func TestTheBestRunIsComparedWithTheBaseline(t *testing.T) {
	list, err := read(strings.NewReader(`goos: linux
BenchmarkQuery/list/tidings         	 10	 900 ns/op	 300 cpu-ns/op	 40 B/op	 4 allocs/op
BenchmarkQuery/list/tidings         	 10	 500 ns/op	 200 cpu-ns/op	 30 B/op	 3 allocs/op
BenchmarkQuery/list/gqlgen          	 10	 700 ns/op	 600 cpu-ns/op	 90 B/op	 9 allocs/op
BenchmarkQuery/list/gqlgen-2        	 10	 800 ns/op	 650 cpu-ns/op	 91 B/op	 9 allocs/op
BenchmarkScan-2                     	 10	 123.4 ns/op	 7.5 MB/s	 5 B/op	 1 allocs/op
PASS
`))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := write(&out, list); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"| Query/list | tidings | 1 | 200 | 500 | 30 | 3 | 3.00 | +50 % |",
		"| Query/list | gqlgen | 1 | 600 | 700 | 90 | 9 | 1.00 | +0 % |",
		"| Query/list | gqlgen | 2 | 650 | 800 | 91 | 9 | 1.00 | +0 % |",
		"| Scan | 2 | | 123 | 5 | 1 | +0 % |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no line\n%s in\n%s", want, out.String())
		}
	}
}
