#!/usr/bin/env bash
# Sourced by the scripts of this folder. Each runs one service on a mount as its page in docs/services says, uses it as a client would, and tries
# what happens when the daemon of the mount is killed under it. They need root and /dev/fuse; services listen on loopback, on ports that are free, and
# have their own configuration below a temporary directory: what the machine runs of the same kind is left alone. Without the service's program
# a script ends with 77 and says what to install. CFFS_BINARY is the release build where it is not set.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CFFS_BINARY=$(realpath "${CFFS_BINARY:-$here/../../build/release/cffs}")
export CFFS_BINARY
. "$here/../mount/harness.sh"
services=()

require() {  # package program...: without it there is nothing to try
  local package=$1 program
  shift
  for program in "$@"; do
    [ -e "$program" ] || command -v "$program" >/dev/null || {
      echo "$(basename "$0"): skipped: $program is missing; scripts/install_packages.sh $package" >&2
      echo "services/$(basename "$0"): $program is missing; scripts/install_packages.sh $package" >>"${CFFS_SKIPPED:-/dev/null}"
      exit 77
    }
  done
}
free_port() { python3 -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"; }

serve() {  # command...: runs until stop_services
  "$@" >>"$base/service.out" 2>&1 &
  services+=($!)
}
stop_services() {
  local pid
  for pid in "${services[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${services[@]}"; do
    timeout 10 tail -s 0.1 -f /dev/null --pid="$pid"
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
  done
  services=()
}
trap 'stop_services; cleanup' EXIT

eventually() {  # command...: within ten seconds
  local i
  for i in $(seq 100); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  "$@"
}
listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

# A mount with a site on it: small files, one of 24 MB, one that only root may read. Other users reach it.
site() {  # mount arguments
  stop_services
  fresh -- --quiet=0.2 "$@" || return 1
  chmod 755 "$base" "$mnt"
  cp -a "$source_tree/linux" "$mnt/site" && mkdir "$mnt/site/deep" &&
    head -c 24M /dev/urandom >"$mnt/site/large.bin" && echo '<p>one' >"$mnt/site/index.html" && echo secret >"$mnt/site/private.txt" &&
    chmod 600 "$mnt/site/private.txt" && cp -a "$mnt/site" "$base/work/expected"
}
# Some of its files, those that are packed into composites and the large one among them.
some_files() { (cd "$base/work/expected" && find . -type f ! -name private.txt | sort | awk 'NR % 9 == 0 || /large|index/' | cut -c 3-); }
consolidate() { sleep 0.3; "$cffs" compact "$mnt"; }
# What everybody tries who runs a service: the daemon is gone, and comes back at the same place.
kill_only() { kill -9 "$(daemon_pid)"; flock --wait 30 "$lock" true; }
mount_again() { umount -l "$mnt" && "$cffs" mount --quiet=0.2 "$store" "$mnt"; }
finish() {
  stop_services
  check "umount" timeout 120 "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}
