// Package dashboard asks Prometheus what the dashboard of deploy/grafana shows of a
// service at work: go test -tags conformance.
package dashboard
