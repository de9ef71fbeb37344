#!/usr/bin/env bash
# Random calls of every kind from several processes in one tree, as fsstress makes them; then everything is read, remounted and
# read again, and the store must be sound.
. "$(dirname "$0")/suite.sh" "$@"
require python3

seconds=${long:+60}; seconds=${seconds:-6}
state() { ( cd "$mnt" && find . -printf '%p %y %m %U %G %n %T@ ' \( -type f -printf '%s ' -exec sha1sum {} \; -o -printf '%l\n' \) | sort ); }
# Attributes as the kernel remembers them (always), or as the store says now (never).
attributes() { ( cd "$mnt" && find . -print0 | sort -z | xargs -0 stat --cached="$1" --printf '%n %f %h %u %g %s %.Y %.Z\n' ); }

case_tree() {
  local seed
  for seed in ${long:+1 2 3 4} 5; do
    fresh_mount || return 1
    check "random calls, seed $seed" limited $((seconds + 60)) python3 "$here/random_calls.py" "$mnt" 5 "$seconds" "$seed"
    stop_churn
    state >"$base/work/before" || echo "  FAILED: reading everything"
    check "there is something" test "$(wc -l <"$base/work/before")" -gt 20
    attributes always >"$base/work/remembered"
    attributes never >"$base/work/asked"
    check "the kernel remembers what the store says" diff "$base/work/remembered" "$base/work/asked"
    check "umount" "$cffs" umount "$mnt"
    check "fsck" "$cffs" fsck "$store"
    check "mount again" "$cffs" mount "--policy=$policy" "$store" "$mnt"
    state >"$base/work/after"
    check "the same after a remount" diff "$base/work/before" "$base/work/after"
    finish
  done
}

run_cases tree --
