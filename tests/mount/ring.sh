#!/usr/bin/env bash
# Mounts whose requests come over io_uring. Usage: CFFS_BINARY=... tests/mount/ring.sh [CASE...]
# Where the kernel has it, it is switched on for the time of a mount's beginning, and put back; else there is nothing to try.
parameter=/sys/module/fuse/parameters/enable_uring
if ! before=$(cat $parameter 2>/dev/null); then
  echo "skipped: this kernel has no FUSE over io_uring ($parameter)"
  exit 77
fi
if ! { echo "$before" >$parameter; } 2>/dev/null; then
  echo "skipped: $parameter cannot be written here"
  exit 77
fi
. "$(dirname "$0")/harness.sh"
disabled=/proc/sys/kernel/io_uring_disabled
disabled_before=$(cat $disabled 2>/dev/null || echo 0)
put_back() { echo "$before" >$parameter; [ ! -e $disabled ] || echo "$disabled_before" >$disabled; }
trap 'put_back; cleanup' EXIT
echo Y >$parameter

ring() { "$cffs" mount --transport=ring "$@" "$store" "$mnt"; }
transport() { "$cffs" stat --json "$mnt" | python3 -c "import json,sys; print(json.load(sys.stdin)['transport'])"; }
comes_by() { [ "$(transport)" = "$1" ] || { echo "requests come by $(transport)"; return 1; }; }
silent() { local said; said=$("$@" 2>&1) && [ -z "$said" ] || { echo "$said"; return 1; }; }
unmounted() { timeout 60 "$cffs" umount "$mnt"; }
whole() { timeout 120 "$cffs" fsck "$store"; }
# Within so many seconds a request that no cache answers is served.
answers() { timeout "$1" stat --cached=never "$mnt/${2:-.}" >/dev/null; }
connection() { python3 -c "import os,sys; print(os.minor(os.stat(sys.argv[1]).st_dev))" "$mnt"; }
gone() {  # within 20 s the process of this number has ended
  local i
  for i in $(seq 200); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done
  echo "process $1 lives on: $(cat /proc/"$1"/stack 2>/dev/null | head -3)"
  return 1
}

for topic in choice data clients ends; do . "$(dirname "$0")/ring/$topic.sh"; done
run_cases choice refused transport model data large slow_disk crowd killed_clients ends_under_load killed_daemon aborted remounts threads -- "$@"
