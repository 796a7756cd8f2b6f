#!/bin/bash
# Runs a command with a PostgreSQL of its own: a new cluster in a temporary
# directory, on a socket there and a free port of the loopback, gone afterwards.
# POSTGRES_TEST_URL says where it is.
set -euo pipefail

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -x "$bin/initdb" ] || { echo "with-postgres.sh: there is no /usr/lib/postgresql/*/bin/initdb; install Debian's package postgresql" >&2; exit 1; }
dir=$(mktemp -d)
as=() # PostgreSQL refuses to be root
if [ "$(id -u)" = 0 ]; then
  chown nobody "$dir"
  as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
cd "$dir"
"${as[@]}" "$bin/initdb" -D data -U tidings --auth=trust --no-sync --encoding=UTF8 --locale=C.UTF-8 >initdb.log
cat >>data/postgresql.conf <<END
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$dir'
max_connections = 400
fsync = off
END
"${as[@]}" "$bin/postgres" -D "$dir/data" >postgres.log 2>&1 &
pid=$!
stop() { kill -INT "$pid" 2>/dev/null && wait "$pid" || true; rm -rf "$dir"; }
trap stop EXIT
for _ in $(seq 300); do "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" && break; sleep 0.1; done
cd - >/dev/null
POSTGRES_TEST_URL="postgres://tidings@127.0.0.1:$port/postgres?sslmode=disable" POSTGRES_TEST_LOG="$dir/postgres.log" "$@"
