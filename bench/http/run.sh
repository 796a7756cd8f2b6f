#!/usr/bin/env bash
# Requests a second over HTTP, through the whole stack: the service, a server of
# gqlgen's generated code and mercurius, one after the other in one run, each on
# one core and the load on another. docs/PERFORMANCE.md says what they measure.
# SECONDS_EACH and CONNECTIONS change how long and how many, ARRIVALS (even,
# poisson) how requests come at half load. PRIORITY='chrt -r 1' runs the servers
# at half load, and what loads them, before all else on a machine that others use.
# Prints a table.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-5} connections=${CONNECTIONS:-32}

command -v wrk >/dev/null && command -v node >/dev/null ||
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends wrk nodejs npm; } >&2
(cd mercurius && npm ci --silent --no-audit --no-fund) >&2

dir=$(mktemp -d)
pids=()
declare -A pid
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait 2>/dev/null; rm -rf "$dir"' EXIT
(cd .. && CGO_ENABLED=0 go build -o "$dir/api" ./cmd/api)
go build -o "$dir/" ./http/gqlgen ./http/seed ./http/pace

declare -A url=([tidings]=http://127.0.0.1:8181/graphql [gqlgen]=http://127.0.0.1:8182/graphql [mercurius]=http://127.0.0.1:8183/graphql)

start() { # name, command...: on the servers' core
  local name=$1
  shift
  taskset -c 0 "$@" >"$dir/$name.log" 2>&1 &
  pids+=($!)
  pid[$name]=$!
  for _ in $(seq 200); do
    curl -so /dev/null "${url[$name]}" && return
    sleep 0.05
  done
  cat "$dir/$name.log" >&2
  return 1
}

settings=(--dev --data "$dir/data" --schema ../examples/social --listen 127.0.0.1:8181 --admin '' --log-level warn ${API_FLAGS:-})
start tidings "$dir/api" "${settings[@]}"
token=$("$dir/api" token --sub admin --roles ADMIN --data "$dir/data")
"$dir/seed" -token "$token" -out "$dir/records.json" "${url[tidings]}"
start gqlgen "$dir/gqlgen" -listen 127.0.0.1:8182 -data "$dir/records.json" -dir "$dir/stream"
start mercurius env NODE_ENV=production node mercurius/server.js 8183 "$dir/records.json" gqlgen/schema.graphqls
"$dir/seed" -token "$token" "${url[tidings]}" "${url[gqlgen]}" "${url[mercurius]}"

query='query($id: ID!){user(id: $id){id name email adminNotes avatar createdAt}}'
hash=$(printf %s "$query" | sha256sum | cut -d' ' -f1)

load() { # side, case, connections, seconds: "rps p50 p99 failures", as fast as it can
  local bearer=$token
  [ "$1" = tidings ] || bearer=
  taskset -c 1 wrk -t1 -c"$3" -d"$4" -s http/load.lua "${url[$1]}" -- "$2" "$bearer" "$hash" | sed -n 's/^result //p'
}

at_rate() { # side, case, requests a second, seconds: "rps p50 p99 p99.9 failures late"
  local bearer=$token
  [ "$1" = tidings ] || bearer=
  first "${pid[$1]}" 1
  ${PRIORITY:-} taskset -c 1 "$dir/pace" -case "$2" -token "$bearer" -hash "$hash" -rate "$3" -seconds "$4" -arrivals "${ARRIVALS:-even}" "${url[$1]}" | sed -n 's/^result //p'
  first "${pid[$1]}" 0
}

first() { # pid, 1 or 0: before all else or not, where PRIORITY is set
  [ -z "${PRIORITY:-}" ] || chrt -a $([ "$2" = 1 ] && echo --rr || echo --other) -p "$2" "$1"
}

register() { # side: the text under its hash; fails where that is not known
  curl -sf "${url[$1]}" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -o "$dir/apq" -d '{"query":"'"$query"'","variables":{"id":"user-0001"},"extensions":{"persistedQuery":{"version":1,"sha256Hash":"'"$hash"'"}}}' &&
    curl -sfG "${url[$1]}" -H "Authorization: Bearer $token" --data-urlencode 'variables={"id":"user-0001"}' \
      --data-urlencode 'extensions={"persistedQuery":{"version":1,"sha256Hash":"'"$hash"'"}}' | grep -q '"user-0001"'
}

used() { awk '{print $14+$15}' "/proc/${pid[$1]}/stat"; } # processor time in ticks of 10 ms

measure() { # case, side, connections
  load "$2" "$1" "$3" 1 >/dev/null # warm
  local before after
  before=$(used "$2")
  read -r rps p50 p99 failed <<<"$(load "$2" "$1" "$3" "$seconds")"
  after=$(used "$2")
  # Half of what a core to itself would do.
  local cpu=$(((after - before) * 10000 / (rps * seconds + 1)))
  read -r hrps h50 h99 h999 hfailed late <<<"$(at_rate "$2" "$1" $((500000 / (cpu > 0 ? cpu : 1))) "$seconds")"
  echo "| $1 | $2 | $3 | $rps | $cpu | $p50 | $p99 | $failed | $hrps | $h50 | $h99 | $h999 | $hfailed | $late |"
}

echo '| case | server | connections | requests/s | CPU µs | p50 µs | p99 µs | failed | at half load: requests/s | p50 µs | p99 µs | p99.9 µs | failed | load late (p99) µs |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|'
for case in ${CASES:-object list apq post user}; do
  for side in ${SIDES:-tidings gqlgen mercurius}; do
    case $case-$side in
    post-mercurius | user-mercurius) continue ;;
    apq-*) register $side || { echo "| apq | $side | | not there | | | | | | | | | | |"; continue; } ;;
    esac
    measure $case $side $connections
    case $case in post | user) measure $case $side 256 ;; esac
  done
done
