#!/usr/bin/env bash
# Sourced by the suites that try a mount with real programs: a store and a mount for each case, checks that name what they
# check, and an end that leaves nothing behind. Every case has its own store; everything is taken down at the end, also after a failure or Ctrl-C.
set -uo pipefail

cffs=${CFFS_BINARY:?set CFFS_BINARY to the cffs binary under test}
source_tree=${CFFS_SOURCE_TREE:-/usr/include}
base=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/cffs-mount-tests.XXXXXX")")
store=$base/store
mnt=$base/mnt
failures=0

# CFFS_TEST_BACKEND=region: stores are images; device: they are block devices; rados: they are in the pool "cffs" of the cluster of CEPH_CONF. Cases
# that look into a store's files need a directory.
backend=()
lock=$store/lock
case ${CFFS_TEST_BACKEND:-posix} in
  region) backend=(--backend=region --size=4G) lock=$store ;;
  device) backend=(--backend=region --force) ;;
esac
stores=0
name_store() {  # a new one each time: what is in a pool stays there
  stores=$((stores + 1))
  store=rados:cffs/test-$$-$stores
  lock=/run/cffs/rados:cffs:test-$$-$stores/lock
}
attach_device() {
  truncate -s 4G "$base/work/device.img" && store=$(losetup --find --show "$base/work/device.img" 2>/dev/null) && lock=$store
}

daemon_pid() {
  if [ -d "$store" ] || [ "${store#rados:}" != "$store" ]; then cut -d ' ' -f 2 "$lock"; else dd if="$store" bs=256 skip=32 count=1 status=none | cut -d ' ' -f 2; fi 2>/dev/null
}
kill_daemon() {  # kill -9, and wait until the process has let go of the store
  kill -9 "$(daemon_pid)"
  umount -l "$mnt"
  flock --wait 30 "$lock" true
}
take_down() {
  mountpoint -q "$mnt" 2>/dev/null && { timeout 60 "$cffs" umount "$mnt" 2>/dev/null || umount -l "$mnt" 2>/dev/null; }
  case $store in
    /dev/*) losetup -d "$store"; store=$base/store ;;
    rados:*) rm -rf "${lock%/lock}" ;;
    *) rm -rf "$store" ;;
  esac
  rm -rf "$base"/work
}
cleanup() { trap '' INT TERM; take_down; mountpoint -q "$base/disk" 2>/dev/null && umount "$base/disk"; rm -rf "$base"; }
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fresh() {  # format arguments -- mount arguments; no "--": do not mount
  take_down
  mkdir -p "$mnt" "$base/work"
  local format=() mount=() to=format
  local do_mount=
  for word in "$@"; do
    if [ "$word" = -- ]; then to=mount; do_mount=1; continue; fi
    if [ $to = format ]; then format+=("$word"); else mount+=("$word"); fi
  done
  if [ "${CFFS_TEST_BACKEND:-posix}" = device ]; then
    attach_device || { echo "no loop devices here: not tried"; exit 77; }
  fi
  # Whose key may write to a pool no client is told: without these words the mount is nosuid,nodev.
  if [ "${CFFS_TEST_BACKEND:-posix}" = rados ]; then name_store; mount=(-o suid,dev "${mount[@]}"); fi
  "$cffs" format "${backend[@]}" "${format[@]}" "$store" >"$base/work/format.out" || return 1
  [ -z "$do_mount" ] || "$cffs" mount "${mount[@]}" "$store" "$mnt"
}
check() {  # "what" command...
  local what=$1
  shift
  local output
  if output=$("$@" 2>&1); then return 0; fi
  echo "  FAILED: $what"
  echo "$output" | tail -n 12 | sed 's/^/    /'
  failures=$((failures + 1))
  return 1
}
same() { diff -r --no-dereference "$1" "$2"; }
# The same with all that rsync knows of a file, times to the nanosecond. Shown: what it would change; further options are its own.
same_all() {  # from to [option...]
  local out
  out=$(rsync -aHAX --modify-window=-1 --checksum --dry-run --itemize-changes "${@:3}" "$1/" "$2/") || return 1
  echo "$out"
  test -z "$out"
}
# A command must fail with exit code != 0 and print exactly one line that matches.
refused() {  # pattern command...
  local pattern=$1 output
  shift
  if output=$("$@" 2>&1); then echo "it succeeded: $output"; return 1; fi
  [ "$(echo "$output" | wc -l)" = 1 ] || { echo "not one line: $output"; return 1; }
  grep -Eq "$pattern" <<<"$output" || { echo "unexpected: $output"; return 1; }
}
within() {  # seconds command...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.05; done
}
stat_number() { "$cffs" stat --json "$1" | python3 -c "import json,sys; print(json.load(sys.stdin)['$2'])"; }


run_cases() {  # all cases -- the wanted ones
  local all=() wanted=() c before started
  while [ "$1" != -- ]; do all+=("$1"); shift; done
  shift
  wanted=("$@")
  [ ${#wanted[@]} -gt 0 ] || wanted=("${all[@]}")
  for c in "${wanted[@]}"; do
    before=$failures
    started=$SECONDS
    echo "== $c"
    "case_$c" || { echo "  FAILED: case $c ended early"; failures=$((failures + 1)); }
    [ $failures = "$before" ] && echo "  ok, $((SECONDS - started)) s"
  done
  echo "$failures failures"
  [ $failures = 0 ]
}
