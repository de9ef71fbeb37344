# Stores whose composites are compressed, changed while they are in use. Sourced by acceptance.sh.

# What composites take of what they hold, in hundredths.
stored_share() { "$cffs" stat --json "$1" | python3 -c "import json,sys; s = json.load(sys.stdin); print(100 * s['stored_bytes'] // s['composite_bytes'])"; }

blobs_of() { "$cffs" stat --json "$1" | python3 -c "import json,sys; print(json.load(sys.stdin)['blobs'])"; }

# Reads the tree again and again until it is told to stop; what differs is in the file.
read_along() {
  while [ ! -e "$base/work/stop" ]; do same "$base/work/tree" "$mnt/tree" >"$base/work/seen" 2>&1 || { mv "$base/work/seen" "$base/work/differs"; return; }; done
}

case_compress() {
  fresh --compress=zstd || return 1
  cp -a "$source_tree/linux" "$base/work/tree"
  seq 400000 >"$base/work/tree/large"  # 2.7 MB
  mkdir "$base/work/from" && cp -a "$base/work/tree" "$base/work/from/"
  check "import" "$cffs" import "$base/work/from" "$store"
  check "composites take less than half of what they hold ($(stored_share "$store") %)" test "$(stored_share "$store")" -lt 50
  check "the large file is compressed, too" test "$(blobs_of "$store")" = 0
  check "by directory: the tree has a line" bash -c "'$cffs' stat --by-directory '$store' | grep -Eq '^tree +[0-9]+ .* 0\.[0-4][0-9]+$'"
  check "and those below it" bash -c "'$cffs' stat --by-directory=2 '$store' | grep -Eq '^tree/netfilter +[0-9]+ '"
  check "fsck after import" "$cffs" fsck "$store"
  local by_directory; by_directory=$("$cffs" stat --by-directory=2 "$store")
  check "mount" "$cffs" mount "$store" "$mnt"
  check "diff through the mount" same "$base/work/tree" "$mnt/tree"
  check "the mount says the same by directory" test "$("$cffs" stat --by-directory=2 "$mnt")" = "$by_directory"
  cp -a "$base/work/tree" "$mnt/second"
  check "compact" "$cffs" compact "$mnt"
  check "what is copied in is compressed, too ($(stored_share "$mnt") %)" test "$(stored_share "$mnt")" -lt 50
  check "but for large files, which may be written again" test "$(blobs_of "$mnt")" = 1
  check "until somebody regroups" "$cffs" regroup --policy=directory "$mnt"
  check "what was written is compressed, too" test "$(blobs_of "$mnt")" = 0
  echo more >>"$mnt/second/large"; echo more >>"$base/work/tree/large"; echo more >>"$mnt/tree/large"
  check "appended to" test "$(blobs_of "$mnt")" = 2
  read_along &
  local reader=$! how
  for how in lz4 none zstd:1 zstd:9; do
    check "regroup --compress=$how on a mount that is read" "$cffs" regroup --compress=$how "$mnt"
  done
  touch "$base/work/stop"; wait $reader
  check "nobody saw anything of it" test ! -e "$base/work/differs"
  rm -rf "$mnt/second/netfilter"; rm -rf "$base/work/second"; cp -a "$base/work/tree" "$base/work/second"; rm -rf "$base/work/second/netfilter"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  check "with a policy, too" "$cffs" regroup --policy=directory --compress=none "$store"
  check "nothing is compressed ($(stored_share "$store") %)" test "$(stored_share "$store")" -ge 99
  check "mount again" "$cffs" mount "$store" "$mnt"
  "$cffs" regroup --compress=zstd:19 "$mnt" >/dev/null 2>&1 &
  sleep 0.3
  kill_daemon
  wait
  check "mount after kill -9 in the middle" "$cffs" mount "$store" "$mnt"
  check "diff after it" same "$base/work/tree" "$mnt/tree"
  check "and of the copy" same "$base/work/second" "$mnt/second"
  check "on with it" "$cffs" regroup --compress=zstd "$mnt"
  check "a backup of it" "$cffs" backup "$mnt" "$base/work/backup"
  check "is whole" "$cffs" fsck "$base/work/backup"
  check "umount at the end" "$cffs" umount "$mnt"
  check "fsck at the end" "$cffs" fsck "$store"
  check "compressed at the end" test "$(stored_share "$store")" -lt 50
  check "another way" refused "'gzip' is no way to compress: zstd, zstd:1 to zstd:19, lz4 or none" "$cffs" regroup --compress=gzip "$store"
  check "neither" refused "name a --policy, how to --compress, or whether to --dedupe" "$cffs" regroup "$store"
}
