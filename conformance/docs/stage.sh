# The functions that a page's setups may call. What is printed is shown where the
# page fails.
set -euo pipefail
LAST=/dev/null
ip link set lo up
for f in Makefile web deploy docs; do ln -s "$TREE/$f" "$f"; done
ln -s "$BIN" bin
mkdir examples
for e in "$TREE"/examples/*/; do cp -r --no-target-directory "$e" "examples/$(basename "$e")"; done 2>/dev/null
rm -rf examples/*/node_modules

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

# modules FOLDER: the packages of npm that conformance has installed there.
modules() { ln -sfn "$TREE/$1/node_modules" node_modules; }

# browse URL: open it in Chromium, which page_says and shot then ask.
browse() {
  modules conformance/browser
  cp "$TREE/conformance/browser/visitor.mjs" .
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
