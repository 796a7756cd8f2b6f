#!/bin/sh
# What server.conf says of accounts and users, for an operator of nsc: the accounts
# TIDINGS and TIDINGS_API, their users with the permissions of the files beside this
# one, what apis import, and the credentials of each role in the directory that is
# named. The operator is the one of `nsc env`. To bring what was made to the
# servers (`nsc push`, or `nsc generate config`) is left to you.
#
#   deploy/nats/nsc.sh DIRECTORY
set -eu
here=$(dirname "$0")
to=$1
mkdir -p "$to"

# allow lists what a role may publish on, or subscribe to.
allow() { sed -n "/^$1 {/,/^}/s/^ *\"\([^\"]*\)\".*/\1/p" "$here/$2.conf" | paste -sd, -; }

nsc add account TIDINGS
nsc add account TIDINGS_API
nsc edit account TIDINGS --js-mem-storage -1 --js-disk-storage -1 --js-streams -1 --js-consumer -1

# Exports are private, or every account of the operator could import them; so each
# import has a token that activates it.
apis=$(nsc describe account TIDINGS_API --field sub | tr -d '"')
token=$(mktemp)
trap 'rm -f "$token"' EXIT
sed -n 's/^ *{ \(service\|stream\): "\([^"]*\)", accounts: \[TIDINGS_API\]\(, response: stream\)\{0,1\} }.*/\1 \2 \3/p' "$here/exports.conf" |
while read -r kind subject more; do
  set -- --account TIDINGS --private --name "$kind $subject" --subject "$subject"
  [ "$kind" = service ] && set -- "$@" --service
  [ -n "$more" ] && set -- "$@" --response-type Stream
  nsc add export "$@" </dev/null
  nsc generate activation --account TIDINGS --target-account "$apis" --subject "$subject" --output-file "$token" </dev/null
  nsc add import --account TIDINGS_API --name "$kind $subject" --token "$token" --local-subject "$subject" </dev/null
done

# The permissions are of a signing key of the account, and its users have them by their
# issuer: a user that carried them all would be longer than the 4,096 bytes that servers
# take as one line (max_control_line).
user() { # account, role
  nsc edit signing-key --account "$1" --sk generate --role "$2" --allow-pub "$(allow publish "$2")" --allow-sub "$(allow subscribe "$2")"
  nsc add user --account "$1" "$2" --private-key "$2"
  (umask 077; nsc generate creds --account "$1" --name "$2" > "$to/$2.creds")
}
user TIDINGS_API api
user TIDINGS worker
user TIDINGS admin
