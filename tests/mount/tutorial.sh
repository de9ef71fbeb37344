#!/usr/bin/env bash
# docs/TUTORIAL.md, typed as it stands.
. "$(dirname "$0")/harness.sh"
repository=$(cd "$(dirname "$0")/../.." && pwd)
cleanup() {
  trap '' INT TERM
  local path
  awk -v below="$base/" 'index($2, below) == 1 { print $2 }' /proc/mounts | while read -r path; do
    timeout 60 "$cffs" umount --force "$path" 2>/dev/null || umount -l "$path" 2>/dev/null
  done
  rm -rf "$base"
}
mkdir "$base/tmp"
cd "$repository" || exit 1
TMPDIR=$base/tmp timeout 240 python3 "$repository/tests/mount/tutorial.py" docs/TUTORIAL.md "$(cd "$(dirname "$cffs")" && pwd)" </dev/null
