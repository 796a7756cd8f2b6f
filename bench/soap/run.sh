#!/usr/bin/env bash
# SOAP calls a second over HTTP, through the whole path: the service, npm's soap
# server and PHP's SoapServer on the service's own WSDL, one after the other in
# one run, each on one core and the load on another. docs/PERFORMANCE.md says
# what they measure. SECONDS_EACH and CONNECTIONS change how long and how many,
# CASES and SIDES which. Prints a table.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-5} connections=${CONNECTIONS:-32}

command -v wrk >/dev/null && command -v node >/dev/null && php -m 2>/dev/null | grep -qx soap ||
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends wrk nodejs npm php-cli php-soap; } >&2
(cd soap && npm ci --silent --no-audit --no-fund) >&2

dir=$(mktemp -d)
pids=()
declare -A pid
trap 'for p in "${pids[@]}"; do pkill -P "$p" 2>/dev/null || true; kill "$p" 2>/dev/null || true; done; wait 2>/dev/null; rm -rf "$dir"' EXIT
(cd .. && CGO_ENABLED=0 go build -o "$dir/api" ./cmd/api)
go build -o "$dir/" ./http/seed
go build -o "$dir/nats-server" github.com/nats-io/nats-server/v2

path=/v1/SocialService
declare -A url=([tidings]=http://127.0.0.1:8191$path [npm]=http://127.0.0.1:8192$path [npm-jetstream]=http://127.0.0.1:8193$path [php]=http://127.0.0.1:8194$path)

start() { # name, address to wait for, command...: on the servers' core
  local name=$1 address=$2
  shift 2
  taskset -c 0 "$@" >"$dir/$name.log" 2>&1 &
  pids+=($!)
  pid[$name]=$!
  for _ in $(seq 200); do
    curl -so /dev/null --http0.9 "$address" && return
    sleep 0.05
  done
  cat "$dir/$name.log" >&2
  return 1
}

start tidings http://127.0.0.1:8191/graphql "$dir/api" --dev --data "$dir/data" --schema ../examples/social --listen 127.0.0.1:8191 --admin '' --log-level warn ${API_FLAGS:-}
token=$("$dir/api" token --sub admin --roles ADMIN --data "$dir/data")
"$dir/seed" -token "$token" -out "$dir/records.json" http://127.0.0.1:8191/graphql
curl -sf "${url[tidings]}?wsdl" -o "$dir/service.wsdl"
php -r '$users = []; foreach (json_decode(file_get_contents($argv[1]), true) as $u) { unset($u["posts"]); $users[$u["id"]] = $u; }
  file_put_contents($argv[2], "<?php return " . var_export($users, true) . ";");' "$dir/records.json" "$dir/records.php"

start nats http://127.0.0.1:8195 "$dir/nats-server" -js -sd "$dir/stream" -a 127.0.0.1 -p 8195
start npm "${url[npm]}?wsdl" env NODE_ENV=production node soap/server.js 8192 $path "$dir/service.wsdl" "$dir/records.json"
start npm-jetstream "${url[npm-jetstream]}?wsdl" env NODE_ENV=production node soap/server.js 8193 $path "$dir/service.wsdl" "$dir/records.json" nats://127.0.0.1:8195
start php "${url[php]}?wsdl" env WSDL="$dir/service.wsdl" RECORDS="$dir/records.php" PHP_CLI_SERVER_WORKERS=2 \
  php -d opcache.enable_cli=1 -d soap.wsdl_cache_dir="$dir" -S 127.0.0.1:8194 -q soap/server.php

get='<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><GetUser xmlns="urn:tidings:v1:SocialService"><id>user-0007</id></GetUser></s:Body></s:Envelope>'
for side in tidings npm npm-jetstream php; do
  curl -s "${url[$side]}" -H "Authorization: Bearer $token" -H 'Content-Type: text/xml' -H 'SOAPAction: "urn:tidings:v1:SocialService/GetUser"' -d "$get" |
    grep -q 'User number 7<.*user7@example.org<.*Joined by invitation.<.*avatars/7.png<' || { echo "$side does not answer GetUser" >&2; cat "$dir/$side.log" >&2; exit 1; }
done

used() { # processor time in ticks of 10 ms, with that of its children
  local total=0 p
  for p in "${pid[$1]}" $(pgrep -P "${pid[$1]}" || true); do
    total=$((total + $(awk '{print $14+$15}' "/proc/$p/stat")))
  done
  echo $total
}

load() { # side, case, seconds
  local bearer=
  [ "$1" != tidings ] || bearer=$token
  taskset -c 1 wrk -t1 -c"$connections" -d"$3" -s soap/load.lua "${url[$1]}" -- "$2" $bearer | sed -n 's/^result //p'
}

echo '| case | server | calls/s | CPU µs | p50 µs | p99 µs | failed |'
echo '|---|---|---|---|---|---|---|'
for case in ${CASES:-get create}; do
  for side in ${SIDES:-tidings npm npm-jetstream php}; do
    [ "$case-$side" != get-npm-jetstream ] || continue
    load "$side" "$case" 1 >/dev/null # warm
    before=$(used "$side")
    read -r rps p50 p99 failed <<<"$(load "$side" "$case" "$seconds")"
    after=$(used "$side")
    echo "| $case | $side | $rps | $(((after - before) * 10000 / (rps * seconds + 1))) | $p50 | $p99 | $failed |"
  done
done
