#!/usr/bin/env bash
# System calls on an ext4 and on a mount: results, errno and what is left must be the same, but for what docs/COMPATIBILITY.md
# lists. Takes the options of tests/suites: [--policy=P] [--tiny] [CASE...]
. "$(dirname "$0")/../suites/suite.sh" "$@"
require python3 setfacl getfacl mkfs.ext4

case_calls() {
  local native=$base/disk code argument wanted=()
  for argument in "${suite_arguments[@]}"; do [ "$argument" = read_only ] || wanted+=("$argument"); done  # that is the other case
  [ ${#wanted[@]} -gt 0 ] || [ ${#suite_arguments[@]} = 0 ] || return 0
  fresh_mount && open_to_others || return 1
  mkdir -p "$native"
  truncate -s 8G "$base/image" && mkfs.ext4 -q -F "$base/image" && mount -o loop "$base/image" "$native" || return 1
  limited 400 python3 "$here/../mount/parity" --differences "$here/../../docs/COMPATIBILITY.md" "$native" "$mnt" "${wanted[@]}" >"$base/work/log"
  code=$?
  grep -E '^  |outcomes' "$base/work/log"
  check "the same outcomes" test $code = 0
  finish
  umount "$native"
}

case_read_only() {
  local native=$base/disk
  fresh_mount && open_to_others || return 1
  mkdir -p "$native"
  truncate -s 64M "$base/image" && mkfs.ext4 -q -F "$base/image" && mount -o loop "$base/image" "$native" || return 1
  local d
  for d in "$native" "$mnt"; do ( cd "$d" && rm -rf lost+found && echo 0123456789 >f && mkdir d && ln -s f s ) || return 1; done
  stop_churn  # it uses the mount
  check "umount" "$cffs" umount "$mnt"
  check "remount ext4" mount -o remount,ro "$native"
  check "mount read-only" "$cffs" mount -o ro "$store" "$mnt"
  check "the same outcomes" python3 "$here/../mount/parity" "$native" "$mnt" read_only
  finish
  check "remount ext4" mount -o remount,rw "$native"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "make it read-only while mounted" bash -c "'$cffs' mount -o remount,ro '$store' '$mnt' && ! touch '$mnt/x' 2>/dev/null && '$cffs' mount -o remount,rw '$store' '$mnt' && touch '$mnt/x'"
  check "the same by mount(8) alone" env LIBMOUNT_FORCE_MOUNT2=always bash -c "mount -i -o remount,ro '$mnt' && ! touch '$mnt/x' 2>/dev/null && mount -i -o remount,rw '$mnt' && touch '$mnt/x'"
  finish
  umount "$native"
}

run_cases calls read_only --
