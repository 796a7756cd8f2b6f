#!/bin/bash
# A Kubernetes cluster on one machine, for tests: a control plane and real nodes
# (kubelet, containerd, kube-proxy), each in network, mount and process namespaces
# of its own. Needs root, Go and the packages that `make kubernetes` installs.
#
#   rig.sh build             the components, from the Go module proxy
#   rig.sh up [N]            a control plane and N nodes (3)
#   rig.sh kubectl ARG...    as the administrator
#   rig.sh enter CMD ARG...  run a command where nodes, pods and Services are reached
#   rig.sh image NAME PROGRAM=PATH...   make an image of static programs for every node
#   rig.sh storage           options of buildah for the rig's own images
#   rig.sh ship NAME         load one of these into every node
#   rig.sh load FILE...      import images (docker-archive) into every node
#   rig.sh addons            Prometheus and its adapter for custom metrics
#   rig.sh kill NODE         as a crash; `start NODE` boots it again, on its disk
#   rig.sh cut NODE          nothing goes in or out any more, in silence; `heal NODE`
#   rig.sh down              end everything and remove all but the components
#   rig.sh clean             the components too
#
# Everything lies in RIG_HOME, but network namespaces and cgroups called tidings-rig*.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export RIG_HOME=${RIG_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/tidings-rig}
export TIDINGS_RIG=$RIG_HOME # marks the processes that are ours
bin=$RIG_HOME/bin run=$RIG_HOME/run
ns=tidings-rig        # prefix of network namespaces; $ns-hub has the bridge and the control plane
storage="--storage-driver vfs --root $RIG_HOME/buildah --runroot $run/buildah" # of buildah
hub=10.88.0.1         # nodes are 10.88.0.1N, their pods 10.89.N.0/24, Services 10.90.0.0/16
PATH=$bin:$PATH:/usr/sbin:/sbin

die() { echo "rig: $*" >&2; exit 1; }
number() { [[ $1 =~ ^n[1-9]$ ]] || die "a node is called n1 to n9, not $1"; echo "${1#n}"; }
wait_for() { # SECONDS WHAT CMD...
  local until=$((SECONDS + $1)) what=$2; shift 2
  until "$@" >/dev/null 2>&1; do ((SECONDS < until)) || die "$what: not in time; see $run"; sleep 0.3; done
}

# ---- components

build() {
  mkdir -p "$bin"
  local part stamp
  for part in $(ls "$here/parts"); do
    stamp=$bin/.$part.$(cat "$here/parts/$part"/go.{mod,sum} | sha256sum | cut -c1-12)
    [[ ! -e $stamp ]] || continue
    echo "rig: building $part" >&2
    (cd "$here/parts/$part" && tools | while read -r package name; do
      CGO_ENABLED=0 nice go build -trimpath -buildvcs=false -tags "$(tags "$part")" -ldflags "-s -w $(version "$part")" -o "$bin/$name" "$package"
    done)
    rm -f "$bin/.$part".*; touch "$stamp"
  done
  (cd "$here" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$bin/pause" ./pause)
}

# tools lists what a part's go.mod says it is for: package, and what to call it.
tools() {
  local package name
  for package in $(go list -f '{{.ImportPath}}' tool); do
    case $package in
    */etcd/server/v3) name=etcd ;;
    */nats-server/v2) name=nats-server-old ;; # to be upgraded from
    *) name=${package##*/} ;;
    esac
    echo "$package $name"
  done
}

# tags leave out of Prometheus what finds targets elsewhere, in clouds that are large.
tags() { [[ $1 != prometheus ]] || echo remove_all_sd,enable_kubernetes_sd; }

version() {
  [[ $1 = kubernetes ]] || return 0
  local v; v=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  echo "-X k8s.io/component-base/version.gitVersion=$v -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$v")"
}

# ---- namespaces

in_ns() { local n=$1; shift; nsenter --net="/run/netns/$ns-$n" "$@"; }

make_hub() {
  ip netns add $ns-hub
  in_ns hub ip link set lo up
  in_ns hub ip link add rig type bridge
  in_ns hub ip addr add $hub/24 dev rig
  in_ns hub ip link set rig up
  in_ns hub ip route add 10.90.0.0/16 dev rig # Services: so that packets to them reach the rules of kube-proxy
  in_ns hub sysctl -qw net.ipv4.ip_forward=1
}

make_net() { # NODE
  local i; i=$(number "$1")
  ip netns add "$ns-$1"
  in_ns hub ip link add "$1" type veth peer name eth0 netns "$ns-$1"
  in_ns hub ip link set "$1" master rig up
  in_ns "$1" ip link set lo up
  in_ns "$1" ip addr add "10.88.0.1$i/24" dev eth0
  in_ns "$1" ip link set eth0 up
  in_ns "$1" sysctl -qw net.ipv4.ip_forward=1
  local j
  for j in 1 2 3 4 5 6 7 8 9; do
    [[ $j = "$i" ]] || in_ns "$1" ip route add "10.89.$j.0/24" via "10.88.0.1$j"
  done
  in_ns "$1" ip route add default via $hub # so that Services are routed at all
  in_ns hub ip route replace "10.89.$i.0/24" via "10.88.0.1$i"
}

# cell starts the init of a process namespace; to kill it is to end all within.
cell() { # NAME NETWORK SCRIPT ARG...
  local name=$1 net=$2; shift 2
  setsid nsenter --net="/run/netns/$ns-$net" unshare --mount --pid --fork --kill-child --mount-proc \
    "$@" >"$run/$name.log" 2>&1 </dev/null &
  echo $! >"$run/$name.pid"
}

# stop_cell ends it, when the process is still the one that we started.
stop_cell() { # NAME
  local pid; pid=$(cat "$run/$1.pid" 2>/dev/null) || return 0
  if grep -zqx "TIDINGS_RIG=$RIG_HOME" "/proc/$pid/environ" 2>/dev/null; then
    local init; init=$(pgrep -P "$pid" || true)
    kill -9 "$pid" $init 2>/dev/null || true
    wait_for 20 "the end of $1" gone $init
  fi
  rm -f "$run/$1.pid"
}
gone() { local p; for p in "$@"; do [[ ! -e /proc/$p/stat ]] || [[ $(cut -d' ' -f3 "/proc/$p/stat") = Z ]] || return 1; done; }

# ---- the cluster

up() {
  local n=${1:-3} i
  [[ $(id -u) = 0 ]] || die "needs root"
  build
  [[ ! -e $run/hub.pid ]] || die "is up already: rig.sh down"
  mkdir -p "$run"
  [[ -e $run/pki/ca.crt ]] || "$here/pki.sh" "$run/pki" $hub 9
  make_hub
  cell hub hub "$here/hub.sh" $hub
  wait_for 90 "the API server" kubectl get --raw /readyz
  kubectl apply -f "$here/cluster.yaml" >/dev/null
  image localhost/rig-pause:1 "$bin/pause=/pause"
  for i in $(seq "$n"); do mkdir -p "$run/n$i" && boot "n$i"; done
  for i in $(seq "$n"); do ready "n$i"; volumes "n$i"; done
}

boot() { # NODE
  mkdir -p "$run/$1/disk"
  make_net "$1"
  cell "$1" "$1" "$here/node.sh" "$1" "$(number "$1")" $hub
}
ready() { wait_for 120 "$1 is Ready" kubectl wait --for=condition=Ready "node/$1" --timeout=1s; }

unplug() { # NODE
  stop_cell "$1"
  ip netns del "$ns-$1" 2>/dev/null || true # the link goes with it
  in_ns hub ip link del "$1" 2>/dev/null || true
}

# volumes makes local volumes for what claims them; each is used once.
volumes() { # NODE
  local i
  for i in 1 2 3 4 5 6; do
    mkdir -p "$run/$1/disk/own/var/lib/kubelet/rig-volumes/$i"
    sed "s|NODE|$1|g; s|NUMBER|$i|g" "$here/volume.yaml"
  done | kubectl apply -f - >/dev/null
}

# image makes one of static programs, FROM scratch, and loads it when nodes are there.
image() { # NAME PROGRAM=PATH...
  local name=$1 context file; shift
  context=$(mktemp -d "$run/image.XXXX")
  {
    echo FROM scratch
    for file; do cp "${file%%=*}" "$context"; echo "COPY $(basename "${file%%=*}") ${file#*=}"; done
    echo USER 65532:65532
    echo "ENTRYPOINT [\"${1#*=}\"]"
  } >"$context/Containerfile"
  buildah $storage bud --isolation chroot --network host --timestamp 0 -q -t "$name" "$context" >/dev/null
  rm -rf "$context"
  ship "$name"
}

# ship loads an image of our storage.
ship() { # NAME
  local archive; archive=$run/images/$(tr '/:' '--' <<<"$1").tar
  mkdir -p "$run/images"
  rm -f "$archive"
  buildah $storage push -q "$1" "docker-archive:$archive:$1" >/dev/null
  load "$archive"
}

load() {
  local n file
  for n in "$run"/n?/; do
    n=$(basename "$n")
    [[ -e $run/$n.pid ]] || continue
    for file; do inside "$n" ctr -n k8s.io images import "$(realpath "$file")" >/dev/null; done
  done
}

# inside runs a command in the namespaces of a running node.
inside() { local n=$1 init; shift; init=$(pgrep -P "$(cat "$run/$n.pid")"); nsenter -t "$init" -m -n -p "$@"; }

kubectl() { in_ns hub "$bin/kubectl" --kubeconfig "$run/pki/admin.kubeconfig" "$@"; }

addons() {
  kubectl apply -f "$here/addons.yaml" >/dev/null
  stop_cell addons
  cell addons hub "$here/addons.sh" $hub
  wait_for 90 "custom metrics" kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1
}

down() {
  local n
  for n in addons n1 n2 n3 n4 n5 n6 n7 n8 n9 hub; do stop_cell $n; done
  for n in n1 n2 n3 n4 n5 n6 n7 n8 n9 hub; do ip netns del $ns-$n 2>/dev/null || true; done
  cgroups
  rm -rf "$run" "$RIG_HOME/buildah"
}

cgroups() { # removes those that the nodes have left
  local root
  for root in /sys/fs/cgroup/*/tidings-rig /sys/fs/cgroup/tidings-rig; do
    [[ ! -d $root ]] || find "$root" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
}

case ${1:-} in
build | load | addons | down | image | ship) "$@" ;;
storage) echo "$storage" ;;
up) up "${2:-3}" ;;
kubectl) "$@" ;;
enter) shift; KUBECONFIG=$run/pki/admin.kubeconfig in_ns hub "$@" ;;
inside) "$@" ;;
kill) stop_cell "n$(number "$2")" ;;
start) unplug "n$(number "$2")"; boot "$2"; ready "$2" ;;
cut) in_ns hub ip link set "n$(number "$2")" nomaster ;;
heal) in_ns hub ip link set "n$(number "$2")" master rig ;;
volumes) volumes "$2" ;;
clean) down; rm -rf "$RIG_HOME" ;;
*) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 2 ;;
esac
