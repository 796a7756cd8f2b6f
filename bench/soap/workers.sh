#!/usr/bin/env bash
# SOAP calls a second through one api with 1, 2 and 4 worker processes beside a
# NATS server: what another worker adds. So that one machine has room for all of
# them, each worker gets SHARE percent of a core and no more (a control group of
# its own, version 1: it needs root). docs/PERFORMANCE.md says what it measures.
# SECONDS_EACH, CONNECTIONS, SHARE, CASES and WORKERS narrow a run. Prints a table.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-5} connections=${CONNECTIONS:-400} share=${SHARE:-5}
groups=/sys/fs/cgroup/cpu

[ -w $groups ] || { echo "no control groups of version 1 that this user may make in $groups: the bench of workers is left out" >&2; exit 0; }
command -v wrk >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends wrk; } >&2

dir=$(mktemp -d)
pids=() workers=()
stop() { kill "$@" 2>/dev/null || true; wait "$@" 2>/dev/null || true; }
clean() {
  stop "${workers[@]}" "${pids[@]}"
  for g in "$groups"/tidings-$$-*; do [ ! -d "$g" ] || rmdir "$g"; done
  rm -rf "$dir"
}
trap clean EXIT
(cd .. && CGO_ENABLED=0 go build -o "$dir/" ./cmd/api ./cmd/worker)
go build -o "$dir/" ./http/seed
go build -o "$dir/nats-server" github.com/nats-io/nats-server/v2

until_there() { # what, address
  for _ in $(seq 200); do
    curl -sfo /dev/null "$2" && return
    sleep 0.05
  done
  cat "$dir/$1.log" >&2
  return 1
}

key=$(head -c 32 /dev/urandom | base64)
export TIDINGS_JWT_SECRET=$key TIDINGS_NATS_URL=nats://127.0.0.1:8196 TIDINGS_SCHEMA=../examples/social TIDINGS_LOG_LEVEL=warn
export TIDINGS_RATE_USER=0 TIDINGS_RATE_SERVICE=0
"$dir/nats-server" -js -sd "$dir/stream" -a 127.0.0.1 -p 8196 -m 8197 >"$dir/nats.log" 2>&1 &
pids+=($!)
until_there nats http://127.0.0.1:8197/healthz

worker() { # number
  local g=$groups/tidings-$$-$1
  mkdir -p "$g"
  echo 20000 >"$g/cpu.cfs_period_us"
  echo $((share * 200)) >"$g/cpu.cfs_quota_us"
  "$dir/worker" --admin "127.0.0.1:82$1" >"$dir/worker$1.log" 2>&1 &
  workers+=($!)
  until_there "worker$1" "http://127.0.0.1:82$1/readyz" # it starts at full speed
  for t in /proc/$!/task/*; do echo "${t##*/}" >"$g/tasks"; done
  echo $! >"$g/cgroup.procs"
}

token() { # of an administrator, for an hour
  b64() { base64 -w0 | tr '+/' '-_' | tr -d =; }
  local head body
  head=$(printf '{"alg":"HS256","typ":"JWT"}' | b64)
  body=$(printf '{"sub":"admin","roles":["ADMIN"],"exp":%d}' $(($(date +%s) + 3600)) | b64)
  printf '%s.%s.%s' "$head" "$body" "$(printf '%s.%s' "$head" "$body" | openssl dgst -sha256 -hmac "$key" -binary | b64)"
}

worker 01
"$dir/api" --listen 127.0.0.1:8198 --admin 127.0.0.1:8199 >"$dir/api.log" 2>&1 &
pids+=($!)
until_there api http://127.0.0.1:8199/readyz
bearer=$(token)
"$dir/seed" -token "$bearer" -out "$dir/records.json" http://127.0.0.1:8198/graphql

echo '| case | workers | calls/s | p50 µs | p99 µs | failed | to one |'
echo '|---|---|---|---|---|---|---|'
for case in ${CASES:-get create}; do
  one=
  for n in ${WORKERS:-1 2 4}; do
    while [ ${#workers[@]} -lt "$n" ]; do worker "0$((${#workers[@]} + 1))"; done
    while [ ${#workers[@]} -gt "$n" ]; do stop "${workers[-1]}"; unset 'workers[-1]'; done
    for s in 1 "$seconds"; do # the first warms
      result=$(wrk -t1 -c"$connections" -d"$s" -s soap/load.lua http://127.0.0.1:8198/v1/SocialService -- "$case" "$bearer" | sed -n 's/^result //p')
    done
    read -r rps p50 p99 failed <<<"$result"
    one=${one:-$rps}
    echo "| $case | $n | $rps | $p50 | $p99 | $failed | $(awk "BEGIN {printf \"%.2f\", $rps/$one}") |"
  done
done
