#!/usr/bin/env bash
# Installs what is missing, builds cffs and passes every test.
#   scripts/test.sh [--long]      --long: more seeds and longer runs
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh

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

# A suite whose program is missing is skipped, and says so here.
export CFFS_SKIPPED=$TMPDIR/skipped

configure() { cmake --preset release "$@" >/dev/null; }

started=$SECONDS
failed=
steps_of "test${long:+_long}" $((long ? 13 : 12))
step "installing the packages that are missing" scripts/install_packages.sh || fail "the packages could not be installed"
# libFuzzer comes with clang's runtime, a package named after clang's version.
install_clang() {
  scripts/install_packages.sh clang && scripts/install_packages.sh "libclang-rt-$(clang -dumpversion | cut -d . -f 1)-dev"
}
step "installing clang, which checks the locks, and its runtime" install_clang ||
  echo "test: clang could not be installed, see above; the tests thread_safety and fuzz are skipped without" >&2
step "installing Ceph, for stores in its pools" scripts/install_packages.sh ceph-mon ceph-mgr ceph-osd ceph-common ||
  echo "test: Ceph could not be installed, see above; the tests rados_* are skipped without" >&2
step "installing lintian, which looks at the Debian packages" scripts/install_packages.sh lintian ||
  echo "test: lintian could not be installed, see above; the test packages does not ask it" >&2
step "configuring" configure -DBUILD_TESTING=ON || fail "cmake could not configure the build"
step "building cffs and its tests" cmake --build --preset release || fail "the build failed, see above"
# Before the tests: those of a store in a pool run some of them, too.
step "installing the suites that others wrote" scripts/install_suites.sh ${long:+--sources} ||
  echo "test: not all suites could be installed, see above; those that miss something are skipped" >&2
step "running the project's own tests" ctest --preset release -LE "foreign|fuzz|spark" || failed="tests"
step "running the suites that others wrote" ctest --preset release -L foreign || failed="${failed:+$failed and }suites"
# It builds every decoder once more, with sanitizers: two to five minutes.
if [ -n "$long" ] || [ $SECONDS -lt $((27 * 60)) ]; then
  step "fuzzing the decoders" ctest --preset release -L fuzz || failed="${failed:+$failed and }fuzzing"
else
  echo "test: after $(steps_time $SECONDS) no time is left for fuzzing the decoders; by hand: scripts/fuzz.sh" >&2
fi
# Its installation takes one to two minutes, as do its tests.
if [ -n "$long" ] || [ $SECONDS -lt $((29 * 60)) ]; then
  step "installing Spark, for mining by it" scripts/install_spark.sh ||
    echo "test: Spark could not be installed, see above; the tests spark_* are skipped without" >&2
  step "mining by Spark" ctest --preset release -L spark || failed="${failed:+$failed and }mining by Spark"
else
  echo "test: after $(steps_time $SECONDS) no time is left for mining by Spark; by hand: scripts/install_spark.sh && ctest --preset release -L spark" >&2
fi
[ -z "$long" ] || step "running every suite in its long form" scripts/suites.sh || failed="${failed:+$failed and }long suites"
steps_summary
[ ! -s "$CFFS_SKIPPED" ] || sort -u "$CFFS_SKIPPED" | sed 's/^/== skipped: /'
[ -z "$failed" ] || fail "$failed failed, see above; one alone: ctest --preset release -R NAME"
echo "== all tests passed in $(steps_time $((SECONDS - started))), the build included"
