#!/bin/bash
# node.sh NAME NUMBER HUB: a node, as the init of its process namespace. Its disk is
# RIG_HOME/run/NAME/disk and outlives it; what it mounts ends with it.
set -euo pipefail
name=$1 number=$2 hub=$3 bin=$RIG_HOME/bin run=$RIG_HOME/run pki=$RIG_HOME/run/pki
disk=$run/$name/disk
PATH=$bin:$PATH:/usr/sbin:/sbin

# What a node writes outside of its disk must not be written into the machine.
for d in etc opt var; do
  mkdir -p "$disk/$d" "$disk/.work/$d"
  mount -t overlay -o "lowerdir=/$d,upperdir=$disk/$d,workdir=$disk/.work/$d" overlay "/$d"
done
own() { mkdir -p "$disk/own$1" "$1"; mount --bind "$disk/own$1" "$1"; } # an overlay cannot hold another's files
own /var/lib/containerd
own /var/lib/kubelet
rm -rf /var/lib/cni # addresses of before
mount -t tmpfs run /run
mkdir -p /run/netns /run/lock
mount --make-rshared /

# The kubelet sets these for the whole machine unless they are as it wants.
tunable() { echo "$2" >"$run/$name/$(basename "$1")"; mount --bind "$run/$name/$(basename "$1")" "$1"; }
tunable /proc/sys/vm/overcommit_memory 1
tunable /proc/sys/kernel/panic 10
tunable /proc/sys/kernel/panic_on_oops 1
tunable /proc/sys/kernel/keys/root_maxkeys 1000000
tunable /proc/sys/kernel/keys/root_maxbytes 25000000

cgroup=/tidings-rig/$name
for c in /sys/fs/cgroup/*/; do [[ $c = */unified/ ]] || mkdir -p "$c$cgroup"; done
for f in cpus mems; do # a cpuset begins without any
  cat "/sys/fs/cgroup/cpuset/cpuset.$f" >"/sys/fs/cgroup/cpuset/tidings-rig/cpuset.$f"
  cat "/sys/fs/cgroup/cpuset/cpuset.$f" >"/sys/fs/cgroup/cpuset$cgroup/cpuset.$f"
done

mkdir -p /etc/cni/net.d /etc/containerd
cat >/etc/cni/net.d/10-rig.conflist <<EOF
{"cniVersion": "0.4.0", "name": "rig", "plugins": [
  {"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.89.$number.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
EOF
cat >/etc/containerd/config.toml <<EOF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/rig-pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
EOF
echo "nameserver $hub" >"$run/$name/resolv.conf"
cat >"$run/$name/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 10.88.0.1$number
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: AlwaysAllow}
tlsCertFile: $pki/$name.crt
tlsPrivateKeyFile: $pki/$name.key
clusterDNS: [$hub]
clusterDomain: cluster.local
resolvConf: $run/$name/resolv.conf
cgroupDriver: cgroupfs
cgroupRoot: $cgroup
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
EOF

keep() { local log=$1; shift; while :; do "$@" >>"$run/$name/$log.log" 2>&1 || true; sleep 1; done & }
keep containerd containerd --config /etc/containerd/config.toml --log-level warn
until ctr --connect-timeout 1s version >/dev/null 2>&1; do sleep 0.2; done
ctr -n k8s.io images import "$run/images/localhost-rig-pause-1.tar" >/dev/null
keep kubelet "$bin/kubelet" --config "$run/$name/kubelet.yaml" --kubeconfig "$pki/$name.kubeconfig" \
  --hostname-override "$name" --node-ip "10.88.0.1$number" --node-labels "topology.kubernetes.io/zone=z$number" --v 1
keep proxy "$bin/kube-proxy" --kubeconfig "$pki/admin.kubeconfig" --hostname-override "$name" --proxy-mode nftables \
  --cluster-cidr 10.89.0.0/16 --oom-score-adj 0 --conntrack-max-per-core 0 --conntrack-min 0 \
  --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0 \
  --metrics-bind-address 127.0.0.1:10249 --healthz-bind-address 127.0.0.1:10256
wait
