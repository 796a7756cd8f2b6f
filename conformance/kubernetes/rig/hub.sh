#!/bin/bash
# hub.sh HUB: the control plane, as the init of its process namespace.
set -euo pipefail
hub=$1 bin=$RIG_HOME/bin run=$RIG_HOME/run pki=$RIG_HOME/run/pki
mkdir -p "$run/etcd"

# keep runs a program for as long as this script runs, and again when it ends.
keep() { local name=$1; shift; while :; do "$@" >>"$run/$name.log" 2>&1 || true; sleep 1; done & }

keep etcd "$bin/etcd" --data-dir "$run/etcd" --unsafe-no-fsync --log-level warn
keep apiserver "$bin/kube-apiserver" \
  --advertise-address "$hub" --bind-address "$hub" --secure-port 6443 --etcd-servers http://127.0.0.1:2379 \
  --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" --client-ca-file "$pki/ca.crt" \
  --allow-privileged --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
  --service-cluster-ip-range 10.90.0.0/16 --service-node-port-range 30000-32767 \
  --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$pki/accounts.key" \
  --service-account-signing-key-file "$pki/accounts.key" \
  --kubelet-client-certificate "$pki/admin.crt" --kubelet-client-key "$pki/admin.key" \
  --kubelet-certificate-authority "$pki/ca.crt" --kubelet-preferred-address-types InternalIP \
  --requestheader-client-ca-file "$pki/ca.crt" --requestheader-allowed-names front-proxy \
  --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
  --requestheader-extra-headers-prefix X-Remote-Extra- \
  --proxy-client-cert-file "$pki/proxy.crt" --proxy-client-key-file "$pki/proxy.key" --enable-aggregator-routing \
  --endpoint-reconciler-type lease
keep controllers "$bin/kube-controller-manager" --kubeconfig "$pki/admin.kubeconfig" --leader-elect=false \
  --root-ca-file "$pki/ca.crt" --service-account-private-key-file "$pki/accounts.key" --use-service-account-credentials \
  --cluster-cidr 10.89.0.0/16 --horizontal-pod-autoscaler-sync-period 5s --bind-address 127.0.0.1
keep scheduler "$bin/kube-scheduler" --kubeconfig "$pki/admin.kubeconfig" --leader-elect=false --bind-address 127.0.0.1
cat >"$run/Corefile" <<EOF
.:53 {
  bind $hub
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $pki/admin.kubeconfig
    ttl 5
  }
}
EOF
keep dns "$bin/coredns" -conf "$run/Corefile"
# Clients here reach Services as a pod does.
keep proxy "$bin/kube-proxy" --kubeconfig "$pki/admin.kubeconfig" --hostname-override hub --proxy-mode nftables \
  --cluster-cidr 10.89.0.0/16 --oom-score-adj 0 --conntrack-max-per-core 0 --conntrack-min 0 \
  --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0 \
  --metrics-bind-address 127.0.0.1:10249 --healthz-bind-address 127.0.0.1:10256
wait
