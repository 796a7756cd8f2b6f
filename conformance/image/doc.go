// Package image builds the image and the release as they are published, looks into
// them and runs them: buildah builds, podman and runc run with a read-only root,
// without capabilities and with nobody's rights, and foreign eyes see what is in
// it. The tests need the build tag conformance, root, and Debian's packages
// buildah, podman and runc.
package image
