# Stores whose files share what is the same of them, changed while they are in use. Sourced by acceptance.sh.

case_dedupe() {
  fresh --dedupe --compress=zstd || return 1
  mkdir "$base/work/tree"
  for copy in one two three; do cp -a "$source_tree/linux" "$base/work/tree/$copy"; done
  mkdir "$base/work/from" && cp -a "$base/work/tree" "$base/work/from/"
  check "import" "$cffs" import "$base/work/from" "$store"
  check "fsck after import" "$cffs" fsck "$store"
  local large
  large=$(find "$base/work/tree/one" -type f -size +4095c -size -1048577c -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
  check "two of three copies are spared" test "$(stat_number "$store" shared_bytes)" -ge $((2 * large))
  check "mount" "$cffs" mount "$store" "$mnt"
  check "diff through the mount" same "$base/work/tree" "$mnt/tree"
  cp -a "$base/work/tree/one" "$mnt/tree/four"
  check "compact" "$cffs" compact "$mnt"
  check "what is copied in shares, too" test "$(stat_number "$mnt" shared_bytes)" -ge $((3 * large))
  rm -rf "$mnt/tree/four"
  read_along &
  local reader=$! file
  check "regroup on a mount that is read" "$cffs" regroup --policy=directory "$mnt"
  check "and once more without" "$cffs" regroup --dedupe=off --compress=none "$mnt"
  check "and with" "$cffs" regroup --dedupe=on --compress=zstd "$mnt"
  touch "$base/work/stop"; wait $reader
  check "nobody saw anything of it" test ! -e "$base/work/differs"
  for file in $(cd "$base/work/tree/two" && find . -type f -size +4095c | head -20); do
    echo "changed" >>"$base/work/tree/two/$file"; echo "changed" >>"$mnt/tree/two/$file"
  done
  for tree in "$base/work/tree" "$mnt/tree"; do mv "$tree/three/netfilter" "$tree/moved"; rm -rf "$tree/one/netfilter"; done
  check "changed, moved and removed" same "$base/work/tree" "$mnt/tree"
  sync -f "$mnt"
  kill_daemon
  check "mount after kill -9" "$cffs" mount "$store" "$mnt"
  check "diff after it" same "$base/work/tree" "$mnt/tree"
  check "a backup of it" "$cffs" backup "$mnt" "$base/work/backup"
  check "is whole" "$cffs" fsck "$base/work/backup"
  check "and shares" test "$(stat_number "$base/work/backup" shared_bytes)" -gt 0
  check "umount" "$cffs" umount "$mnt"
  check "fsck at the end" "$cffs" fsck "$store"
  check "without composites nobody shares" "$cffs" regroup --policy=none "$store"
  check "and all is there" test "$(stat_number "$store" sharing_files)" = 0
  check "fsck of that" "$cffs" fsck "$store"
  "$cffs" import "$base/work/from" "$store" >/dev/null 2>&1  # most names are taken
  check "fsck after an import of what is there" "$cffs" fsck "$store"
  check "mount at the end" "$cffs" mount "$store" "$mnt"
  check "the files that were missing came" same "$base/work/from/tree/one/netfilter" "$mnt/tree/one/netfilter"
  check "umount at the end" "$cffs" umount "$mnt"
}
