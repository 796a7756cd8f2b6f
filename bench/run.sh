#!/usr/bin/env bash
# Runs every benchmark several times, in one run, and prints the best of each
# with the ratios to the baseline. docs/PERFORMANCE.md says what they measure.
# COUNT and TIME change how often and how long each is run.
set -euo pipefail
cd "$(dirname "$0")"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

measure() { # directory, names, packages, further flags
  (cd "$1" && go test -run '^$' -bench "$2" -benchmem -count "${COUNT:-5}" -benchtime "${TIME:-300ms}" "${@:4}" "$3") |
    tee -a "$out" | grep --line-buffered '^\(Benchmark\|---\|FAIL\|panic\)' >&2
}

go test -count=1 . >&2 # both sides give the same answers
measure . '^Benchmark(Query|Event)$' . -cpu 1
measure . '^BenchmarkQuery$' . -cpu 2
measure . '^Benchmark(Append|Call|Command|Delivery)$' .
measure .. '^Benchmark(Get|Related20x5|List20)$' ./view
measure .. '^BenchmarkScan$' ./soap
go run ./table <"$out"
