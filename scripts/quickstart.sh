#!/usr/bin/env bash
# Installs what is missing, builds cffs, and replays a real web log on native ext4, a FUSE pass-through and cffs.
#   scripts/quickstart.sh [options of bench/web_replay.sh]
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "quickstart: $*" >&2; exit 1; }

scripts/install_packages.sh || fail "the packages could not be installed"
echo "== building cffs (release)"
cmake --preset release -DCFFS_TESTS=OFF >/dev/null || fail "cmake could not configure the build"
cmake --build --preset release --target cffs || fail "the build failed, see above"
echo "== built build/release/cffs"
exec bench/web_replay.sh "$@"
