#!/bin/sh
# Prints the Secrets that overlays/ha needs, for a trial: authorities and
# certificates that nobody else has, and a key for tokens. It takes openssl, no
# network, and leaves no file behind; the keys of the authorities are gone when it
# ends, so that a second run makes all of it anew.
#
#   deploy/k8s/secrets.sh | kubectl -n tidings apply -f -
#
# DAYS (90): how long the certificates are good. SERVERS (3): how many NATS servers.
# For more than a trial: components/cert-manager, and docs/kubernetes.md, Secrets.
set -eu
umask 077
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
days=${DAYS:-90}

names=DNS:nats
for i in $(seq 0 $((${SERVERS:-3} - 1))); do names="$names,DNS:nats-$i.nats"; done

# authority NAME: a key and a certificate that may sign others.
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "$days" -subj "/CN=$1" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign \
    -keyout "$1.key" -out "$1.crt" 2>/dev/null
}

# certificate AUTHORITY NAME USAGES [SUBJECT ALTERNATIVE NAMES]
certificate() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -keyout "$2.key" -out "$2.csr" 2>/dev/null
  {
    echo "basicConstraints=critical,CA:FALSE"
    echo "keyUsage=critical,digitalSignature"
    echo "extendedKeyUsage=$3"
    if [ -n "${4:-}" ]; then echo "subjectAltName=$4"; fi
  } >"$2.ext"
  openssl x509 -req -in "$2.csr" -CA "$1.crt" -CAkey "$1.key" -CAcreateserial -days "$days" -extfile "$2.ext" -out "$2.crt" 2>/dev/null
}

# tls SECRET AUTHORITY CERTIFICATE: as cert-manager writes it.
tls() {
  cat <<EOF
---
apiVersion: v1
kind: Secret
metadata:
  name: $1
  labels: { app.kubernetes.io/part-of: tidings }
type: kubernetes.io/tls
data:
  ca.crt: $(openssl base64 -A -in "$2.crt")
  tls.crt: $(openssl base64 -A -in "$3.crt")
  tls.key: $(openssl base64 -A -in "$3.key")
EOF
}

authority bus
authority routes
certificate bus nats serverAuth,clientAuth "$names"
certificate routes nats-routes serverAuth,clientAuth "$names"
tls nats-tls bus nats
tls nats-routes routes nats-routes
for role in api worker admin system; do
  certificate bus "tidings-$role" clientAuth
  tls "$role-bus" bus "tidings-$role"
done
cat <<EOF
---
apiVersion: v1
kind: Secret
metadata:
  name: tidings
  labels: { app.kubernetes.io/part-of: tidings }
type: Opaque
stringData:
  TIDINGS_JWT_SECRET: $(openssl rand -hex 32)
EOF
