#!/usr/bin/env bash
# A mount exported by NFS, by nfs-ganesha: docs/services/NFS.md. The client is libnfs, for kernels that have none of their own.
. "$(dirname "$0")/service.sh"
require "nfs-ganesha nfs-ganesha-vfs" ganesha.nfsd /usr/lib/*/ganesha/libfsalvfs.so
require libnfs-utils nfs-ls
require rpcbind rpcbind

ports=()
start_ganesha() {
  [ ${#ports[@]} -gt 0 ] || ports=("$(free_port)" "$(free_port)" "$(free_port)")
  mkdir -p "$base/work/ganesha"
  cat >"$base/work/ganesha.conf" <<CONF
NFS_CORE_PARAM {
  Protocols = 3, 4;
  Bind_addr = 127.0.0.1;
  NFS_Port = ${ports[0]}; MNT_Port = ${ports[1]}; NLM_Port = ${ports[2]};
  Enable_UDP = false; Enable_RQUOTA = false; Enable_NLM = false;
}
NFSv4 { RecoveryRoot = $base/work/ganesha; Graceless = true; Only_Numeric_Owners = true; }
EXPORT {
  Export_Id = 7; Path = $mnt/site; Pseudo = /site;
  Access_Type = RW; Squash = ${1:-No_Root_Squash}; SecType = sys; Protocols = 3, 4; Transports = TCP;
  FSAL { Name = VFS; }
}
LOG { Default_Log_Level = EVENT; }
CONF
  : >"$base/work/ganesha.log"
  serve ganesha.nfsd -F -L "$base/work/ganesha.log" -f "$base/work/ganesha.conf" -p "$base/work/ganesha.pid"
  eventually grep -q 'NFS SERVER INITIALIZED' "$base/work/ganesha.log"
}
# NFS 3 asks the portmapper where the server is, and ganesha does not start without.
portmapper() {
  pgrep -x rpcbind >/dev/null && return 0
  rpcbind -f -w >/dev/null 2>&1 &
  portmapper=$!
  eventually test -S /run/rpcbind.sock
}
portmapper=
trap 'stop_services; [ -z "$portmapper" ] || kill "$portmapper"; cleanup' EXIT
address() { case $1 in 3) echo "nfs://127.0.0.1$mnt/site?version=3&nfsport=${ports[0]}&mountport=${ports[1]}" ;; 4) echo "nfs://127.0.0.1/site?version=4&nfsport=${ports[0]}" ;; esac; }
client() { timeout 120 /usr/bin/python3 "$here/nfs_client.py" "$(address "$1")" "$2"; }
open_export() {
  site && cp "$mnt/site/kvm.h" "$mnt/site/a.h" && cp "$mnt/site/acct.h" "$mnt/site/deep/b.h" && portmapper && start_ganesha "$@"
}

case_use() {
  open_export || return 1
  local version
  for version in 3 4; do
    check "NFS $version: files, small and large; renames, links, attributes, refusals" client $version use
    check "what came by NFS $version is there" test "$(stat -c %s "$mnt/site/work/large")" = 12582912
    check "consolidation, regrouping" bash -c "sleep 0.3; '$cffs' compact '$mnt' && '$cffs' regroup --policy=directory '$mnt'"
    check "read from composites by NFS $version" client $version read
    rm -rf "$mnt/site/work"
  done
  chmod 777 "$mnt/site/deep"
  check "a user's file" bash -c "timeout 20 nfs-cp /etc/passwd '$(address 3 | sed 's,/site?,/site/deep/passwd?,')&uid=33&gid=33'"
  check "belongs to that user" test "$(stat -c %u:%g "$mnt/site/deep/passwd")" = 33:33
  check "who may not read" bash -c "timeout 20 nfs-cat '$(address 3 | sed 's,/site?,/site/private.txt?,')&uid=33&gid=33' 2>&1 | grep -q ACCES"
  stop_services
  start_ganesha Root_Squash || return 1
  check "a root that is squashed is refused" bash -c "! timeout 20 nfs-cat '$(address 3)' 2>/dev/null; timeout 20 nfs-cat '$(address 3 | sed 's,/site?,/site/private.txt?,')' 2>&1 | grep -q ACCES"
  finish
}

# A client keeps handles for as long as it likes: over the kernel's forgetting, the server's restart, and the daemon's.
case_handles() {
  open_export || return 1
  mkfifo "$base/work/commands"
  client 3 session <"$base/work/commands" >"$base/work/session" 2>&1 &
  local pid=$! answers=1
  exec 5>"$base/work/commands"
  answered() { [ "$(grep -c ready "$base/work/session")" -ge "$answers" ]; }
  again() { answers=$((answers + 1)); echo >&5; eventually answered || { tail -n 3 "$base/work/session"; return 1; }; }
  check "files are open" eventually answered
  echo 2 >/proc/sys/vm/drop_caches
  check "the kernel has forgotten them" again
  check "regrouped" "$cffs" regroup --policy=reference "$mnt"
  answers=2 && check "the handles are good after regrouping" again
  stop_services
  check "umount" "$cffs" umount "$mnt"
  check "mount" "$cffs" mount "$store" "$mnt"
  start_ganesha || return 1
  answers=3 && check "the server and the mount were stopped, and started again" again
  stop_services
  kill_only && mount_again
  start_ganesha || return 1
  answers=4 && check "the daemon was killed, the server started again" again
  # Another device number: handles have it.
  stop_services
  "$cffs" umount "$mnt"
  mkdir -p "$base/work/numbers" && for _ in 1 2 3 4; do mount -t tmpfs numbers "$base/work/numbers"; done
  check "mount with another device number" "$cffs" mount "$store" "$mnt"
  start_ganesha || return 1
  echo >&5
  ended() { ! kill -0 "$pid"; }
  check "the client is told that its handles are stale" eventually ended
  check "and finds all when it mounts again" client 3 use
  while umount "$base/work/numbers" 2>/dev/null; do :; done
  exec 5>&-
  wait "$pid"
  finish
}

case_killed() {
  open_export || return 1
  check "listed" timeout 20 nfs-ls "$(address 4)"
  check "umount names ganesha" refused ganesha timeout 20 "$cffs" umount "$mnt"
  kill_only
  local version
  for version in 3 4; do
    client $version use >"$base/work/said" 2>&1
    check "who writes is told" test "$?" != 0
    echo "  NFS $version without the daemon: $(grep -o 'NFS[34]ERR_[A-Z]*' "$base/work/said" | head -n 1)"
  done
  check "mount again" mount_again
  echo new >"$mnt/site/new"
  check "ganesha has the old mount still" bash -c "! timeout 20 nfs-cat '$(address 3 | sed 's,/site?,/site/new?,')' 2>/dev/null"
  stop_services
  start_ganesha || return 1
  for version in 3 4; do check "started again, it serves NFS $version" client $version use && rm -r "$mnt/site/work"; done
  check "what was written is there" bash -c "test new = \"\$(timeout 20 nfs-cat '$(address 3 | sed 's,/site?,/site/new?,')')\""
  finish
}

run_cases use handles killed -- "$@"
