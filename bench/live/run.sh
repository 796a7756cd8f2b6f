#!/usr/bin/env bash
# Live events over real sockets: the service, gqlgen's generated server, the
# centrifuge library and a bare loop, each on core 0, the load and the bus on
# core 1. docs/PERFORMANCE.md says what is measured. Prints tables. Arguments go
# to the load: -help lists them.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd .. && CGO_ENABLED=0 go build -o "$dir/" ./cmd/api ./cmd/worker)
go build -o "$dir/" ./live/load ./live/gqlgen ./live/centrifuge ./live/bare
taskset -c "${LOAD_CORE:-1}" "$dir/load" -bin "$dir" -schema ../examples/social "$@"
