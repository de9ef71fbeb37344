#!/usr/bin/env bash
# A store in use for long: work, background work, kill -9 and remounts without a difference. See soak.py.
#   --long: an hour; CFFS_SOAK_SECONDS=N: so long
. "$(dirname "$0")/suite.sh" "$@"
require python3

seconds=${CFFS_SOAK_SECONDS:-${long:+3600}}; seconds=${seconds:-15}
seed=${CFFS_SOAK_SEED:-1}

case_days() {
  fresh_mount || return 1
  stop_churn
  "$cffs" umount "$mnt" || return 1
  python3 "$here/soak.py" "$cffs" "$store" "$mnt" "$seconds" "$seed" >"$base/work/said" 2>&1 &
  local soak=$! code=0
  [ -z "$long" ] || tail -f --pid=$soak "$base/work/said" &
  wait $soak || code=$?
  tail -n 1 "$base/work/said"
  check "no difference, seed $seed" test $code = 0 || { tail -n 12 "$base/work/said"; umount -l "$mnt" 2>/dev/null; }
}

run_cases days --
