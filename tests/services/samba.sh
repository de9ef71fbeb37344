#!/usr/bin/env bash
# Samba in front of a mount: docs/services/SAMBA.md.
. "$(dirname "$0")/service.sh"
require samba smbd
require samba-vfs-modules /usr/lib/*/samba/vfs/streams_xattr.so
require smbclient smbclient
require "attr" getfattr

start_samba() {  # lines for the share
  port=$(free_port)
  local d=$base/work/samba
  mkdir -p "$d/private"
  # The domain user is one that every Debian has.
  cat >"$base/work/smb.conf" <<CONF
[global]
  server role = standalone server
  interfaces = lo
  bind interfaces only = yes
  smb ports = $port
  disable spoolss = yes
  load printers = no
  printcap name = /dev/null
  private dir = $d/private
  lock directory = $d/lock
  state directory = $d/state
  cache directory = $d/cache
  pid directory = $d/pid
  ncalrpc dir = $d/ncalrpc
  log file = $d/log.%m
  log level = 1
  map to guest = never
[site]
  path = $mnt/site
  read only = no
  vfs objects = acl_xattr streams_xattr
  store dos attributes = yes
  ea support = yes
  map archive = no
  strict sync = yes
  $1
CONF
  mkdir -p "$d/lock" "$d/state" "$d/cache" "$d/pid" "$d/ncalrpc"
  printf 'secret\nsecret\n' | smbpasswd -c "$base/work/smb.conf" -a -s www-data >/dev/null || return 1
  serve smbd --foreground --configfile="$base/work/smb.conf"
  eventually listening "$port"
}
client() { timeout 60 smbclient //127.0.0.1/site -p "$port" -U www-data%secret "$@"; }  # -c 'commands'
says() {  # pattern commands
  local said
  said=$(client -c "$2" 2>&1)
  grep -qE "$1" <<<"$said" || { echo "$said"; return 1; }
}
open_share() {
  site || return 1
  rm -rf "$mnt"/site/netfilter* "$base"/work/expected/netfilter*  # names there differ in nothing but their case: see the page
  chown -R www-data:www-data "$mnt/site"
  chown root "$mnt/site/private.txt"
  start_samba "${1:-}"
}

case_use() {
  open_share || return 1
  local got=$base/work/got
  mkdir "$got"
  check "a whole tree" client -c "prompt off; recurse on; lcd $got; mget *"
  check "what came is what is there" diff -r --exclude=private.txt "$base/work/expected" "$got"
  check "consolidation under it" consolidate
  rm -rf "$got" && mkdir "$got"
  check "a whole tree, from composites" client -c "prompt off; recurse on; lcd $got; mget *"
  check "what came is what is there" diff -r --exclude=private.txt "$base/work/expected" "$got"
  check "what www-data may not read is refused" says NT_STATUS_ACCESS_DENIED "get private.txt $got/p"
  check "a tree put there" client -c "prompt off; recurse on; lcd $base/work/expected; mkdir copy; cd copy; mput *"
  check "is there" diff -r --exclude=private.txt "$base/work/expected" "$mnt/site/copy"
  check "rename, over another one too" client -c 'rename copy/kvm.h copy/moved.h; rename copy/moved.h copy/acct.h -f'
  check "done" cmp "$mnt/site/copy/acct.h" "$base/work/expected/kvm.h"
  check "names in any case" client -c "get COPY/Acct.H $got/a"
  check "names as Windows has them" bash -c ": >'$mnt/site/a:b' && : >'$mnt/site/Ümlaut ß.txt'"
  check "both are listed" says 'Ümlaut ß' 'ls *'
  check "deltree" client -c 'deltree copy'
  check "it is gone" test ! -e "$mnt/site/copy"
  finish
}

# Windows' attributes, lists and streams lie in extended attributes; a remount and a regrouping keep them.
case_attributes() {
  open_share || return 1
  check "hidden, a system's" client -c 'setmode kvm.h +hs'
  check "they are shown" says 'kvm.h +[A-Z]*HS' 'ls kvm.h'
  check "they are an attribute of the file" bash -c "getfattr -n user.DOSATTRIB '$mnt/site/kvm.h'"
  echo 'in a stream' >"$base/work/stream"
  check "mounted again" bash -c "'$cffs' umount --force '$mnt' && '$cffs' mount '$store' '$mnt'"
  check "attributes are shown" says 'kvm.h +[A-Z]*HS' 'ls kvm.h'
  check "a stream" client -c "put $base/work/stream kvm.h:notes"
  check "the stream is listed" says ':notes:' 'allinfo kvm.h'
  check "regrouped" "$cffs" regroup --policy=directory "$mnt"
  check "mounted again" bash -c "'$cffs' umount --force '$mnt' && '$cffs' mount '$store' '$mnt'"
  check "the stream is there" client -c "get kvm.h:notes $base/work/stream.got"
  check "with its content" cmp "$base/work/stream" "$base/work/stream.got"
  check "the file's own content" client -c "get kvm.h $base/work/kvm.got"
  check "is untouched" cmp "$base/work/kvm.got" "$base/work/expected/kvm.h"
  head -c 100K /dev/urandom >"$base/work/stream"
  check "a stream of more than 64 KiB is refused" says 'NT_STATUS' "put $base/work/stream kvm.h:large"
  printf '[depot]\n  copy = site\n  vfs objects = acl_xattr streams_depot\n' >>"$base/work/smb.conf"
  smbcontrol --configfile="$base/work/smb.conf" smbd reload-config
  depot() { timeout 60 smbclient //127.0.0.1/depot -p "$port" -U www-data%secret -c "$1"; }
  check "not by streams_depot" depot "put $base/work/stream acct.h:large; get acct.h:large $base/work/stream.got"
  check "which keeps it" cmp "$base/work/stream" "$base/work/stream.got"
  finish
}

# Samba's own tests, where they are installed: locks, renames, streams, attributes; CFFS_LONG=1 has more. The same on the file system below.
case_torture() {
  command -v smbtorture >/dev/null || { echo "  no smbtorture: not tried; scripts/install_packages.sh samba-testsuite"; return 0; }
  open_share || return 1
  local tests=(smb2.lock smb2.rename smb2.streams smb2.ea) name
  [ -z "${CFFS_LONG:-}" ] || tests+=(smb2.create smb2.read smb2.getinfo smb2.setinfo smb2.notify smb2.dir smb2.sharemode smb2.acls)
  outcomes() {
    mkdir -p "$1" && chown www-data "$1"
    for name in "${tests[@]}"; do
      timeout 100 smbtorture "//127.0.0.1/$2" -p "$port" -U www-data%secret "$name" 2>&1 | grep -E '^(success|failure|error|skip):' | sed "s/ \[$//; s/^/$name /"
    done >"$base/work/outcomes.$2"
  }
  cat >>"$base/work/smb.conf" <<CONF
[torture]
  copy = site
  path = $mnt/torture
[native]
  copy = site
  path = $base/work/native
CONF
  mkdir -p "$mnt/torture" "$base/work/native"
  smbcontrol --configfile="$base/work/smb.conf" smbd reload-config
  outcomes "$mnt/torture" torture
  outcomes "$base/work/native" native
  echo "  $(grep -c success "$base/work/outcomes.torture") pass, $(grep -cE 'failure|error' "$base/work/outcomes.torture") fail; on the file system below $(grep -c success "$base/work/outcomes.native") and $(grep -cE 'failure|error' "$base/work/outcomes.native")"
  check "they ran" test "$(grep -c success "$base/work/outcomes.torture")" -ge 20
  check "with the same outcome as on the file system below" diff "$base/work/outcomes.native" "$base/work/outcomes.torture"
  finish
}

# What Samba's clients lock, programs on the mount find locked, and the other way round (posix locking, the default).
case_locks() {
  open_share || return 1
  check "locks of a client and of a program" python3 - "$port" "$mnt/site/kvm.h" <<'PY'
import fcntl, os, subprocess, sys, time
port, path = sys.argv[1:]
# Whoever holds a lock on the whole file keeps smbclient from changing it.
with open(path, 'r+b') as held:
    fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open('/dev/null') as nothing:
        put = subprocess.run(['timeout', '30', 'smbclient', '//127.0.0.1/site', '-p', port, '-U', 'www-data%secret', '-c', 'put /etc/passwd kvm.h'],
                             stdin=nothing, capture_output=True, text=True)
    assert 'LOCK_CONFLICT' in put.stdout + put.stderr, put
assert subprocess.run(['timeout', '30', 'smbclient', '//127.0.0.1/site', '-p', port, '-U', 'www-data%secret', '-c', 'put /etc/passwd kvm.h']).returncode == 0
PY
  check "written when the lock was gone" cmp /etc/passwd "$mnt/site/kvm.h"
  finish
}

case_killed() {
  open_share || return 1
  mkfifo "$base/work/commands"
  client <"$base/work/commands" >"$base/work/session" 2>&1 &
  services+=($!)
  exec 5>"$base/work/commands"
  echo "get kvm.h $base/work/before" >&5
  check "a session" eventually cmp "$base/work/before" "$base/work/expected/kvm.h"
  kill_only
  echo "get kvm.h $base/work/none" >&5
  check "a new one is refused" says NT_STATUS_ 'ls'
  echo "  without its daemon: $(client -c ls 2>&1 | grep -o 'NT_STATUS_[A-Z_]*' | head -n 1)"
  check "mount again, smbd goes on running" mount_again
  check "a new session sees all" client -c "get kvm.h $base/work/kvm.got"
  check "as it was" cmp "$base/work/kvm.got" "$base/work/expected/kvm.h"
  # Its next request may still find the directory that is gone.
  again() { echo "get acct.h $base/work/acct.got" >&5; sleep 0.5; cmp "$base/work/acct.got" "$base/work/expected/acct.h"; }
  check "the session from before goes on" eventually again
  check "umount names smbd" refused smbd timeout 20 "$cffs" umount "$mnt"
  check "a share is closed" smbcontrol --configfile="$base/work/smb.conf" smbd close-share site
  unmounted() { "$cffs" umount "$mnt"; }
  check "umount beside the running smbd" eventually unmounted
  check "mount" "$cffs" mount "$store" "$mnt"
  check "a session sees all" client -c "get kvm.h $base/work/kvm.got"
  exec 5>&-
  finish
}

run_cases use attributes locks torture killed -- "$@"
