#!/bin/bash
# addons.sh HUB: Prometheus and its adapter for custom metrics, as the init of their
# process namespace, beside the control plane.
set -euo pipefail
hub=$1 bin=$RIG_HOME/bin run=$RIG_HOME/run pki=$RIG_HOME/run/pki
mkdir -p "$run/prometheus"
cat >"$run/prometheus.yaml" <<EOF
global: {scrape_interval: 5s}
scrape_configs:
- job_name: pods # those with a port called admin
  kubernetes_sd_configs: [{role: pod, kubeconfig_file: $pki/admin.kubeconfig}]
  relabel_configs:
  - {source_labels: [__meta_kubernetes_pod_container_port_name], regex: admin, action: keep}
  - {source_labels: [__meta_kubernetes_pod_phase], regex: Running, action: keep}
  - {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
  - {source_labels: [__meta_kubernetes_pod_name], target_label: pod}
- job_name: cadvisor
  scheme: https
  metrics_path: /metrics/cadvisor
  tls_config: {ca_file: $pki/ca.crt, cert_file: $pki/admin.crt, key_file: $pki/admin.key}
  kubernetes_sd_configs: [{role: node, kubeconfig_file: $pki/admin.kubeconfig}]
EOF
# The rules that are recommended, and processors and memory in place of metrics-server.
cat "$(dirname "$0")/../../../deploy/k8s/components/hpa/prometheus-adapter.yaml" - >"$run/adapter.yaml" <<'EOF'
resourceRules:
  cpu:
    containerQuery: sum(rate(container_cpu_usage_seconds_total{<<.LabelMatchers>>,container!=""}[30s])) by (<<.GroupBy>>)
    nodeQuery: sum(rate(container_cpu_usage_seconds_total{<<.LabelMatchers>>,id="/"}[30s])) by (<<.GroupBy>>)
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}, instance: {resource: node}}}
    containerLabel: container
  memory:
    containerQuery: sum(container_memory_working_set_bytes{<<.LabelMatchers>>,container!=""}) by (<<.GroupBy>>)
    nodeQuery: sum(container_memory_working_set_bytes{<<.LabelMatchers>>,id="/"}) by (<<.GroupBy>>)
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}, instance: {resource: node}}}
    containerLabel: container
  window: 30s
EOF
keep() { local name=$1; shift; while :; do "$@" >>"$run/$name.log" 2>&1 || true; sleep 1; done & }
keep prometheus "$bin/prometheus" --config.file "$run/prometheus.yaml" --storage.tsdb.path "$run/prometheus" \
  --storage.tsdb.retention.time 2h --web.listen-address "$hub:9091" --log.level warn
keep adapter "$bin/adapter" --lister-kubeconfig "$pki/admin.kubeconfig" --authentication-kubeconfig "$pki/admin.kubeconfig" \
  --authorization-kubeconfig "$pki/admin.kubeconfig" --prometheus-url "http://$hub:9091" --metrics-relist-interval 10s \
  --config "$run/adapter.yaml" --secure-port 6444 --cert-dir "$run/adapter"
wait
