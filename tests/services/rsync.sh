#!/usr/bin/env bash
# rsync's daemon in front of a mount: docs/services/RSYNC.md.
. "$(dirname "$0")/service.sh"
require rsync rsync

start_rsync() {
  port=$(free_port)
  cat >"$base/work/rsyncd.conf" <<CONF
address = 127.0.0.1
port = $port
pid file = $base/work/rsyncd.pid
lock file = $base/work/rsyncd.lock
log file = $base/work/rsyncd.log
[site]
  path = $mnt/site
  uid = root
  gid = root
  use chroot = yes
  read only = no
  timeout = 60
[public]
  path = $mnt/site
  uid = nobody
  gid = nogroup
CONF
  rm -f "$base/work/rsyncd.pid"
  serve rsync --daemon --no-detach --config="$base/work/rsyncd.conf"
  eventually listening "$port"
}
there() { echo "rsync://127.0.0.1:$port/$1"; }
moved() { "$@" --stats | awk '/Number of regular files transferred/ { gsub(",", ""); print $NF }'; }
like() { diff -r --no-dereference --exclude=fifo "$1" "$2" && test -p "$1/fifo" -a -p "$2/fifo"; }
said() { (cd "$1" && find . ! -type l ! -name fifo -print0 | sort -z | xargs -0 sh -c 'getfattr -d -m - "$@"; getfacl "$@"; stat -c "%n %A %u %g %h %y" "$@"' _ | grep -v '^\. '); }
export -f said

case_use() {
  site || return 1
  # What rsync -aHAX has to keep. Without --modify-window=-1 it takes times of one second for the same time: a directory that was made in the second
  # in which it is copied keeps the time of its copy.
  ln "$mnt/site/kvm.h" "$mnt/site/linked.h" && ln -s kvm.h "$mnt/site/symlink" && setfattr -n user.note -v text "$mnt/site/kvm.h" &&
    setfacl -m u:www-data:r "$mnt/site/private.txt" && mkfifo "$mnt/site/fifo" && truncate -s 3M "$mnt/site/hole" || return 1
  start_rsync || return 1
  local got=$base/work/got
  check "a whole tree" rsync -aHAX --modify-window=-1 "$(there site/)" "$got/"
  check "what came is what is there" like "$mnt/site" "$got"
  check "hard links are links" test "$got/kvm.h" -ef "$got/linked.h"
  check "attributes and lists" bash -c "diff <(said '$mnt/site') <(said '$got')"
  check "consolidation" consolidate
  check "regrouping" "$cffs" regroup --policy=reference "$mnt"
  check "afterwards nothing is to be copied" test "$(moved rsync -aHAX --modify-window=-1 "$(there site/)" "$got/")" = 0
  check "not by checksum either" test "$(moved rsync -aHAXc --modify-window=-1 "$(there site/)" "$got/")" = 0
  echo changed >>"$got/acct.h" && rm "$got/adfs_fs.h" && cp "$got/kvm.h" "$got/new.h" && printf x | dd of="$got/large.bin" bs=1 seek=7000000 conv=notrunc status=none
  check "back again: what changed" test "$(moved rsync -aHAX --modify-window=-1 --delete "$got/" "$(there site/)")" = 3
  check "is there" like "$got" "$mnt/site"
  check "in place, and partly" bash -c "echo more >>'$got/large.bin' && rsync -a --inplace --append-verify '$got/large.bin' '$(there site/)' && cmp '$got/large.bin' '$mnt/site/large.bin'"
  check "what nobody may not read is named" bash -c "rsync -a --exclude=fifo '$(there public/)' '$base/work/public/' 2>&1 | grep -q 'private.txt.*Permission denied'"
  rsync -a --exclude=fifo "$(there public/)" "$base/work/public/" 2>/dev/null
  check "with exit code 23" test $? = 23
  check "the rest came" diff -r --no-dereference --exclude=private.txt --exclude=fifo "$got" "$base/work/public"
  check "holes" rsync -aS "$(there site/hole)" "$base/work/hole"
  check "are holes" test "$(stat -c %b "$base/work/hole")" -lt 100
  # As backups are made: what did not change is a hard link to the one before.
  check "a copy beside another" rsync -aHAX --modify-window=-1 --link-dest=../site "$(there site/)" "$mnt/day2/"
  check "shares what is the same" test "$mnt/day2/kvm.h" -ef "$mnt/site/kvm.h"
  finish
}

case_killed() {
  site || return 1
  start_rsync || return 1
  head -c 60M /dev/urandom >"$base/work/big"
  rsync -a --bwlimit=20M "$base/work/big" "$(there site/big)" >"$base/work/client" 2>&1 &
  local client=$!
  started() { compgen -G "$mnt/site/.big.*"; }
  check "a copy is under way" eventually started
  kill_only
  wait "$client"
  local code=$?
  echo "  the client, whose daemon's mount died: exit $code: $(head -n 1 "$base/work/client")"
  check "it fails" test "$code" != 0
  rsync "$(there site/)" >/dev/null 2>"$base/work/client"
  check "a new one fails, too" test $? = 23
  echo "  a new client: $(grep -o '@ERROR.*\|rsync: .*' "$base/work/client" | head -n 1)"
  check "mount again, the daemon goes on running" mount_again
  check "all is there" bash -c "diff -r --exclude='.big.*' '$base/work/expected' '$mnt/site'"
  check "the copy, once more" rsync -a "$base/work/big" "$(there site/big)"
  check "is whole" cmp "$base/work/big" "$mnt/site/big"
  check "umount beside the running daemon" "$cffs" umount "$mnt"
  check "a client is told" bash -c "! rsync '$(there site/)' 2>'$base/work/client'"
  echo "  a client without the mount: $(grep -o '@ERROR.*\|rsync: .*' "$base/work/client" | head -n 1)"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "and all is there again" rsync "$(there site/kvm.h)"
  finish
}

run_cases use killed -- "$@"
