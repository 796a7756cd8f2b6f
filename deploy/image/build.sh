#!/usr/bin/env bash
# Builds the image of both servers with buildah, without an engine and without a
# registry: deploy/image/build.sh NAME:TAG [ARCHIVE [ARCHITECTURE...]]
#
# The image is in the storage of buildah and podman afterwards and, where an
# ARCHIVE is named, in that file as an OCI archive, with bills of materials beside
# it. Several architectures make one index of images. The same tree, Go and
# buildah give the same digest, in whatever directory and however often.
#
# STORAGE: options of buildah for its storage; SOURCE_URL: where the tree is
# published, for the label.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=${1:?NAME:TAG, such as localhost/tidings:dev} archive=${2-}
architectures=("${@:3}")
((${#architectures[@]})) || architectures=("$(go env GOARCH)")
read -ra buildah <<<"buildah ${STORAGE---storage-driver vfs}"
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

go build -o "$context/release" ./deploy/release
revision=$(git rev-parse HEAD 2>/dev/null || true)
epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)

# one builds the image of one architecture and leaves its id in a file.
one() {
	local at=$context/$1 labels=()
	"$context/release" build "$context/built" "linux/$1"
	mkdir -m 0755 "$at" "$at"/{programs,licenses,data}
	install -m 0755 "$context/built/linux/$1"/{api,worker} "$at/programs"
	install -m 0644 LICENSE THIRD_PARTY_LICENSES.md "$at/licenses"
	version=$("$context/release" version "$at/programs")
	labels=(title=tidings licenses=Apache-2.0 "version=$version" "created=$(date -u -d "@$epoch" +%FT%TZ)")
	[[ -z $revision ]] || labels+=("revision=$revision")
	[[ -z ${SOURCE_URL-} ]] || labels+=("source=$SOURCE_URL")
	"${buildah[@]}" bud --quiet --isolation chroot --layers=false --identity-label=false \
		--timestamp "$epoch" --platform "linux/$1" "${labels[@]/#/--label=org.opencontainers.image.}" \
		--iidfile "$context/$1.id" -f deploy/image/Containerfile "$at" >/dev/null
	[[ -z $archive ]] || "$context/release" image-sbom "$at/programs" "$name" >"$archive.$1.cdx.json"
}

"${buildah[@]}" rmi "$name" >/dev/null 2>&1 || true # of a build before: an image cannot become an index
for arch in "${architectures[@]}"; do one "$arch"; done
if ((${#architectures[@]} == 1)); then
	"${buildah[@]}" tag "$(<"$context/$arch.id")" "$name"
	[[ -z $archive ]] || "${buildah[@]}" push --quiet "$name" "oci-archive:$archive:$name"
else
	"${buildah[@]}" manifest create "$name" >/dev/null
	for arch in "${architectures[@]}"; do "${buildah[@]}" manifest add "$name" "$(<"$context/$arch.id")" >/dev/null; done
	[[ -z $archive ]] || "${buildah[@]}" manifest push --quiet --all "$name" "oci-archive:$archive:$name"
fi
echo "$name, version $version: $("${buildah[@]}" inspect --type image --format '{{.FromImageDigest}}' "$(<"$context/$arch.id")")"
