#!/usr/bin/env bash
# Sourced by the scripts of this folder. Each runs one well-known test suite or program on a mount of cffs; all take
#   [--policy=P] [--tiny] [--long] [CASE...]
#   --policy=P  none, directory (default), reference, frequency
#   --tiny      homes so small that every operation crosses them, while consolidation, compaction and commits run as often
#               as they can
#   --long      the whole suite; without it what is quick
# and need root and /dev/fuse; CFFS_BINARY is the release build where it is not set. What is missing, scripts/install_suites.sh installs.
suite_arguments=()
policy=directory
tiny=
long=
for word in "$@"; do
  case $word in
    --policy=*) policy=${word#--policy=} ;;
    --tiny) tiny=1 ;;
    --long) long=1 ;;
    -*) echo "$(basename "$0"): unknown option '$word'; there are --policy=P, --tiny, --long" >&2; exit 2 ;;
    *) suite_arguments+=("$word") ;;
  esac
done
set --
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CFFS_BINARY=$(realpath "${CFFS_BINARY:-$here/../../build/release/cffs}")
export CFFS_BINARY
. "$here/../mount/harness.sh"
# fio and stress-ng write files of their own where they are started; here these go with everything else.
cd "$base" || exit 1

# Where scripts/install_suites.sh puts what is no package.
CFFS_SUITE_TOOLS=${CFFS_SUITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cffs-suites}
CFFS_SUITE_SOURCES=$CFFS_SUITE_TOOLS/sources
export PATH=$PATH:$CFFS_SUITE_TOOLS/bin
churn=

skip() {  # why: the suite ends with the code that CTest takes for "skipped"
  echo "$(basename "$0"): skipped: $*" >&2
  echo "$(basename "$0"): $*" >>"${CFFS_SKIPPED:-/dev/null}"
  exit 77
}
require() {  # program...: without it there is nothing to try; says the cure
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || skip "$program is missing; scripts/install_suites.sh installs it"
  done
}

# A fresh mount for a case. With --tiny a companion keeps everything moving.
fresh_mount() {  # mount arguments
  stop_churn
  if [ -n "$tiny" ]; then
    fresh --inline-max=64 --composite-file-max=4K --composite-max=16K -- \
      "--policy=$policy" --quiet=0.05 --commit-interval=0.1 "$@" || return 1
    rm -f "$base/no-churn"
    ( while [ ! -e "$base/no-churn" ] && "$cffs" compact "$mnt" >/dev/null 2>&1; do sleep 0.05; done ) &
    churn=$!
  else
    fresh -- "--policy=$policy" --quiet=0.2 "$@" || return 1
  fi
}
# For suites that act as other users: they must reach the mount.
open_to_others() {
  chmod 755 "$base" "$mnt"
  runuser -u nobody -- test -x "$mnt" || {
    echo "  $mnt lies below a directory that is closed to other users; set TMPDIR to one that is not"
    return 1
  }
}
stop_churn() {
  # Not killed: a compaction under way would outlive it, and hold the mount.
  [ -z "$churn" ] || { : >"$base/no-churn"; wait "$churn" 2>/dev/null; }
  churn=
}
# The mount goes, and comes back. Whatever still uses it is the suite's fault, or cffs's.
mount_again() {
  stop_churn
  check "umount" timeout 120 "$cffs" umount "$mnt"
  check "mount again" "$cffs" mount "--policy=$policy" "$store" "$mnt"
}
# The end of a case: the mount goes at once, and the store is sound.
finish() {
  stop_churn
  check "umount" timeout 120 "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}
trap 'stop_churn; cleanup' EXIT

# limited SECONDS command...: a suite that hangs is killed, and with it whatever it started.
limited() {
  local seconds=$1
  shift
  timeout --kill-after=10 "$seconds" "$@"
}
