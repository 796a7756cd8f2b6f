#!/usr/bin/env bash
# Runs every benchmark several times, in one run, and prints the best of each
# with the ratios to the baseline. docs/PERFORMANCE.md says what they measure.
# COUNT and TIME change how often and how long each is run.
set -euo pipefail
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=${COUNT:-5} time=${TIME:-300ms}

measure() { # names, further flags
  "$dir/bench.test" -test.run '^$' -test.bench "$1" -test.benchmem -test.count "$count" -test.benchtime "$time" "${@:2}"
}

room() { # room, names
  (cd .. && go test -run '^$' -bench "$2" -benchmem -count "$count" -benchtime "$time" "./$1")
}

everything() {
  measure '^Benchmark(Query|Event)$' -test.cpu 1
  measure '^BenchmarkQuery$' -test.cpu 2
  measure '^Benchmark(Append|Call|Command|Delivery)$' -test.cpu 2
  room view '^Benchmark(Get|Related20x5|List20)$'
  room soap '^BenchmarkScan$'
}

go test -c -o "$dir/bench.test" .
"$dir/bench.test" # both sides must give the same answers
everything | tee "$dir/out" >&2
go run ./table <"$dir/out"
