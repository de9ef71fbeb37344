# What a machine runs out of, and what a user gets wrong: one sentence, and nothing is lost. Sourced by acceptance.sh.

# What the store itself gives back, the files of its table and those it has moved, comes and goes: now and then one more is written.
no_room() {  # NEW-FILES SIZE WORDS: before long, writing so much is refused in these words; says what it was told instead
  local more
  for more in $(seq 20); do
    { head -c "$2" /dev/urandom >"$1$more"; } 2>"$base/work/err" && continue
    ! grep -q "$3" "$base/work/err" || return 0
    cat "$base/work/err"
    break
  done
  echo "written: $(stat -c '%s bytes' "$1"* | xargs)"
  df "$mnt" "$(dirname "$store")"; df -i "$(dirname "$store")"; "$cffs" stat "$mnt"
  return 1
}

# Who drops the machine's caches, as benchmarks do, holds every file for a moment: one that was removed keeps its room for as long. One that
# was cut does not; and where something of the store's own was removed, what was refused meanwhile is tried again behind that.
drop_files() { local f; for f in "$@"; do [ ! -e "$f" ] || : >"$f"; done 2>/dev/null; rm -f "$@"; }
caches_dropped() { awk '$1 == "drop_pagecache" { print $2 }' /proc/vmstat; }
unless_held() {  # COMMAND...
  local before waited
  for _ in $(seq 20); do
    before=$(caches_dropped)
    "$@" && return 0
    for waited in $(seq 30); do [ "$(caches_dropped)" = "$before" ] || continue 2; sleep 0.1; done  # counted at the end
    return 1
  done
  return 1
}

case_errors() {
  fresh || return 1
  mkdir -p "$base/work/other"
  : >"$base/work/file"
  check "unknown command" refused "cffs: no command 'frobnicate'; all commands: cffs --help" "$cffs" frobnicate
  check "unknown option" refused "cffs mount: no option '--frob'; all options: cffs mount --help" "$cffs" mount --frob "$store" "$mnt"
  check "unknown -o word" refused "unknown mount option 'frob'" "$cffs" mount -o frob "$store" "$mnt"
  check "unknown policy" refused "unknown policy 'magic'" "$cffs" mount --policy=magic "$store" "$mnt"
  check "bad size" refused "wants a size" "$cffs" format --inline-max=lots "$base/work/new"
  check "limits that contradict" refused "composite-file-max must be" "$cffs" format --inline-max=64K --composite-file-max=4K "$base/work/new2"
  check "missing store" refused "store /nonexistent/store: No such file" "$cffs" mount /nonexistent/store "$mnt"
  check "a store that is a file" refused "is no region store" "$cffs" mount "$base/work/file" "$mnt"
  check "a directory that is no store" refused "is not a cffs store" "$cffs" mount "$base/work/other" "$mnt"
  check "format of a store" refused "is a cffs store already" "$cffs" format "$store"
  check "format of a full directory" refused "is not empty" "$cffs" format "$base/work"
  check "missing mount point" refused "/nonexistent/mnt: No such file" "$cffs" mount "$store" /nonexistent/mnt
  check "mount point that is a file" refused "Not a directory" "$cffs" mount "$store" "$base/work/file"
  check "umount of what is not mounted" refused "is not a cffs mount" "$cffs" umount "$mnt"
  check "import of a missing source" refused "source /nonexistent: No such file" "$cffs" import /nonexistent "$store"
  head -c 5000 /dev/urandom >"$base/work/junk"
  check "import of what is no tar" refused "$base/work/junk: " "$cffs" import "$base/work/junk" "$store"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "busy mount point" refused "mount point .* is busy" "$cffs" mount "$store" "$mnt"
  check "a store in use" refused "is in use by pid [0-9]+ on" "$cffs" mount "$store" "$base/work/other"
  check "import into a mounted store" refused "is in use by pid [0-9]+ on" "$cffs" import "$source_tree/linux" "$store"
  ( failures=0; cd "$mnt" && check "umount while in use" refused "is in use" "$cffs" umount "$mnt"; exit $failures ) || failures=$((failures + 1))
  check "umount" "$cffs" umount "$mnt"
  check "the store is free at once" "$cffs" fsck "$store"
  for command in "stat $store" "fsck $store" "regroup --policy=none --dry-run $store"; do
    check "$command into a full device" refused "standard output: No space left" bash -c "'$cffs' $command >/dev/full"
  done
  check "a plan that is a directory" refused "plan $base/work: Is a directory" "$cffs" regroup --policy=frequency --plan="$base/work" "$store"
  check "read-only mount" bash -c "'$cffs' mount -o ro '$store' '$mnt' && ! touch '$mnt/x' 2>/dev/null && '$cffs' umount '$mnt'"
  # What nobody would know who looked at the lock alone.
  local daemon
  traced() { grep -q '^TracerPid:.[1-9]' "/proc/$daemon/status"; }
  if command -v strace >/dev/null; then
    "$cffs" mount --commit-interval=60 "$store" "$mnt" && daemon=$(daemon_pid) || return 1
    head -c 3000000 /dev/urandom >"$mnt/new"
    strace -f -qq -o /dev/null -p "$daemon" -e trace=fsync,fdatasync,syncfs -e inject=fsync,fdatasync,syncfs:error=EIO &
    within 20 traced
    check "a last commit that fails" refused "not all came to the medium: .*Input/output error; what was written since its last commit may be lost" timeout 60 "$cffs" umount "$mnt"
    wait
    check "the mount is gone all the same" bash -c "! mountpoint -q '$mnt'"
  fi
  "$cffs" mount --commit-interval=60 "$store" "$mnt" && daemon=$(daemon_pid) || return 1
  kill -STOP "$daemon"
  ( sleep 1; kill -KILL "$daemon" ) &
  check "a daemon that is killed before its last commit" refused "the daemon of store $store ended before all was on the medium; what was" timeout 60 "$cffs" umount "$mnt"
  wait
  check "the next mount" "$cffs" mount "$store" "$mnt"
  check "and its umount" "$cffs" umount "$mnt"
  printf 'x' | dd of="$store/superblock" bs=1 seek=20 conv=notrunc status=none
  check "a damaged superblock" refused "superblock is missing or damaged, and its copy is whole.*fsck --repair" "$cffs" mount "$store" "$mnt"
  printf 'x' | dd of="$store/superblock.copy" bs=1 seek=20 conv=notrunc status=none
  check "both damaged" refused "superblock: checksum differs|store format" "$cffs" mount "$store" "$mnt"
}

# The kernel is asked to forget what nobody uses, and nobody who uses something is told (fusefs/kernel_cache.h).
case_forgetting() {
  local known waited
  known_inodes() { getfattr --only-values -n user.cffs.statistics "$mnt" 2>/dev/null | sed -n 's/.*"known_inodes": \([0-9]*\),/\1/p'; }
  fresh -- --known-inodes=2000 --awake-inodes=100 || return 1
  mkdir -p "$mnt/tree/deep/er" "$mnt/here"
  echo kept >"$mnt/tree/deep/er/held"
  exec 9<"$mnt/tree/deep/er/held"
  check "work" timeout 60 bash -c "cd '$mnt/here' && for d in 0 1 2 3 4 5 6 7; do mkdir \$d && (cd \$d && seq 1000 | xargs touch) || exit 1; done
    for waited in \$(seq 100); do sleep 0.2; [ \$(getfattr --only-values -n user.cffs.statistics '$mnt' 2>/dev/null | sed -n 's/.*\"known_inodes\": \([0-9]*\),/\1/p') -gt 2000 ] || break; done
    touch still-here && [ \$(ls 3 | wc -l) = 1000 ]"
  known=$(known_inodes)
  if printf '6.18\n%s\n' "$(uname -r)" | sort -VC; then
    for waited in $(seq 50); do [ "$(known_inodes)" -gt 2000 ] || break; sleep 0.2; done
    check "the kernel knows no more than it may (it knew $known)" test "$(known_inodes)" -le 2000
  else
    echo "  Linux $(uname -r) cannot be asked to forget: $known inodes known"
  fi
  check "what is open stays" test "$(cat <&9)" = kept
  exec 9<&-
  check "all is found again" test "$(find "$mnt" -type f | wc -l)" = 8002
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

# The system gives the daemon no thread any more: everything is served, by those that there are.
case_threads() {
  fresh || return 1
  # It gives them no memory to receive requests with: those that have it serve, and the mount does not end.
  if command -v cc >/dev/null && [[ ! $(ldd "$cffs") =~ lib[at]san ]]; then
    check "the shim builds" cc -shared -fPIC -o "$base/work/no_buffer.so" "$(dirname "${BASH_SOURCE[0]}")/../no_buffer.c" -ldl
    : >"$base/work/none"
    NO_BUFFER="$base/work/none" LD_PRELOAD="$base/work/no_buffer.so" "$cffs" mount --transport=device "$store" "$mnt" 2>/dev/null || return 1
    check "writes that wait for the device, where threads have no buffer" timeout 60 bash -c "
      for w in 1 2 3 4; do ( for i in 1 2 3 4; do head -c 300000 /dev/urandom | dd of='$mnt/'\$w bs=64K conv=fsync status=none || exit 1; done ) & pids=\"\$pids \$!\"; done
      for p in \$pids; do wait \$p || exit 1; done"
    rm "$base/work/none"
    check "and where they have it again" timeout 40 bash -c "rm '$mnt'/? && ls '$mnt'"
    check "umount" timeout 40 "$cffs" umount "$mnt"
  fi
  local group=/sys/fs/cgroup/pids round before watchdog
  [ -e $group/cgroup.procs ] || group=/sys/fs/cgroup
  group=$group/cffs-test.$$
  mkdir $group 2>/dev/null && [ -e $group/pids.max ] || { rmdir $group 2>/dev/null; echo "  no control group for processes: not tried"; return 0; }
  mkdir -p "$base/work/plain"
  before=$failures
  for round in 1 2 3; do
    "$cffs" mount "$store" "$mnt" || break
    echo "$(daemon_pid)" >$group/cgroup.procs
    cat $group/pids.current >$group/pids.max
    # Who waits for a daemon that hangs cannot be killed; the daemon can.
    ( sleep 90 & trap "kill $!" TERM; wait $! && kill -9 "$(daemon_pid)" ) >/dev/null 2>&1 &
    watchdog=$!
    check "writes that wait for the device, several at a time" timeout 40 bash -c "
      for w in 1 2 3 4; do ( for i in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/urandom >'$base/work/plain/'\$w.\$i && dd if='$base/work/plain/'\$w.\$i of='$mnt/'\$w.\$i bs=64K conv=fsync status=none || exit 1; done ) & pids=\"\$pids \$!\"; done
      for p in \$pids; do wait \$p || exit 1; done"
    check "what was written can be read" timeout 40 diff -r "$base/work/plain" "$mnt"
    check "data moves" timeout 40 "$cffs" compact "$mnt"
    check "umount" timeout 40 "$cffs" umount "$mnt"
    kill $watchdog 2>/dev/null
    [ $failures = "$before" ] || { kill_daemon; break; }
  done
  check "fsck" "$cffs" fsck "$store"
  for round in 1 2 3 4; do  # threads there are: its own, and a few
    echo $round >$group/pids.max
    check "with $round threads a mount is refused in one sentence" refused "thread.*Resource temporarily unavailable" \
      timeout 40 bash -c 'echo $$ >"$1/cgroup.procs"; exec "$2" mount -f "$3" "$4"' _ $group "$cffs" "$store" "$mnt"
    check "nothing is mounted" bash -c "! mountpoint -q '$mnt'"
  done
  check "the store is as it was" "$cffs" fsck "$store"
  rmdir $group
}

# Somebody else takes all the room there is, to the last byte, on the file system of $base/disk: what is there can be read and removed, the store can
# be mounted, and all goes on when there is room again.
taken_by_others() {  # what the file system is, of which fallocate(2) is asked where it is one that has it
  local headers=$source_tree/linux what=$1
  fill() { dd if=/dev/zero of="$base/disk/other" bs=1M 2>/dev/null; dd if=/dev/zero of="$base/disk/another" bs=1 count=8192 2>/dev/null; true; }
  held() { du -m "$store/reserve" 2>/dev/null | cut -f 1 | grep . || echo 0; }
  is_held() { for _ in $(seq 100); do [ "$(held)" -le 33 ] || return 0; sleep 0.1; done; echo "$(held) MB"; "$cffs" stat "$mnt"; return 1; }
  store=$base/disk/store
  "$cffs" format "$store" && "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt" || return 1
  cp -r "$headers" "$mnt/" && cp -r "$headers" "$mnt/copy"
  sleep 1.5
  check "$what: a reserve" is_held
  fill
  check "$what: what was there is there" same "$headers" "$mnt/linux"
  check "$what: no room for a new file" no_room "$mnt/new" 1M 'No space left'
  check "$what: removing works" rm -r "$mnt/copy"
  fill
  check "$what: umount" "$cffs" umount "$mnt"
  fill
  check "$what: a full store can be mounted" "$cffs" mount --commit-interval=0.5 "$store" "$mnt"
  fill
  check "$what: what was there is there still" same "$headers" "$mnt/linux"
  check "$what: removing works again" rm -r "$mnt/linux/usb"
  check "$what: no room for a new file, and nothing worse" no_room "$mnt/new" 1M 'No space left'
  drop_files "$base/disk/other" "$base/disk/another"
  if fallocate -l 4096 "$base/disk/other" 2>/dev/null; then
    touch "$mnt/reserves"
    check "$what: a small file reserves room" fallocate -n -l 10M "$mnt/reserves"
    "$cffs" compact "$mnt"
    check "$what: and keeps it when all is moved" test "$(stat --cached=never -c %b "$mnt/reserves")" -ge 20480
    rm "$mnt/reserves"
  fi
  check "$what: there is room again" bash -c "head -c 50M /dev/urandom >'$mnt/again' && rm '$mnt/again'"
  check "$what: and a reserve again" is_held
  check "$what: umount again" "$cffs" umount "$mnt"
  check "$what: fsck" "$cffs" fsck "$store"
}

# By others, and then: the room that df shows is there for writing, that of a removed file at once.
case_full() {
  local room
  take_down
  mkdir -p "$base/disk" "$mnt" "$base/work"
  mount -t tmpfs -o size=300m tmpfs "$base/disk" || return 1
  taken_by_others tmpfs || return 1

  "$cffs" mount --commit-interval=300 "$store" "$mnt"
  room=$(($(stat -f -c '%a * %S' "$mnt") - (1 << 20)))
  check "the room that df shows can be had" fallocate -l $room "$mnt/large"
  rm "$mnt/large"
  check "and had again at once" unless_held dd if=/dev/zero of="$mnt/large" bs=1M count=$(((room >> 20) - 4))
  rm "$mnt/large"
  check "by small files too" bash -c "for i in \$(seq 300); do head -c 10000 /dev/zero >'$mnt/small'\$i || exit 1; done"
  check "last umount" "$cffs" umount "$mnt"
  umount "$base/disk"
  store=$base/store
}

# The same on file systems that reserve nothing for anybody: they have no fallocate(2).
case_unreserved() {
  local loop kind
  for kind in ext2 "ext4 -O ^extent,^64bit"; do
    take_down
    mkdir -p "$base/disk" "$mnt" "$base/work"
    truncate -s 300M "$base/image" && "mkfs.${kind%% *}" -q -F -N 20000 -m 0 $([ "${kind#* }" = "$kind" ] || echo "${kind#* }") "$base/image" &&
      loop=$(losetup --find --show "$base/image" 2>/dev/null) || { echo "  no loop devices here: not tried"; rm -f "$base/image"; return 0; }
    mount "$loop" "$base/disk" || return 1
    check "$kind: it has no fallocate" bash -c "! fallocate -l 4096 '$base/disk/probe' 2>/dev/null; rm '$base/disk/probe'"
    taken_by_others "$kind"
    umount "$base/disk"; losetup -d "$loop"; rm -f "$base/image"
    store=$base/store
  done
}

# An image that says it is larger than the file system below has room for: who finds none is told so, and that is all.
overfill_image() {  # what lies below, MB of it
  local round held lock=$base/disk/image
  room_comes() { for _ in $(seq 25); do dd if=/dev/zero of="$1" bs=1M count=5 status=none conv=fsync && return 0; sleep 0.2; done; df -m "$mnt" "$base/disk"; "$cffs" stat "$mnt"; return 1; }
  fill_up() { local n=0; while head -c "$1" /dev/urandom >"$mnt/d/$2$n" 2>/dev/null; do n=$((n + 1)); [ $n -lt 20000 ] || return 1; done; rm -f "$mnt/d/$2$n"; }
  store=$base/disk/image
  echo "  below: $1"
  check "format" "$cffs" format --backend=region --size=1G "$store"
  check "mount" "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt"
  check "df says what there is" test "$(($(stat -f -c '%b * %S' "$mnt") >> 20))" -le "$2"
  mkdir "$mnt/kept" && cp "$source_tree"/linux/*.h "$mnt/kept/" 2>/dev/null
  cp -r "$mnt/kept" "$base/work/kept"
  for round in 1 2; do
    mkdir "$mnt/d"
    check "$round: files until it is full" timeout 120 bash -c "$(declare -f fill_up); mnt='$mnt'; fill_up 3M large; fill_up 20000 small"
    check "$round: no room for a new file, in words" no_room "$mnt/d/new" 3M 'No space left'
    sync -f "$mnt"
    check "$round: what was there is there" same "$base/work/kept" "$mnt/kept"
    check "$round: umount" timeout 60 "$cffs" umount "$mnt"
    dd if=/dev/zero of="$base/disk/other" bs=64K 2>/dev/null  # and others take what is left
    check "$round: a new mount for writing" "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt"
    check "$round: what was there is there still" same "$base/work/kept" "$mnt/kept"
    [ $round = 1 ] || { kill_daemon; check "a new mount after kill -9" "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt"; }
    check "$round: removing works" rm -r "$mnt/d"
    sync -f "$mnt"
    check "$round: and there is room again" room_comes "$mnt/again"
    rm -f "$mnt/again"; drop_files "$base/disk/other"
  done
  held=$(du -m "$store" | cut -f 1)
  check "umount" timeout 60 "$cffs" umount "$mnt"
  check "what was removed is the file system's again ($held MB, then $(du -m "$store" | cut -f 1))" test "$(du -m "$store" | cut -f 1)" -lt $(($2 - 4))
  check "fsck" "$cffs" fsck "$store"
  rm -rf "$base/work/kept"
  umount "$base/disk"
  store=$base/store
}

case_overcommitted() {
  take_down
  mkdir -p "$base/disk" "$mnt" "$base/work"
  mount -t tmpfs -o size=64m tmpfs "$base/disk" || return 1
  overfill_image tmpfs 64
  # Btrfs writes nothing where it was, but for files that are marked while they are empty.
  { which mkfs.btrfs && grep -q btrfs /proc/filesystems; } >/dev/null || return 0
  truncate -s 160M "$base/work/disk.img" && mkfs.btrfs -q "$base/work/disk.img" >/dev/null 2>&1 && mount -o loop,compress=zstd "$base/work/disk.img" "$base/disk" || return 1
  : >"$base/disk/plain" && "$cffs" format --backend=region --size=100M "$base/disk/plain"
  check "an empty file that was there is not marked" bash -c "! lsattr '$base/disk/plain' | grep -q '^[^ ]*C'"
  "$cffs" copy --size=100M "$base/disk/plain" "$base/disk/copy" >/dev/null 2>&1
  check "one that a copy makes is" bash -c "lsattr '$base/disk/copy' | grep -q '^[^ ]*C'"
  drop_files "$base/disk/plain" "$base/disk/copy"
  overfill_image Btrfs 160
}

# A disk full of small files, and others who took the last of it: what is removed comes back, at once or by compaction.
case_emptied() {
  local deleted
  room() { echo $(($(stat -f -c '%a * %S' "$mnt") >> 20)); }
  becomes() {  # MB: so much room, within half a minute
    for _ in $(seq 150); do [ "$(room)" -lt "$1" ] || return 0; sync; sleep 0.2; done
    echo "$(room) MB, not $1"; "$cffs" stat "$mnt"; ls -l "$store/table"
    return 1
  }
  take_down
  mkdir -p "$base/disk" "$mnt" "$base/work"
  mount -t tmpfs -o size=200m tmpfs "$base/disk" || return 1
  store=$base/disk/store
  "$cffs" format "$store" && "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt" || return 1
  cat >"$base/work/files.py" <<'PY'
import os, random, sys
what, root = sys.argv[1:]
r = random.Random(3)
if what == 'fill':
    data = r.randbytes(1 << 16)
    try:
        for n in range(1000000):
            if n % 100 == 0: os.mkdir(f'{root}/{n // 100}')
            with open(f'{root}/{n // 100}/{n}', 'wb') as f: f.write(data[:r.randrange(500, 12000)])
    except OSError as e:
        sys.exit(0 if e.errno == 28 else str(e))
gone = 0
for path, _, names in os.walk(root):
    for name in sorted(names):
        if r.random() < float(what):
            gone += os.stat(f'{path}/{name}').st_size
            os.unlink(f'{path}/{name}')
print(gone >> 20)
PY
  check "files until the disk is full" python3 "$base/work/files.py" fill "$mnt"
  dd if=/dev/zero of="$base/disk/other" bs=1M 2>/dev/null
  deleted=$(python3 "$base/work/files.py" 0.65 "$mnt")
  check "two thirds of them are removed" test "${deleted:-0}" -gt 40
  check "most of their room is there again" becomes $((deleted / 2))
  check "all are removed" python3 "$base/work/files.py" 1 "$mnt"
  check "and all the room is" becomes 120
  check "umount" "$cffs" umount "$mnt"
  check "compact" "$cffs" compact "$store"
  check "next to nothing is left, beside the reserve" test "$(du -m -s --exclude=reserve "$store" | cut -f 1)" -lt 4
  check "fsck" "$cffs" fsck "$store"
  umount "$base/disk"
  store=$base/store
}

# The file system below runs out of inodes, by the store's own files and by others': a file is refused in words, what is there can be removed, and
# the store can be mounted. Then it becomes read-only, as ext4 does after an error: what is there can be read, and the mount tells its state.
case_below() {
  local n loop policy
  take_all() { n=0; while { : >"$base/disk/other$n"; } 2>/dev/null; do n=$((n + 1)); done; true; }
  for policy in directory none; do
    take_down
    mkdir -p "$base/disk" "$mnt" "$base/work"
    truncate -s 600M "$base/image" && mkfs.ext4 -q -F -N 200 "$base/image" && loop=$(losetup --find --show "$base/image" 2>/dev/null) ||
      { echo "  no loop devices here: not tried"; rm -f "$base/image"; return 0; }
    mount "$loop" "$base/disk" || return 1
    store=$base/disk/store
    "$cffs" format "$store" && "$cffs" mount --policy=$policy --quiet=0.3 --commit-interval=0.3 "$store" "$mnt" || return 1
    n=0; while head -c 1100K /dev/zero >"$mnt/large$n" 2>/dev/null; do n=$((n + 1)); [ $n -lt 1000 ] || break; done
    check "$policy: large files until there is no inode ($n)" test $n -gt 20 -a $n -lt 1000
    check "$policy: no room for one more, and nothing worse" no_room "$mnt/new" 1200000 'No space left'
    rm -f "$mnt"/new*
    python3 - "$mnt" <<'PY' || { echo "  FAILED: $policy: small files until one is refused in words"; failures=$((failures + 1)); }
import os, sys
try:
    for n in range(30000):
        with open(f'{sys.argv[1]}/small{n}', 'wb') as f: f.write(os.urandom(3000))
except OSError as e: sys.exit(0 if e.errno == 28 else str(e))
PY
    check "$policy: removing works" rm "$mnt/large0"
    take_all
    check "$policy: umount" timeout 60 "$cffs" umount "$mnt"
    take_all
    check "$policy: a new mount for writing" "$cffs" mount --policy=$policy --quiet=0.3 --commit-interval=0.3 "$store" "$mnt" || { umount "$base/disk"; losetup -d "$loop"; store=$base/store; return 1; }
    check "$policy: everything can be removed" bash -c "cd '$mnt' && find . -mindepth 1 -delete"
    drop_files "$base"/disk/other*
    sync -f "$mnt"
    check "$policy: and there is room again" within 30 bash -c "head -c 1M /dev/zero >'$mnt/after' && cp -r '$source_tree/linux/usb' '$mnt/'"
    check "$policy: umount again" timeout 60 "$cffs" umount "$mnt"
    check "$policy: fsck" "$cffs" fsck "$store"
    echo 3 >/proc/sys/vm/drop_caches
    "$cffs" mount --policy=$policy --commit-interval=0.3 "$store" "$mnt" || return 1
    check "$policy: the file system below becomes read-only" mount -o remount,abort "$base/disk"
    touch "$base/disk/x" 2>/dev/null
    check "$policy: what is there can be read, though it was not before" same "$source_tree/linux/usb" "$mnt/usb"
    check "$policy: a change is refused" bash -c "! touch '$mnt/x' 2>/dev/null && ! mkdir '$mnt/d' 2>/dev/null"
    check "$policy: a write to a large file is" bash -c "! (echo >>'$mnt/after') 2>/dev/null"
    check "$policy: what the mount has is told" "$cffs" stat "$mnt"
    check "$policy: and nothing is called damaged" bash -c "! '$cffs' scrub --rate=0 '$mnt' 2>&1 | grep missing"
    check "$policy: umount of that" bash -c "timeout 60 '$cffs' umount '$mnt'; ! mountpoint -q '$mnt'"
    umount "$base/disk"; mount "$loop" "$base/disk"
    check "$policy: fsck behind it" "$cffs" fsck "$store"
    umount "$base/disk"; losetup -d "$loop"; rm -f "$base/image"
    store=$base/store
  done
}

# The store may have less than the file system below says: a limit of a subvolume, of which statfs does not tell. Users are told so, nothing
# worse happens, what is there can be read and removed, and the store can be mounted again.
case_quota() {
  local files
  room_comes() { for _ in $(seq 150); do head -c "$2" /dev/urandom 2>/dev/null >"$1" && return 0; sleep 0.2; done; btrfs qgroup show -re "$base/disk"; "$cffs" stat "$mnt"; return 1; }
  fill_up() { python3 "$base/work/fill.py" "$mnt"; }
  which mkfs.btrfs >/dev/null || return 0
  take_down
  mkdir -p "$base/disk" "$mnt" "$base/work"
  truncate -s 1G "$base/work/disk.img" && mkfs.btrfs -q "$base/work/disk.img" && mount -o loop "$base/work/disk.img" "$base/disk" || return 1
  btrfs quota enable "$base/disk" && btrfs subvolume create "$base/disk/sub" >/dev/null && btrfs qgroup limit 128M "$base/disk/sub" || return 1
  store=$base/disk/sub/store
  "$cffs" format "$store" && "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt" || return 1
  cat >"$base/work/fill.py" <<'PY'
import errno, os, random, sys
r, refused = random.Random(3), 0
for n in range(1000000):
    try:
        os.makedirs(f'{sys.argv[1]}/{n // 500}', exist_ok=True)
        with open(f'{sys.argv[1]}/{n // 500}/{n}', 'wb', 0) as f: f.write(bytes([n % 251]) * r.randrange(9000))
    except OSError as e:
        if e.errno != errno.EDQUOT: sys.exit(str(e))
        refused += 1
        if refused == 30: break
print(n)
PY
  check "who fills it is told of the quota, and of nothing else" fill_up
  check "no room for a large file" no_room "$mnt/new" 40M 'quota exceeded'
  rm -f "$mnt"/new*
  files=$(find "$mnt" -type f | wc -l)
  check "umount" "$cffs" umount "$mnt"
  check "it can be mounted" "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt"
  check "all files are there" test "$(find "$mnt" -type f | wc -l)" = "$files"
  check "and can be read" bash -c "set -o pipefail; find '$mnt' -type f -print0 | xargs -0 cat | wc -c"
  check "removing works" bash -c "rm -r '$mnt'/[0-9] '$mnt'/1?"
  check "and gives room" room_comes "$mnt/after" 20M
  check "umount again" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  umount "$base/disk"
  store=$base/store
}
