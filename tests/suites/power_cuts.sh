#!/usr/bin/env bash
# Power cuts below a real kernel, on each file system that can be made here; and kill -9 on the way. See power_cuts.py.
. "$(dirname "$0")/suite.sh" "$@"
require python3 cc pkg-config losetup

calls=${long:+600} calls=${calls:-120}
cuts=${long:+60} cuts=${cuts:-12}
recorder=$base/recorder

cut_powers() {  # file system, seeds...
  local kind=$1 seed
  shift
  [ "$kind" = region ] || command -v "mkfs.$kind" >/dev/null || { echo "  no mkfs.$kind here: $kind is not tried"; return 0; }
  if [ ! -x "$recorder" ]; then
    # shellcheck disable=SC2046
    check "the recorder builds" cc -O2 -Wall -o "$recorder" "$here/block_recorder.c" $(pkg-config --cflags --libs fuse3) || return 1
  fi
  for seed in "$@"; do
    rm -rf "$base/cuts"; mkdir "$base/cuts"
    check "$kind, seed $seed" limited 1200 python3 "$here/power_cuts.py" "$cffs" "$recorder" "$base/cuts" "$kind" "$seed" "$calls" "$cuts"
  done
}
seeds() { if [ -n "$long" ]; then seq "$1" "$(($1 + 19))"; else echo "$1"; fi; }
case_ext4() { cut_powers ext4 $(seeds 1); }
case_xfs() { cut_powers xfs $(seeds 102); }
case_btrfs() { cut_powers btrfs $(seeds 201); }

case_region() { cut_powers region $(seeds 301); }  # on no file system

run_cases ext4 xfs btrfs region --
