# Who only looks changes nothing, and who does not know a store leaves it alone. Sourced by acceptance.sh.

# Every byte, name and time of a store; access times too, as its owner looks without touching them.
bytes_of() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }
times_of() { (cd "$1" && find . -printf '%p %y %s %T@ %C@ %A@\n' | sort); }
unchanged() {  # command...: succeeds, and leaves the store as it was
  times_of "$store" >/dev/null  # where times are relative, this look is the last to set them
  times_of "$store" >"$base/work/times" && bytes_of "$store" >"$base/work/bytes" && times_of "$store" >"$base/work/times"
  "$@" >"$base/work/look.out" 2>&1 || { cat "$base/work/look.out"; return 1; }
  times_of "$store" | diff "$base/work/times" - && bytes_of "$store" | diff "$base/work/bytes" -
}

export_is() { rm -rf "$2" && "$cffs" export "$store" "$2" && same "$1" "$2"; }
mount_shows() { "$cffs" mount -o ro "$store" "$mnt" && same "$1" "$mnt" && "$cffs" umount "$mnt"; }
look() {  # what, tree
  check "$1: stat" unchanged "$cffs" stat --json "$store"
  check "$1: dump" unchanged "$cffs" dump --hex "$store"
  check "$1: fsck" unchanged "$cffs" fsck "$store"
  check "$1: export to a directory" unchanged export_is "$2" "$base/work/out"
  check "$1: export to a tar" unchanged "$cffs" export "$store" "$base/work/out.tar"
  check "$1: regroup --dry-run" unchanged "$cffs" regroup --policy=reference --dry-run "$store"
  check "$1: mount -o ro" unchanged mount_shows "$2"
}

case_looking() {
  local headers=$source_tree/linux
  fresh --inline-max=512 || return 1
  check "import" "$cffs" import "$headers" "$store"
  check "what is held for a full disk has a line" bash -c "'$cffs' stat '$store' | grep -q '^reserve  .*B   beside the objects'"
  check "and a number" test "$(stat_number "$store" reserve_bytes)" -gt 1000000
  look "closed" "$headers"

  "$cffs" mount "$store" "$mnt"
  cp -r "$headers/can" "$mnt/copy" && head -c 300000 /dev/urandom >"$mnt/blob" && cp "$mnt/blob" "$mnt/removed" && sync -f "$mnt"
  rm -r "$mnt/usb" "$mnt/removed" && mv "$mnt/can" "$mnt/moved" && echo late >"$mnt/late"
  setfattr -n $'user.red\033[31m' -v 1 "$mnt/late"
  cp -r "$mnt" "$base/work/tree"
  check "a look at a mounted store is refused" refused "is in use by pid [0-9]+ on" "$cffs" fsck "$store"
  kill_daemon
  check "there is a log to be replayed" bash -c "test \$(cat '$store'/table/*.log | wc -c) -gt 1000"
  look "killed" "$base/work/tree"
  check "a dump writes no escape sequences to a terminal" bash -c "'$cffs' dump '$store' >'$base/work/dump' && grep -q 'user.red' '$base/work/dump' && ! grep -q \$'\\033' '$base/work/dump'"

  "$cffs" mount -o ro "$store" "$mnt"
  check "a look beside a read-only mount" "$cffs" fsck "$store"
  check "no mount for writing beside it" refused "is in use by a read-only mount, or a command that looks" \
    "$cffs" mount "$store" "$base/work"
  check "it cannot be made writable" refused "unmount it and mount it again" "$cffs" mount -o remount,rw "$store" "$mnt"
  mount -i -o remount,rw "$mnt" 2>/dev/null
  check "nor behind its back" bash -c "! touch '$mnt/new' 2>'$base/work/err' && grep -q 'Read-only' '$base/work/err'"
  check "umount" "$cffs" umount "$mnt"
  check "the store is free at once" "$cffs" mount "$store" "$mnt"
  check "and is as it was left" same "$base/work/tree" "$mnt"
  kill_daemon

  truncate -s 200M "$base/work/image" && mkfs.ext4 -q -F "$base/work/image" && mkdir -p "$base/disk"
  mount -o loop "$base/work/image" "$base/disk" 2>/dev/null || { echo "  no loop devices: a read-only medium was not tried"; return 0; }
  cp -a "$store" "$base/disk/store" && umount "$base/disk" && mount -o loop,ro "$base/work/image" "$base/disk"
  local here=$store
  store=$base/disk/store
  look "read-only medium" "$base/work/tree"
  check "a mount for writing is refused there, and the cure named" refused "$store can be read.* mount -o ro.*Read-only file system" "$cffs" mount "$store" "$mnt"
  store=$here
  umount "$base/disk"
}

# Stores with features of the future: tests/golden has a superblock with one of each class.
case_features() {
  local golden=$(dirname "$0")/../golden before
  fresh
  cp "$golden/compatible.superblock" "$store/superblock"
  check "an unknown compatible feature is no matter" "$cffs" mount "$store" "$mnt"
  check "the store can be changed" touch "$mnt/file"
  "$cffs" umount "$mnt"
  check "the feature stays" cmp "$golden/compatible.superblock" "$store/superblock"

  fresh
  cp "$golden/read-only-compatible.superblock" "$store/superblock"
  before=$(cd "$store" && sha256sum superblock table/*)
  local only='has "journals" \(read-only compatible feature 2\), which cffs .* does not know: .*made by cffs 9.8.7'
  check "no mount for writing" refused "$only" "$cffs" mount "$store" "$mnt"
  check "no repair" refused "$only" "$cffs" fsck --repair "$store"
  check "no import" refused "$only" "$cffs" import "$base/work" "$store"
  check "a mount to look" "$cffs" mount -o ro "$store" "$mnt"
  check "it can be listed" ls -l "$mnt"
  check "and not changed" refused "Read-only file system" touch "$mnt/file"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  check "dump" "$cffs" dump "$store"
  check "export" "$cffs" export "$store" "$base/work/out"
  check "nothing was changed" [ "$before" = "$(cd "$store" && sha256sum superblock table/*)" ]

  fresh
  cp "$golden/incompatible.superblock" "$store/superblock"
  local word
  for word in mount stat dump fsck; do
    check "$word is refused" refused "needs incompatible feature 1048576, which cffs .* does not know; it was made by cffs 9.8.7" \
      "$cffs" $word "$store" $([ $word != mount ] || echo "-o ro $mnt")
  done
}

# What a read-only mount puts into the kernel's cache before it is asked: whoever reads a tree gets every byte.
case_handed() {
  local headers=$source_tree/linux
  fresh || return 1
  check "import" "$cffs" import "$headers" "$store"
  number() { "$cffs" stats --json "$mnt" | python3 -c "import json,sys; s = json.load(sys.stdin); print($1)"; }
  go_through() { (cd "$mnt" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$base/work/sums"; }
  # Nothing is handed over where the processors are taken and the reader is ahead of it, or where somebody drops the machine's caches: then
  # the next of a few mounts. The last one stays.
  handed_over() {  # command that mounts...: whoever goes through the mount has every byte right, and one mount handed something over
    local try
    for try in {1..10}; do
      sync && echo 3 >/proc/sys/vm/drop_caches 2>/dev/null
      timeout 30 "$@" || return 1
      go_through && diff "$base/work/expected" "$base/work/sums" || return 1
      [ "$(number "s['handed_over']['files']")" -gt 0 ] && return 0
      "$cffs" umount "$mnt"
    done
    return 1
  }
  (cd "$headers" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$base/work/expected"
  for how in "" "--transport=device" "--threads=1"; do
    check "every byte is right, and some were handed over $how" handed_over "$cffs" mount -o ro $how "$store" "$mnt" || return 1
    # Whoever drops the machine's caches meanwhile takes back what was handed over, so that is all that can be said here; how much it is
    # where nobody does, group_hand_over_test.cc says.
    check "again, from the cache $how" go_through
    check "every byte is right again $how" diff "$base/work/expected" "$base/work/sums"
    check "umount" "$cffs" umount "$mnt"
  done
  # While pages are handed over: the end of the mount, by umount and by a signal.
  for end in umount term; do
    sync && echo 3 >/proc/sys/vm/drop_caches 2>/dev/null
    "$cffs" mount -o ro "$store" "$mnt" || return 1
    (cd "$mnt" && timeout 60 find . -type f -exec cat {} + >/dev/null 2>&1) & local reader=$!
    sleep 0.05
    if [ $end = term ]; then pkill -TERM -f "mount -o ro $store $mnt"; else umount -l "$mnt"; fi
    wait $reader
    check "it ends: $end" timeout 30 flock --exclusive "$lock" true
  done
  umount -l "$mnt" 2>/dev/null
  # Who follows a writer who goes on: of each file the bytes that it has at some checkpoint, and at last what the writer has.
  local theirs=$base/work/theirs file
  caught_up() { for _ in {1..100}; do "$@" && return 0; sleep 0.1; done; return 1; }
  mkdir -p "$theirs" && "$cffs" mount -o commit_interval=0.5 "$store" "$theirs" || return 1
  check "every byte of what is followed is right, and some were handed over" handed_over "$cffs" mount -o ro,follow=0.1 "$store" "$mnt" ||
    { "$cffs" umount "$theirs"; return 1; }
  for round in 1 2 3; do
    for file in $(cd "$theirs" && find . -name '*.h' | sort | awk "NR % 3 == $round % 3"); do
      tr 'a-z' 'b-za' <"$theirs/$file" >"$base/work/turned" && cat "$base/work/turned" >"$theirs/$file"
    done & local writer=$!
    go_through
    wait $writer
    sync -f "$theirs"
  done
  same_sums() { go_through && (cd "$theirs" && find . -type f -print0 | sort -z | xargs -0 sha256sum) | diff - "$base/work/sums" >/dev/null; }
  check "in the end it has what the writer has" caught_up same_sums
  check "umount" "$cffs" umount "$mnt"
  check "umount" "$cffs" umount "$theirs"
  "$cffs" mount "$store" "$mnt" || return 1
  check "go through a mount for writing" go_through
  check "nothing is handed over there" test "$(number "s['handed_over']['files']")" = 0
  check "umount" "$cffs" umount "$mnt"
  "$cffs" mount -o ro --record="$base/work/seen.trace" "$store" "$mnt" || return 1
  check "go through a mount that is recorded" go_through
  check "nor there" test "$(number "s['handed_over']['files']")" = 0
  check "umount" "$cffs" umount "$mnt"
}
