#!/usr/bin/env bash
# Runs every suite of tests/suites and the comparison with ext4 in their long form, with every policy and with tiny homes.
#   scripts/suites.sh [--quick] [SUITE...]
set -uo pipefail
cd "$(dirname "$0")/.."
form=--long
if [ "${1:-}" = --quick ]; then form=; shift; fi
all=(parity pjdfstest fsx random_calls fio stress_ng programs sqlite postgresql cpython git build roundtrips)
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=("${all[@]}")
failed=()
skipped=()
for suite in "${wanted[@]}"; do
  script=tests/suites/$suite.sh
  [ "$suite" != parity ] || script=tests/mount/parity.sh
  [ -x "$script" ] || { echo "suites: there is no suite '$suite'; there are: ${all[*]}" >&2; exit 2; }
  for policy in directory none reference frequency; do
    for homes in '' --tiny; do
      run="$suite --policy=$policy${homes:+ $homes}"
      echo "== $run"
      timeout --kill-after=60 3000 "$script" --policy=$policy ${homes:+$homes} ${form:+$form}
      case $? in
        0) ;;
        77) skipped+=("$run") ;;
        *) failed+=("$run") ;;
      esac
    done
  done
done
[ ${#skipped[@]} = 0 ] || printf '== skipped: %s\n' "${skipped[@]}"
[ ${#failed[@]} = 0 ] || { printf 'suites: failed: %s\n' "${failed[@]}" >&2; exit 1; }
echo "== all suites${skipped:+ but the skipped} passed"
