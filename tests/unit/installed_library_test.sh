#!/usr/bin/env bash
# The engine as a library: what `cmake --install` puts down is enough for docs/examples to build and run, and the sources are
# not needed for it. Arguments: build directory, the example's directory, cmake, the compiler.
set -euo pipefail
build=$1 example=$2 cmake=$3 compiler=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/cffs-library.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --component library --prefix "$work/installed" >"$work/log"
cp -r "$example" "$work/example"
"$cmake" -S "$work/example" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$compiler" >"$work/log" 2>&1 &&
  "$cmake" --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
if grep -rn "$(dirname "$(dirname "$example")")/" "$work/installed/lib" --include='*.cmake'; then
  echo "the installed package names the source tree"
  exit 1
fi
mkdir "$work/store"
"$work/build/small_files" "$work/store" | tee "$work/said"
grep -qx 'note42: what a small file says' "$work/said"
