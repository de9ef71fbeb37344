#!/usr/bin/env bash
# Installs what is missing, builds cffs, and replays a real web log on native ext4, a FUSE pass-through and cffs.
#   scripts/quickstart.sh [options of bench/web_replay.sh]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh

fail() { echo "quickstart: $*" >&2; exit 1; }

configure() { cmake --preset release "$@" >/dev/null; }

steps_of quickstart 4
step "installing the packages that are missing" scripts/install_packages.sh || fail "the packages could not be installed"
step "configuring" configure -DBUILD_TESTING=OFF || fail "cmake could not configure the build"
step "building build/release/cffs" cmake --build --preset release --target cffs || fail "the build failed, see above"
step "replaying a web log on ext4, a pass-through and cffs" bench/web_replay.sh "$@"
