#!/usr/bin/env bash
# The Python package of the build passes python/tests, by the Python that it was built for.
#   python_package_test.sh TREE BUILD PYTHON [--suite]
# --suite: fsspec's own tests of a file system, by the newer fsspec that scripts/install_suites.sh installs. 77: something is not installed.
set -euo pipefail
tree=$1 build=$2 python=$3 name=python_package
skip() {
  echo "$name: skipped: $*"
  [ -z "${CFFS_SKIPPED:-}" ] || echo "$name: $*" >>"$CFFS_SKIPPED"
  exit 77
}
tests=("$tree/python/tests")
if [ "${4:-}" = --suite ]; then
  name=suite_fsspec
  python=${CFFS_SUITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cffs-suites}/python/bin/python
  [ -x "$python" ] || skip "scripts/install_suites.sh was not run, or could not install fsspec"
  tests=("$tree/python/tests/test_fsspec.py")
fi
ls "$build"/python/cffs/_engine.*.so >/dev/null 2>&1 || skip "the module was not built: CFFS_PYTHON is off (Debian: python3-dev pybind11-dev)"
"$python" -c 'import pytest' 2>/dev/null || skip "$python has no pytest (Debian: python3-pytest)"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# debug: what is freed has other bytes at once.
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=debug
cd "$made"
"$python" -m pytest -q -rs -p no:cacheprovider --basetemp="$made/tests" --rootdir="$tree/python" "${tests[@]}" 2>&1 | tee "$made/said"
[ "${4:-}" != --suite ] || [ "$(grep -oE '[0-9]+ passed' "$made/said" | cut -d' ' -f1)" -ge 100 ] || { echo "fsspec's own tests did not run"; exit 1; }
