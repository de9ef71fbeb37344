#!/usr/bin/env bash
# fuzz_test.sh SOURCE BINARY_DIR: every fuzz target reads its corpus, and goes on from there for two seconds. 77: no clang with
# libFuzzer is here. Long runs: scripts/fuzz.sh.
set -u
code=0
CFFS_FUZZ_BUILD=$2/fuzz "$1/scripts/fuzz.sh" 2 || code=$?
if [ $code = 77 ]; then
  echo "fuzz: no clang with libFuzzer is installed" >>"${CFFS_SKIPPED:-/dev/null}"
fi
exit $code
