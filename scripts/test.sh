#!/usr/bin/env bash
# Installs what is missing, builds cffs and passes every test.
#   scripts/test.sh [--long]      --long: more seeds and longer runs
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "test: $*" >&2; exit 1; }

long=
case "${1:-}" in
  '') ;;
  --long) export CFFS_TEST_SEEDS=200; long=1 ;;
  *) fail "unknown option '$1'; there is: --long" ;;
esac

# Everything that tests make is below one directory, so that nothing is left behind whatever ends them.
TMPDIR=$(mktemp -d /tmp/cffs-tests.XXXXXX)
export TMPDIR
chmod 755 "$TMPDIR"  # some suites act as other users
cleanup() {
  trap '' INT TERM
  local path
  # Deepest first: a store may lie on a disk that a test mounted.
  awk -v below="$TMPDIR/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | while read -r path; do
    umount -l "$path" 2>/dev/null || true
  done
  losetup -l -n -O NAME,BACK-FILE 2>/dev/null | awk -v below="$TMPDIR/" 'index($2, below) == 1 { print $1 }' |
    while read -r path; do losetup -d "$path" 2>/dev/null || true; done
  pkill -f "cffs mount .*$TMPDIR/" 2>/dev/null || true
  rm -rf "$TMPDIR"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

started=$SECONDS
scripts/install_packages.sh || fail "the packages could not be installed"
scripts/install_suites.sh ${long:+--sources} || fail "the test suites could not be installed"
echo "== building cffs and its tests (release)"
cmake --preset release -DCFFS_TESTS=ON >/dev/null || fail "cmake could not configure the build"
cmake --build --preset release || fail "the build failed, see above"
echo "== running the tests"
if ctest --preset release; then
  [ -z "$long" ] || scripts/suites.sh || fail "suites failed, see above"
  echo "== all tests passed in $((SECONDS - started)) s, the build included"
else
  fail "tests failed, see above; one alone: ctest --preset release -R NAME"
fi
