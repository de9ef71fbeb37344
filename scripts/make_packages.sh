#!/usr/bin/env bash
# Makes the Debian packages cffs, libcffs-dev and python3-cffs for the Debian that runs here, in build/release/packages, and has lintian look
# at them. python3-cffs needs python3-dev and pybind11-dev when CMake configures; where it cannot be made, the others are.
#   scripts/make_packages.sh [--build=DIR] [--no-lintian]
#   --build=DIR     a build directory that is there already; else build/release, made and built where needed
# scripts/bare_machine.sh 12 --packages=DIR then tries them on a bare root, and without =DIR makes them on one.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "make_packages: $*" >&2; exit 1; }

build=
look=1
for word in "$@"; do
  case $word in
    --build=*) build=${word#*=} ;;
    --no-lintian) look= ;;
    *) fail "unknown option '$word'; there are: --build=DIR, --no-lintian" ;;
  esac
done

if [ -z "$build" ]; then
  build=build/release
  scripts/install_packages.sh
  [ -e $build/CMakeCache.txt ] || cmake --preset release >/dev/null
  targets=(cffs cffs_core cffs_grouping)
  ! grep -q '^CFFS_PYTHON:BOOL=ON$' $build/CMakeCache.txt || targets+=(cffs_python)
  cmake --build $build --target "${targets[@]}"
else
  [ -e "$build/CMakeCache.txt" ] || fail "$build is no build directory of CMake"
fi
scripts/install_packages.sh dpkg-dev file gzip
[ -z "$look" ] || scripts/install_packages.sh lintian || echo "make_packages: lintian could not be installed, see above; nobody looks at the packages" >&2

# What this build has of the Python module, and whether that is one for Debian's Python (cmake/Packages.cmake).
components=()
without() {
  echo "make_packages: python3-cffs is not made: $*" >&2
  components=(-D "CPACK_COMPONENTS_ALL=command;library")
}
if ! grep -q '^CFFS_PYTHON:BOOL=ON$' "$build/CMakeCache.txt"; then
  without "$build was configured without the Python module; scripts/install_packages.sh python3-dev pybind11-dev && cmake -DCFFS_PYTHON=ON $build brings it"
elif ! grep -q '^set(CPACK_COMPONENTS_ALL ".*python' "$build/CPackConfig.cmake"; then
  without "the module in $build is not for this Debian's /usr/bin/python3, or that is older than 3.11"
elif ! compgen -G "$build/python/cffs/_engine.*.so" >/dev/null; then
  without "the module was not built; cmake --build $build --target cffs_python builds it"
fi

rm -rf "$build/packages"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The target "package" would build everything first, tests too.
(cd "$build" && umask 022 && cpack -G DEB "${components[@]}") >"$log" 2>&1 || { cat "$log" >&2; fail "cpack failed, see above"; }
rm -rf "$build/packages/_CPack_Packages"
ls "$build"/packages/*.deb
[ -n "$look" ] && command -v lintian >/dev/null || exit 0
# Those who make them here are root, which it warns of; errors end this.
lintian --allow-root --fail-on error --tag-display-limit 0 "$build"/packages/*.deb || fail "lintian found errors, see above"
