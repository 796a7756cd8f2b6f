#!/bin/bash
# pki.sh DIR HUB N: an authority, certificates and kubeconfigs of a cluster with up to N nodes.
set -euo pipefail
dir=$1 hub=$2 nodes=$3
mkdir -p "$dir" && cd "$dir" && umask 077

key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }
cert() { # NAME SUBJECT [EXTENSIONS]
  key "$1"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$1.crt" \
    -extfile <(printf '%s\n' "extendedKeyUsage=serverAuth,clientAuth" "${3:-}") 2>/dev/null
  rm "$1.csr"
}
kubeconfig() { # NAME
  cat >"$1.kubeconfig" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: rig, cluster: {server: "https://$hub:6443", certificate-authority: $dir/ca.crt}}]
users: [{name: $1, user: {client-certificate: $dir/$1.crt, client-key: $dir/$1.key}}]
contexts: [{name: rig, context: {cluster: rig, user: $1}}]
current-context: rig
EOF
}

openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out accounts.key
key ca
openssl req -x509 -new -key ca.key -subj /CN=rig -days 30 -out ca.crt
cert apiserver /CN=kube-apiserver "subjectAltName=IP:$hub,IP:127.0.0.1,IP:10.90.0.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
cert proxy /CN=front-proxy
cert admin /O=system:masters/CN=admin && kubeconfig admin
for i in $(seq "$nodes"); do cert "n$i" "/O=system:nodes/CN=system:node:n$i" "subjectAltName=IP:10.88.0.1$i" && kubeconfig "n$i"; done
