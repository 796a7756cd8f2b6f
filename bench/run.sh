#!/usr/bin/env bash
# Runs every benchmark several times, in one run, and prints the best of each
# with the ratios to the baseline. docs/PERFORMANCE.md says what they measure.
# COUNT and TIME change how often and for how long each is run.
set -euo pipefail
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=${COUNT:-5} time=${TIME:-300ms}

measure() { # names, further flags
  "$dir/bench.test" -test.run '^$' -test.bench "$1" -test.benchmem -test.count "$count" -test.benchtime "$time" "${@:2}"
}

room() { # room, names: the rooms' own benchmarks
  (cd .. && go test -run '^$' -bench "$2" -benchmem -cpu 2 -count 3 -benchtime "$time" "./$1")
}

everything() {
  measure '^Benchmark(Query|Event)$' -test.cpu 1
  measure '^BenchmarkQuery$' -test.cpu 2
  measure '^Benchmark(Append|Call|Command|Delivery)$' -test.cpu 2
  measure '^BenchmarkHTTP$' -test.cpu 1
  room view '^Benchmark(Apply2000|Get|Related20x5|List20)$/^(1|20|direct|through|byID|byTime|byTwo|)$'
  room soap '^BenchmarkScan$'
}

go test -c -o "$dir/bench.test" .
"$dir/bench.test" # both sides must give the same answers
everything | tee "$dir/out" >&2
if grep -q -e '--- FAIL' "$dir/out"; then
  echo "a benchmark failed, see above" >&2
  exit 1
fi
go run ./table <"$dir/out"
http/run.sh
soap/run.sh
soap/workers.sh
live/run.sh
