#!/usr/bin/env bash
# Stores in a pool of a Ceph cluster, which is made here, on loopback, and goes at the end. Usage: CFFS_BINARY=... tests/mount/rados.sh [CASE...]
# 77: Ceph is not installed.
export CFFS_TEST_BACKEND=rados
. "$(dirname "$0")/harness.sh"
here=$(cd "$(dirname "$0")" && pwd)
cluster_script=$here/../../scripts/rados_cluster.sh
cluster=$base/ceph

end_cluster() { timeout 60 "$cluster_script" stop "$cluster" >/dev/null 2>&1; }
trap 'trap "" INT TERM; umount -l "$base/second" 2>/dev/null; take_down; end_cluster; rm -rf "$base"' EXIT
start_cluster() {
  local code=0
  timeout 180 "$cluster_script" start "$cluster" "$@" >"$base/cluster.log" 2>&1 || code=$?
  [ $code = 0 ] && return
  [ $code = 77 ] && { echo "Ceph is not installed: not tried"; exit 77; }
  cat "$base/cluster.log"
  exit 1
}
export CEPH_CONF=$cluster/ceph.conf
in_pool() { rados -c "$CEPH_CONF" -p cffs "$@"; }
pieces() { in_pool ls | grep -c "^${store##*/}\.[0-9a-f]\{16\}\."; }
store_clean() { [ "$("$cffs" fsck "$store" 2>&1)" = "$store: clean" ]; }

case_contract() {
  check "the contract of objects" env CFFS_TEST_RADOS=1 timeout 120 "$(dirname "$cffs")/unit_tests" "object store contract*"
}

# What is in a pool, and that it goes again.
case_objects() {
  fresh -- --policy=directory
  cp -r "$source_tree/linux" "$mnt/"
  check "a tree comes back" same "$source_tree/linux" "$mnt/linux"
  check "the mount ends" timeout 60 "$cffs" umount "$mnt"
  check "the store is clean" store_clean
  [ "$(pieces)" -lt 60 ] || { echo "  FAILED: $(pieces) pieces for $(find "$source_tree/linux" -type f | wc -l) files"; failures=$((failures + 1)); }
  "$cffs" mount "$store" "$mnt"
  check "which gives nobody rights by what is in the pool" bash -c "findmnt -no OPTIONS '$mnt' | grep -q nosuid.*nodev"
  check "it is there in another mount" same "$source_tree/linux" "$mnt/linux"
  head -c 50M /dev/urandom >"$base/work/large"
  cp "$base/work/large" "$mnt/large"
  check "a large file" cmp "$base/work/large" "$mnt/large"
  truncate -s 21M "$base/work/large" && truncate -s 21M "$mnt/large"
  check "cut" cmp "$base/work/large" "$mnt/large"
  truncate -s 90M "$base/work/large" && truncate -s 90M "$mnt/large"
  printf end | dd of="$base/work/large" bs=1 seek=88000000 conv=notrunc status=none
  printf end | dd of="$mnt/large" bs=1 seek=88000000 conv=notrunc status=none
  fallocate -p -o 1M -l 15M "$base/work/large" && fallocate -p -o 1M -l 15M "$mnt/large"
  check "made longer, written far behind, a hole" cmp "$base/work/large" "$mnt/large"
  check "the mount ends" timeout 60 "$cffs" umount "$mnt"
  "$cffs" mount "$store" "$mnt"
  check "in another mount" cmp "$base/work/large" "$mnt/large"
  rm -rf "$mnt/large" "$mnt/linux"
  check "the mount ends" timeout 60 "$cffs" umount "$mnt"
  "$cffs" compact "$store"
  check "clean when emptied" store_clean
  [ "$(pieces)" -lt 15 ] || { echo "  FAILED: $(pieces) pieces in an empty store"; failures=$((failures + 1)); }
}

# Other commands on an address.
case_commands() {
  fresh
  check "import" "$cffs" import --policy=directory "$source_tree/linux" "$store"
  check "export" "$cffs" export "$store" "$base/work/out"
  check "the same" same "$source_tree/linux" "$base/work/out"
  check "export of a part" "$cffs" export "$store:/usb" "$base/work/usb"
  check "the same part" same "$source_tree/linux/usb" "$base/work/usb"
  check "regroup" "$cffs" regroup "$store" --policy=directory
  check "compact" "$cffs" compact "$store"
  check "scrub" "$cffs" scrub "$store"
  check "stat" "$cffs" stat "$store"
  check "backup" "$cffs" backup "$store" "$base/work/backup"
  check "the backup is clean" "$cffs" fsck "$base/work/backup"
  check "a mount to look" "$cffs" mount -o ro "$store" "$mnt"
  check "shows it" same "$source_tree/linux" "$mnt"
  check "takes nothing" refused "Read-only" touch "$mnt/x"
  check "beside another that looks" "$cffs" fsck "$store"
  check "not beside one that writes" refused "in use by a read-only mount" "$cffs" regroup "$store" --policy=directory
  check "ends" timeout 60 "$cffs" umount "$mnt"
  check "salvage" "$cffs" salvage "$store" "$base/work/salvaged"
  check "a copy to a directory" "$cffs" copy "$store" "$base/work/copy"
  check "is whole" "$cffs" fsck "$base/work/copy"
  check "and back into the pool" "$cffs" copy "$base/work/copy" "$store-copy"
  check "where it is whole" "$cffs" fsck "$store-copy"
  rm -rf "$base/work/out"
  check "and has all" "$cffs" export "$store-copy" "$base/work/out"
  check "of it" same "$source_tree/linux" "$base/work/out"
}

# A composite that is full is one RADOS object, its members' records with it.
case_full_composites() {
  local pieces composites f
  fresh
  mkdir -p "$base/work/full"
  for f in $(seq 3000); do head -c 12000 /dev/urandom >"$base/work/full/$f"; done
  check "import" "$cffs" import --policy=directory "$base/work/full" "$store"
  composites=$("$cffs" stat --json "$store" | python3 -c "import json,sys; print(json.load(sys.stdin)['composites'])")
  pieces=$(in_pool ls | grep -c "^${store##*/}\.[0-9a-f]\{16\}\.0*[1-9a-f]")
  [ "$composites" -ge 8 ] && [ "$pieces" = 0 ] || { echo "  FAILED: $composites composites, $pieces pieces behind an object's first"; failures=$((failures + 1)); }
}

# What was read once is read from a local disk the next time, whatever becomes of it there.
cached() { "$cffs" stat --json "$mnt" | python3 -c "import json,sys; print(json.load(sys.stdin)['local_cache']['$1'])"; }
# Looking into a store of a pool, at rest and beside its writer.
case_browsing() {
  fresh -- --policy=directory
  cp -a "$source_tree/linux/netfilter" "$mnt/"
  seen() { echo "$1" >"$mnt/just now" && test "$("$cffs" cat "$store:/just now")" = "$1"; }
  check "beside its writer, what was written just now" seen once
  check "and again" seen twice
  check "ls beside it" bash -c "diff <(cd '$mnt' && ls netfilter) <('$cffs' ls '$store:/netfilter')"
  check "diff with its mount" "$cffs" diff "$store:/netfilter" "$mnt/netfilter"
  check "its mount is warmed" "$cffs" warm -q "$mnt"
  check "the mount ends" timeout 60 "$cffs" umount "$mnt"
  check "at rest" test "$("$cffs" cat "$store:/just now")" = twice
  check "find" bash -c "diff <(cd '$source_tree/linux' && find netfilter -name '*.h' | sort) <('$cffs' find '$store:/netfilter' -name '*.h' | sed 's|^.*:/||' | sort)"
  check "du" bash -c "'$cffs' du -s '$store' | grep -q '^[0-9]'"
  check "the store is not warmed" refused "is in a pool" "$cffs" warm "$store"
}

case_local_cache() {
  local near=$base/near damaged
  mkdir -p "$base/second"
  fresh -- --policy=directory
  cp -r "$source_tree/linux" "$mnt/"
  check "the mount ends" timeout 60 "$cffs" umount "$mnt"
  check "refused where there is none to be" refused "wants DIR:SIZE" "$cffs" mount --local-cache="$near" "$store" "$mnt"
  "$cffs" format "$base/on_disk" >/dev/null
  check "and for a store on a disk" refused "is for stores in a pool" "$cffs" mount --local-cache="$near:1G" "$base/on_disk" "$mnt"
  for round in first second; do
    check "a mount with one" "$cffs" mount -o ro,local_cache="$near:200M" "$store" "$mnt"
    within 10 [ "$(cached in_use)" = True ] || { echo "  FAILED: another has the directory"; failures=$((failures + 1)); }
    check "shows the tree" same "$source_tree/linux" "$mnt/linux"
    [ $round = first ] || [ "$(cached pages_found)" -gt 100 ] || { echo "  FAILED: only $(cached pages_found) pages were found"; failures=$((failures + 1)); }
    [ $round = first ] || [ "$(cached pages_missed)" -lt 20 ] || { echo "  FAILED: $(cached pages_missed) pages were missed"; failures=$((failures + 1)); }
    check "beside another mount of the store" "$cffs" mount -o ro,local_cache="$near:200M" "$store" "$base/second"
    check "which shows the same" same "$source_tree/linux" "$base/second/linux"
    check "ends" timeout 60 "$cffs" umount "$base/second"
    check "ends" timeout 60 "$cffs" umount "$mnt"
  done
  find "$near" -name '*-*' -type f | while read -r file; do
    printf X | dd of="$file" bs=1 seek=$((8192 + RANDOM % 4096)) conv=notrunc status=none
  done
  check "a mount with one that is damaged" "$cffs" mount --local-cache="$near:200M" "$store" "$mnt"
  check "shows the tree" same "$source_tree/linux" "$mnt/linux"
  damaged=$(cached damaged)
  [ "$damaged" -gt 0 ] || { echo "  FAILED: nobody saw the damage"; failures=$((failures + 1)); }
  rm -rf "$near"
  echo 3 >/proc/sys/vm/drop_caches
  cp -r "$source_tree/linux/usb" "$mnt/usb"
  check "and does without its directory" same "$source_tree/linux" "$mnt/linux"
  check "ends" timeout 60 "$cffs" umount "$mnt"
  check "the store is clean" store_clean
  # No file may have more than a megabyte: nothing larger is kept, and that is all.
  (ulimit -f 1000 && "$cffs" mount -o ro,local_cache="$near:200M" "$store" "$mnt")
  check "a mount that may make no large files" same "$source_tree/linux" "$mnt/linux"
  check "ends" timeout 60 "$cffs" umount "$mnt"
  # A pool that is put back to what it was gives ids again, to other files.
  "$cffs" format rados:cffs/back >/dev/null
  in_pool export "$base/dump" >/dev/null 2>&1
  mkdir -p "$base/work/before" "$base/work/after"
  for i in $(seq 40); do
    head -c 40000 /dev/urandom >"$base/work/before/f$i"
    head -c 40000 /dev/urandom >"$base/work/after/f$i"
  done
  for tree in before after; do
    "$cffs" import --policy=directory "$base/work/$tree" rados:cffs/back >/dev/null
    check "a mount of what was $tree" "$cffs" mount -o ro,local_cache="$near:200M" rados:cffs/back "$mnt"
    check "shows it" same "$base/work/$tree" "$mnt"
    check "ends" timeout 60 "$cffs" umount "$mnt"
    in_pool ls | grep '^back\.' | xargs rados -c "$CEPH_CONF" -p cffs rm
    in_pool import --no-overwrite "$base/dump" >/dev/null 2>&1
  done
}

# The daemon is killed: what was synced is there, and nothing else is damaged.
case_killed_writer() {
  fresh -- --policy=directory
  cp -r "$source_tree/linux" "$mnt/before" && sync -f "$mnt/before/types.h" && sync "$mnt"/before/*.h
  (for i in $(seq 100000); do echo "$i" >"$mnt/$i" || break; done) 2>/dev/null &
  local writer=$!
  sleep 1
  kill_daemon
  wait $writer
  local begin=$SECONDS
  check "the next one gets it" timeout 30 "$cffs" mount "$store" "$mnt"
  [ $((SECONDS - begin)) -le 10 ] || { echo "  FAILED: it took $((SECONDS - begin)) s"; failures=$((failures + 1)); }
  check "what was synced is there" same "$source_tree/linux" "$mnt/before"
  check "ends" timeout 60 "$cffs" umount "$mnt"
  check "clean" store_clean
}

# Of pieces whose object no name names, and of removals that nobody finished.
nothing_left() {
  local map left
  left=$(for map in $(in_pool ls | grep "^${store##*/}\.names\."); do in_pool listomapvals "$map"; done |
    python3 "$here/left_in_pool.py" <(in_pool ls) "${store##*/}")
  [ -z "$left" ] || { echo "left: $left"; return 1; }
}
# Before what its connections send for the Nth time; a command that comes to its end before that is no failure.
killed_at() {
  { strace -f -qq -o /dev/null -e trace=sendmsg -e inject=sendmsg:signal=KILL:when="$1" "${@:2}" >/dev/null 2>&1 || true; } 2>/dev/null  # the shell tells, too
}
case_killed_commands() {
  strace -f -qq -o /dev/null true 2>/dev/null || { echo "  no process can be traced here: not tried"; return 0; }
  local n said map
  mkdir -p "$base/work"
  for n in 5 20 35 50; do
    name_store
    killed_at $n "$cffs" format "$store"
    said=$("$cffs" format "$store" 2>&1) || check "a format is typed again" grep -q "is a cffs store already" <<<"$said"
    check "clean" store_clean
    killed_at $((n * 2)) "$cffs" import --quiet "$source_tree/linux" "$store"
    check "an import is typed again" "$cffs" import --quiet "$source_tree/linux" "$store"
    check "clean" store_clean
    check "with all files" "$cffs" diff "$store" "$source_tree/linux"
    check "and nothing else" nothing_left
    killed_at $((n * 2)) "$cffs" copy "$store" "$store-copy"
    check "a copy is typed again" "$cffs" copy "$store" "$store-copy"
    store=$store-copy
    check "clean" store_clean
    check "with all files" "$cffs" diff "$store" "$source_tree/linux"
    check "and nothing else" nothing_left
  done
  # One that lost its superblock is for a salvage.
  for map in $(in_pool ls | grep "^${store##*/}\.names\."); do in_pool rmomapkey "$map" n/superblock; in_pool rmomapkey "$map" n/superblock.copy; done
  check "what lost its superblock is not formatted" refused "is not empty" "$cffs" format "$store"
  "$cffs" salvage --quiet "$store" "$base/work/salvaged" >/dev/null
  check "and salvaged" "$cffs" diff "$base/work/salvaged" "$source_tree/linux"
}

# A writer that was paused, and whose store somebody else took, can write nothing any more.
case_fencing() {
  fresh -- --policy=directory
  echo first >"$mnt/file"
  sync "$mnt/file"
  local paused
  paused=$(daemon_pid)
  check "in use, while it answers" refused "in use by pid $paused on" "$cffs" fsck "$store"
  kill -STOP "$paused"
  check "another one takes the store" timeout 40 env CFFS_X=1 "$cffs" scrub "$store"
  check "and writes" sh -c "mkdir '$base/work/new' && echo second >'$base/work/new/other' && '$cffs' import '$base/work/new' '$store'"
  (sleep 1; kill -CONT "$paused") &
  # It answers with an error, and not with success.
  check "what it is asked to write fails" sh -c "! timeout 60 sh -c 'echo third >\"$mnt/file\" && sync \"$mnt/file\"' 2>/dev/null"
  wait %% 2>/dev/null
  timeout 60 "$cffs" umount "$mnt" 2>/dev/null || umount -l "$mnt"
  within 30 sh -c "! kill -0 $paused 2>/dev/null" || kill -9 "$paused"
  check "clean" store_clean
  check "with what the second wrote" timeout 30 "$cffs" mount "$store" "$mnt"
  [ "$(cat "$mnt/file" "$mnt/other" 2>&1)" = "first
second" ] || { echo "  FAILED: $(ls "$mnt"; cat "$mnt/file" "$mnt/other")"; failures=$((failures + 1)); }
  check "ends" timeout 60 "$cffs" umount "$mnt"
}

# Another host's mount, here beside the first, waits for the store and takes it over: when it is let go of, and when its owner is gone.
case_standby() {
  local second=$base/second begin
  mkdir -p "$second"
  fresh -- --policy=directory
  cp -r "$source_tree/linux" "$mnt/" && sync "$mnt"/linux/*.h
  "$cffs" mount --standby --policy=directory "$store" "$second" 2>"$base/work/said" &
  check "it says for whom it waits" within 20 grep -q "is in use by pid $(daemon_pid) on .*; standing by" "$base/work/said"
  check "and waits" sh -c "! mountpoint -q '$second'"
  begin=$(date +%s%N)
  check "the first one leaves" timeout 60 umount "$mnt"
  check "the second takes over" within 20 mountpoint -q "$second"
  echo "   took over $(( ($(date +%s%N) - begin) / 1000000 )) ms after umount"
  check "all is there" same "$source_tree/linux" "$second/linux"
  "$cffs" mount --standby --policy=directory "$store" "$mnt" 2>/dev/null &
  sleep 1
  echo last >"$second/last" && sync "$second/last"
  begin=$(date +%s%N)
  kill -9 "$(daemon_pid)"
  check "the first takes over again" within 30 mountpoint -q "$mnt"
  echo "   took over $(( ($(date +%s%N) - begin) / 1000000 )) ms after kill -9"
  umount -l "$second"
  check "what was synced is there" grep -qx last "$mnt/last"
  check "and all else" same "$source_tree/linux" "$mnt/linux"
  "$cffs" mount --standby "$store" "$second" 2>/dev/null &
  local waiting=$!
  sleep 1
  kill -INT $waiting 2>/dev/null; kill -TERM $waiting
  check "one who waits can be ended" within 10 sh -c "! kill -0 $waiting 2>/dev/null"
  check "ends" timeout 60 "$cffs" umount "$mnt"
  check "clean" store_clean
}

# A tree is copied in behind the test.
begin_load() {
  (cp -r "$source_tree" "$mnt/all" && sync -f "$mnt" && touch "$base/work/done") &
  load=$!
  sleep 1
}
monitor_away_until_load_ends() {
  check "the monitor is paused" "$cluster_script" mon "$cluster" pause
  sleep 3
  check "and goes on" "$cluster_script" mon "$cluster" go-on
  wait $load
  check "the load went on" test -e "$base/work/done"
  check "all of it is there" same "$source_tree" "$mnt/all"
}
# An OSD ends under load and comes back; the monitor is paused.
case_failing_cluster() {
  fresh -- --policy=directory
  local load
  begin_load
  check "the OSD is killed" "$cluster_script" osd "$cluster" 0 kill
  sleep 2
  check "and comes back" timeout 60 "$cluster_script" osd "$cluster" 0 start
  monitor_away_until_load_ends
  check "ends" timeout 60 "$cffs" umount "$mnt"
  check "clean" store_clean
}

# A pool that is full: ENOSPC, and nothing that was there is lost.
case_full_pool() {
  fresh -- --policy=directory
  cp -r "$source_tree/linux" "$mnt/"
  sync "$mnt"/linux/*.h
  ceph -c "$CEPH_CONF" osd pool set-quota cffs max_bytes 40000000 >/dev/null 2>&1
  within 30 sh -c "! dd if=/dev/zero of='$mnt/big' bs=1M count=300 conv=fsync 2>'$base/work/error'"
  check "it says so" grep -qE "No space left|Disk quota exceeded" "$base/work/error"
  ceph -c "$CEPH_CONF" osd pool set-quota cffs max_bytes 0 >/dev/null 2>&1
  check "what was there is there" same "$source_tree/linux" "$mnt/linux"
  timeout 60 "$cffs" umount "$mnt" || umount -l "$mnt"
  check "clean" store_clean
  within 30 in_pool put probe /proc/self/cmdline
  "$cffs" mount "$store" "$mnt"
  check "what was there is there afterwards" same "$source_tree/linux" "$mnt/linux"
  check "ends" timeout 60 "$cffs" umount "$mnt"
}

case_bad_days() {
  fresh
  check "a store of that name" refused "is a cffs store already; it was left as it is" "$cffs" format "$store"
  check "no such pool" refused "no pool 'nowhere'" "$cffs" format rados:nowhere/x
  check "no such store" refused "no store of that name" "$cffs" stat rados:cffs/nothing
  check "no such store to mount" refused "no store of that name" "$cffs" mount rados:cffs/nothing "$mnt"
  check "no address" refused "an address is rados:POOL/NAME" "$cffs" stat rados:cffs
  check "no pool" refused "needs --pool=POOL" "$cffs" format --backend=rados x
  check "no such user" refused "the cluster refuses client.nobody" "$cffs" stat "$store:id=nobody"
  check "no configuration" refused "cannot be read as a configuration" "$cffs" stat "$store:conf=/nonexistent"
  sed 's/key = .*/key = AQAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAA==/' "$cluster/keyring" >"$base/work/keyring"
  sed "s|^keyring.*|keyring = $base/work/keyring|; s|^\(\s*\)keyring *=.*|keyring = $base/work/keyring|" "$CEPH_CONF" >"$base/work/conf"
  check "a wrong key" refused "the cluster refuses client.admin" "$cffs" stat "$store:conf=$base/work/conf"
  check "who may only read holds no lock" refused "needs osd 'allow rwx pool=cffs'" "$cffs" stat "$store:id=reader"
  check "and makes no store" refused "may not write" "$cffs" format rados:cffs/mine:id=reader
  check "a user without the run of the cluster" "$cffs" format rados:cffs/own:id=cffs
  sed 's/^\(\s*mon[ _]host\s*=\).*/\1 v2:127.0.0.1:1/' "$CEPH_CONF" >"$base/work/conf"
  check "a cluster that is down" refused "no monitor of the cluster answers" timeout 60 "$cffs" stat "$store:conf=$base/work/conf"
}

# A fleet's key, which writes no data: who has it follows, at rest and beside a writer, and does nothing else.
case_readers_key() {
  local second=$base/second reader
  mkdir -p "$second"
  fresh -- --policy=directory
  reader=$store:id=follower
  cp -r "$source_tree/linux" "$mnt/before"
  check "the mount ends" timeout 60 "$cffs" umount "$mnt"
  check "it follows a store at rest" "$cffs" mount -o ro,follow "$reader" "$second"
  check "sees it" same "$source_tree/linux" "$second/before"
  check "while another one writes" "$cffs" mount --policy=directory --commit-interval=1 "$store" "$mnt"
  cp -r "$source_tree/linux" "$mnt/after"
  check "and what that one writes" within 20 same "$source_tree/linux" "$second/after"
  check "ends" timeout 60 "$cffs" umount "$second"
  check "it follows beside a writer" "$cffs" mount -o ro,follow "$reader" "$second"
  check "sees all" same "$source_tree/linux" "$second/after"
  check "changes nothing" refused "Read-only" touch "$second/x"
  check "ends" timeout 60 "$cffs" umount "$second"
  check "ends" timeout 60 "$cffs" umount "$mnt"
  check "looks at nothing otherwise" refused "'allow rx pool=cffs' for -o ro,follow" "$cffs" export "$reader" "$base/work/out"
  check "writes nothing" refused "it needs osd 'allow rwx pool=cffs'" "$cffs" import "$source_tree/linux" "$reader"
  check "a key without locks does not follow" refused "it needs osd 'allow rx pool=cffs'" "$cffs" mount -o ro,follow "$store:id=reader" "$second"
  check "clean" store_clean
}

# Of three OSDs one may be away; with two away all waits, and nothing is lost.
case_three_osds() {
  [ "$osds" = 3 ] || { echo "   wants three OSDs: run it by itself"; return; }
  local second=$base/second load
  mkdir -p "$second"
  fresh -- --policy=directory --commit-interval=1
  check "a follower" "$cffs" mount -o ro,follow "$store" "$second"
  begin_load
  check "one OSD is killed" "$cluster_script" osd "$cluster" 1 kill
  echo one >"$mnt/one"
  check "what is synced without it is durable" timeout 60 sync "$mnt/one"
  check "a second one is killed" "$cluster_script" osd "$cluster" 2 kill
  (echo two >"$mnt/two" && sync "$mnt/two" && touch "$base/work/two_is_durable") &  # nobody can end a process that waits for an answer to this
  sleep 5
  check "now a sync waits" test ! -e "$base/work/two_is_durable"
  check "the first comes back" timeout 90 "$cluster_script" osd "$cluster" 1 start
  check "and it goes on" within 60 test -e "$base/work/two_is_durable"
  check "the second comes back" timeout 90 "$cluster_script" osd "$cluster" 2 start
  check "the third is paused for longer than the cluster waits" "$cluster_script" osd "$cluster" 0 pause
  sleep 8
  echo three >"$mnt/three"
  check "a sync without it" timeout 60 sync "$mnt/three"
  check "it goes on" "$cluster_script" osd "$cluster" 0 go-on
  monitor_away_until_load_ends
  check "the follower saw all of it" within 30 same "$mnt/all" "$second/all"
  check "ends" timeout 60 "$cffs" umount "$second"
  check "ends" timeout 60 "$cffs" umount "$mnt"
  check "clean" store_clean
  check "and whole" "$cffs" scrub "$store"
  "$cffs" mount "$store" "$mnt"
  [ "$(cat "$mnt/one" "$mnt/two" "$mnt/three" | xargs)" = "one two three" ] || { echo "  FAILED: $(cat "$mnt"/one "$mnt"/two "$mnt"/three)"; failures=$((failures + 1)); }
  check "ends" timeout 60 "$cffs" umount "$mnt"
}

# Suites that others wrote, in their quick form; more_suites takes two minutes.
case_suites() { run_suites pjdfstest random_calls; }
case_more_suites() { run_suites fsx sqlite git; }
run_suites() {
  local one code
  for one in "$@"; do
    code=0
    timeout 180 "$here/../suites/$one.sh" >"$base/suite.log" 2>&1 || code=$?
    [ $code = 77 ] && { tail -n 1 "$base/suite.log"; continue; }
    check "suite: $one" sh -c "tail -n 30 '$base/suite.log'; exit $code"
  done
}

case_acceptance() {
  local one
  # threads: where the system has none left, librados ends the process. successors: whoever is paused is shut out, and nobody waits for it.
  for one in writers names files follow; do
    check "acceptance: $one" timeout 250 "$here/acceptance.sh" $one
  done
}
# Alone of its lane: namespaces with copies of all mounts, which others could not end meanwhile.
case_holders() { check "acceptance: holders" timeout 250 "$here/acceptance.sh" holders; }

osds=1
[ "$*" != three_osds ] || osds=3
start_cluster --osd-size=4G --osds=$osds
run_cases contract objects full_composites commands browsing local_cache killed_writer killed_commands fencing standby failing_cluster full_pool bad_days readers_key suites more_suites acceptance holders -- "$@"
