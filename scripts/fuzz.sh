#!/usr/bin/env bash
# fuzz.sh [SECONDS] [TARGET...]: builds the fuzz targets (tests/fuzz, clang) and runs each for that time (60), all or those named; says
# what each did. What it finds lies in BUILD/findings, inputs that reached something new in BUILD/corpus, for the next run.
# CFFS_FUZZ_BUILD: where to build (build/fuzz). CFFS_FUZZ_JOBS: how many run at a time. A finding is run again with
#   build/fuzz/fuzz_TARGET FILE
# and, once mended, joins the samples in tests/fuzz/corpus. 77: no clang with libFuzzer is here.
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
cd "$source"
build=${CFFS_FUZZ_BUILD:-build/fuzz}
jobs=${CFFS_FUZZ_JOBS:-$(nproc)}
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: '$seconds' is no number of seconds" >&2; exit 2; }
[ $# = 0 ] || shift

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$probe/probe.cc"
if ! clang++ -fsanitize=fuzzer,address,undefined "$probe/probe.cc" -o "$probe/probe" >"$probe/log" 2>&1; then
  echo "fuzz: no clang with libFuzzer is here; scripts/install_packages.sh clang libclang-rt-14-dev (the number is clang's) installs one" >&2
  exit 77
fi

targets=()
for file in tests/fuzz/*.cc; do targets+=("$(basename "$file" .cc)"); done
for name in "$@"; do
  [ -e "tests/fuzz/$name.cc" ] || { echo "fuzz: there is no target '$name'; there are: ${targets[*]}" >&2; exit 2; }
done
[ $# = 0 ] || targets=("$@")

cmake --preset fuzz -B "$build" >"$probe/log" 2>&1 || { cat "$probe/log" >&2; exit 1; }
cmake --build "$build" --target "${targets[@]/#/fuzz_}" >"$probe/log" 2>&1 || { tail -n 40 "$probe/log" >&2; exit 1; }
build=$(realpath "$build")
mkdir -p "$build/findings"

# Formats with checksums or long samples get room for them.
longest() { case $1 in catalogue | plan_file | trace_file) echo 16384 ;; replay_check) echo 8192 ;; *) echo 4096 ;; esac; }

run() {
  local name=$1 log=$build/findings/$1.log code=0
  mkdir -p "$build/corpus/$name"
  timeout -k 10 $((seconds + 120)) "$build/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 \
    -max_len="$(longest "$name")" -print_final_stats=1 -artifact_prefix="$build/findings/$name-" \
    "$build/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 || code=$?
  local runs covered
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  covered=$(sed -n 's/.*cov: \([0-9]*\) ft.*/\1/p' "$log" | tail -n 1)
  if [ $code = 0 ]; then
    printf '%-18s %10s executions, %5s places reached\n' "$name" "${runs:-0}" "${covered:-?}"
    rm -f "$log"
    return 0
  fi
  printf '%-18s FAILED (%s): %s; see %s\n' "$name" "$code" \
    "$(grep -m 1 -E 'ERROR: |runtime error: |broken invariant' "$log" | cut -c 1-160 || true)" "$log"
  return 1
}

failed=0
running=0
for name in "${targets[@]}"; do
  if [ $running -ge "$jobs" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  run "$name" &
  running=$((running + 1))
done
while [ $running -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
[ $failed = 0 ] || { echo "fuzz: findings are in $build/findings" >&2; exit 1; }
