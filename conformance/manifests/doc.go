// Package manifests holds the checks of deploy/k8s: what kustomize makes of each
// overlay, with each component, is what Kubernetes takes, what the pages promise,
// and what the program and the NATS server understand; and of deploy/grafana: the
// dashboard asks for metrics that there are. Nothing here talks to a cluster.
package manifests
