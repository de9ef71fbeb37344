#!/usr/bin/env bash
# Installs what is missing, builds cffs and passes every test.
#   scripts/test.sh [--long]      --long: more seeds and longer runs
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "test: $*" >&2; exit 1; }

case "${1:-}" in
  '') ;;
  --long) export CFFS_TEST_SEEDS=200 CFFS_TEST_LONG=1 ;;
  *) fail "unknown option '$1'; there is: --long" ;;
esac

started=$SECONDS
scripts/install_packages.sh || fail "the packages could not be installed"
echo "== building cffs and its tests (release)"
cmake --preset release -DCFFS_TESTS=ON >/dev/null || fail "cmake could not configure the build"
cmake --build --preset release || fail "the build failed, see above"
echo "== running the tests"
if ctest --preset release; then
  echo "== all tests passed in $((SECONDS - started)) s, the build included"
else
  fail "tests failed, see above; one alone: ctest --preset release -R NAME"
fi
