#!/bin/bash
# Deploys overlay ha on a cluster of its own and tries it: make kubernetes. As root.
# Arguments go to the tests: -test.run TestOnRealNodes/Apply -subscribers 100.
# KEEP=1 leaves the cluster up, for `rig/rig.sh kubectl …` and a second run.
set -euo pipefail
cd "$(dirname "$0")"
export RIG_HOME=${RIG_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/tidings-rig}
[[ $(id -u) = 0 ]] || { echo "make kubernetes needs root: it makes network namespaces" >&2; exit 1; }

missing=()
for need in buildah:buildah containerd:containerd runc:runc ip:iproute2 nft:nftables conntrack:conntrack openssl:openssl /usr/lib/cni/ptp:containernetworking-plugins; do
  command -v "${need%%:*}" >/dev/null || missing+=("${need#*:}")
done
((${#missing[@]} == 0)) || { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; }

rig/rig.sh build
bin=$RIG_HOME/bin
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$bin/" github.com/nats-io/nats-server/v2
go run ../tool/install "$bin"
go test -c -tags kubernetes -o "$bin/kubernetes.test" .

[[ -n ${KEEP:-} ]] || trap 'rig/rig.sh down' EXIT
[[ -e $RIG_HOME/run/hub.pid ]] || rig/rig.sh up 3
mkdir -p "$RIG_HOME/run/nats"
cp "$bin/nats-server-old" "$RIG_HOME/run/nats/nats-server"
rig/rig.sh image localhost/nats:old "$RIG_HOME/run/nats/nats-server=/usr/local/bin/nats-server"
rig/rig.sh image localhost/nats:new "$bin/nats-server=/usr/local/bin/nats-server"
STORAGE=$(rig/rig.sh storage) ../../deploy/image/build.sh localhost/tidings:rig # as make image does
rig/rig.sh ship localhost/tidings:rig
PATH=$bin:$PATH rig/rig.sh enter "$bin/kubernetes.test" -test.v -test.timeout 2h "$@"
