# The functions that a page's setups may call. What is printed is shown where the
# page fails.
set -euo pipefail
LAST=/dev/null
unset XDG_CONFIG_HOME XDG_DATA_HOME ${!TIDINGS_@}
ip link set lo up
for f in Makefile web deploy docs; do ln -s "$TREE/$f" "$f"; done
ln -s "$BIN" bin
mkdir examples
for e in "$TREE"/examples/*/; do cp -r --no-target-directory "$e" "examples/$(basename "$e")"; done 2>/dev/null
rm -rf examples/*/node_modules

# fill EXPRESSION: what sed makes of the commands of the next block, where they say
# <id> or …, or wait for Ctrl-C.
fill() { FILL=$1; }
FILL=

# make build: the test has built the programs.
make() { case $1 in build) ;; *) command make "$@" ;; esac; }

# until_done COMMAND: run it until it succeeds, for a minute.
until_done() {
  local end=$((SECONDS + 60))
  until "$@" > "$OUT/until" 2>&1; do
    [ $SECONDS -lt $end ] || { cat "$OUT/until" "$LAST"; echo "a minute long: $*"; return 1; }
    sleep 0.1
  done
}

# answers URL: whether somebody does.
answers() { curl -s -o /dev/null "$1"; }

# listens PORT [HOST]: whether somebody does.
listens() { (exec 3<> "/dev/tcp/${2:-127.0.0.1}/$1"); }

# says FILE TEXT: whether the file has it.
says() { grep -qF -- "$2" "$1"; }

# serve SCHEMA [SETTING...]: a service in development mode at port 8080 with its
# admin port at 9090, its log in service.log, and tokens for alice and root.
serve() {
  local schema=$1; shift
  api --dev --schema "$schema" --data data "$@" > service.log 2>&1 &
  SERVER=$!
  until curl -sf -o /dev/null http://localhost:9090/readyz; do
    kill -0 "$SERVER" || return 1
    sleep 0.1
  done
  USER_TOKEN=$(api token --data data --sub alice --roles USER)
  ADMIN_TOKEN=$(api token --data data --sub root --roles ADMIN)
  TOKEN=$USER_TOKEN
}

# quit NAME: end the programs of this name, of which the page sees its own alone.
quit() {
  kill $(pgrep -x "$1")
  while pgrep -x "$1" > /dev/null; do sleep 0.05; done
}

# host NAME [ADDRESS]: another name of this machine, on this page's network.
host() {
  [ -e "$OUT/hosts" ] || { cp /etc/hosts "$OUT/hosts"; mount --bind "$OUT/hosts" /etc/hosts; }
  echo "${2:-127.0.0.1} $1" >> "$OUT/hosts"
}

# bus CONFIGURATION [ADDRESS]: a server of NATS, as the file says, that is healthy.
bus() {
  local at=${2:-127.0.0.1}
  nats-server -c "$1" --http_port 8222 > "$1.log" 2>&1 &
  until_done curl -sf "http://$at:8222/healthz" || { tail "$1.log"; return 1; }
}

# cluster LINES: three servers of NATS on the hosts a, b and c. Each has these lines
# in its configuration, in which 0.0.0.0 is its own address and NAME its name.
cluster() {
  local h at i=1
  for h in a b c; do
    at=127.0.0.$((++i))
    host $h $at
    { printf 'server_name: NAME\nlisten: "0.0.0.0:4222"\nhttp: "0.0.0.0:8222"\njetstream { store_dir: "store-NAME" }\n'; echo "$1"; } | sed "s/0\.0\.0\.0/$at/; s/NAME/$h/" > $h.conf
    nats-server -c $h.conf > $h.log 2>&1 &
  done
  for h in a b c; do until_done curl -sf http://$h:8222/healthz || { tail $h.log; return 1; }; done
}
# ROUTES are lines for it, where the page has none.
ROUTES='cluster { name: bus, listen: "0.0.0.0:6222", routes: ["nats://a:6222", "nats://b:6222", "nats://c:6222"] }'

# postgres: a server of PostgreSQL 14 or later on db.example.org, with TLS by ca.pem;
# psql is its owner.
postgres() {
  local bin at=/mnt # gone with the page
  bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
  mount -t tmpfs -o mode=0700 postgres "$at"
  host db.example.org
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=db.example.org -addext subjectAltName=DNS:db.example.org -keyout "$at/key.pem" -out ca.pem 2> /dev/null
  cp ca.pem "$at/cert.pem"
  nobody "$bin/initdb" -D "$at/data" -U postgres --auth-local=trust --auth-host=scram-sha-256 --no-sync --encoding=UTF8 --locale=C.UTF-8 > initdb.log
  nobody "$bin/postgres" -D "$at/data" -c unix_socket_directories="$at" -c ssl=on -c ssl_cert_file="$at/cert.pem" -c ssl_key_file="$at/key.pem" -c fsync=off > postgres.log 2>&1 &
  export PGHOST=$at PGUSER=postgres
  until_done psql -qc 'SELECT 1' postgres || { cat postgres.log; return 1; }
}
# nobody COMMAND: PostgreSQL refuses to be root.
nobody() { unshare --user --map-user=65534 --map-group=65534 "$@"; }

# stop: end the service.
stop() { quit api; }

# gql DOCUMENT: an operation for a setup; it must succeed.
gql() {
  local answer
  answer=$(curl -sS http://localhost:8080/graphql -H 'Content-Type: application/json' -H "Authorization: Bearer $TOKEN" --data @<(python3 -c 'import json,sys; print(json.dumps({"query": sys.argv[1]}))' "$1"))
  case $answer in *'"errors"'*) echo "$answer"; return 1 ;; esac
  echo "$answer"
}

# ask FILE, listen FILE: send the request; of a subscription the first event. %ID%
# in it stands for $ID.
ask() { request "$1" -H 'Accept: application/json'; }
listen() { sed -E '/^(id|data):/q' < <(request "$1" -N -H 'Accept: text/event-stream' 2> /dev/null); }
request() {
  local file=$1; shift
  sed "s/%ID%/${ID:-}/g" "$file" | curl -sS --max-time 20 "$@" http://localhost:8080/graphql -H 'Content-Type: application/json' -H "Authorization: Bearer $TOKEN" --data @-
}

# id_in: the first id in an answer.
id_in() { sed -E 's/.*"id":"([^"]*)".*/\1/'; }

# partner_secret: the secret of the account that development makes for SOAP.
partner_secret() { grep -oE 'tds_[A-Za-z0-9]{40}' service.log | head -1; }

# mono_run FILE: a program of C#, with the classes that were made before it.
mono_run() {
  mcs -nologo -nowarn:0618 -out:"$1.exe" -r:System.Web.Services.dll -r:System.Xml.dll -r:System.ServiceModel.dll -r:System.Runtime.Serialization.dll -r:System.IdentityModel.dll "$1" $(ls | grep '\.cs$' | grep -v ^Block)
  mono "$1.exe"
}

# kotlin_run FILE: a script of Kotlin.
kotlin_run() { timeout 100 kotlinc -nowarn -script "$1"; }

# modules FOLDER: the packages of npm that conformance has installed there.
modules() { ln -sfn "$TREE/$1/node_modules" node_modules; }

# browse URL: open it in Chromium, which page_says and shot then ask.
browse() {
  modules conformance/browser
  cp "$TREE"/conformance/browser/*.mjs .
  coproc BROWSER { node visitor.mjs; }
  tell "{\"command\": \"open\", \"page\": \"p\", \"url\": \"$1\", \"width\": 900, \"height\": 700}" > /dev/null
}

# tell COMMAND: one of the browser's, in JSON; prints its answer.
tell() {
  echo "$1" >&"${BROWSER[1]}"
  local answer
  read -r answer <&"${BROWSER[0]}"
  case $answer in '{"error"'*) echo "$answer" >&2; return 1 ;; esac
  echo "$answer"
}

# page_says ID TEXT: wait until the element of the page that is open has the text.
page_says() {
  tell "{\"command\": \"evaluate\", \"page\": \"p\", \"text\": \"new Promise((done, fail) => { const end = Date.now() + 60000, look = () => document.getElementById('$1').textContent === '$2' ? done(true) : Date.now() > end ? fail(Error('$1 is ' + document.getElementById('$1').textContent + ', not $2')) : setTimeout(look, 50); look() })\"}" > /dev/null
}

# shot FILE: what the page looks like.
shot() { tell "{\"command\": \"shot\", \"page\": \"p\", \"file\": \"$1\"}" > /dev/null; }
