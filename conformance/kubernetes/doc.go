// Package kubernetes tries deploy/k8s on a control plane and nodes that are real
// (see rig), while clients write and listen through a Service and count. Its tests
// have the build tag kubernetes and are run by `make kubernetes`.
package kubernetes
