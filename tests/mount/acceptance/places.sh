# Where stores are: moved away under their mounts, named otherwise, one in another. Sourced by acceptance.sh.

# The store's path does not lead to what the daemon has: who unmounts waits for that daemon, and for no other.
case_strays() {
  local holder outcome place
  [ "${CFFS_TEST_BACKEND:-posix}" = posix ] || { echo "  for stores in directories"; return 0; }
  free() { flock --nonblock "$1/lock" true; }
  said() { grep -Eq "$1" "$base/work/said" || { echo "not said: $1"; cat "$base/work/said"; return 1; }; }
  # What the daemon must write before it lets go.
  dirty() { head -c 20000000 /dev/urandom >"$mnt/blob" && for i in $(seq 300); do echo "$1.$i" >"$mnt/small.$i"; done; }
  fresh -- --commit-interval=3600 || return 1
  place=$base/work/moved
  dirty one
  mv "$store" "$place"
  check "umount of a store that was moved" timeout 60 "$cffs" umount "$mnt"
  check "it is free at once" free "$place"
  check "fsck" "$cffs" fsck "$place"

  # Another store is there by now, and mounted elsewhere: it is not waited for.
  "$cffs" mount --commit-interval=3600 "$place" "$mnt" && dirty two && mv "$place" "$base/work/again" || return 1
  mkdir "$base/work/second" && "$cffs" format "$place" && "$cffs" mount "$place" "$base/work/second" || return 1
  check "umount of a store that was moved, with another in its place" timeout 60 "$cffs" umount "$mnt"
  check "it is free at once" free "$base/work/again"
  check "the other one is still mounted" mountpoint -q "$base/work/second"
  check "umount of the other" timeout 60 "$cffs" umount "$base/work/second"
  rm -rf "$place"
  mv "$base/work/again" "$store"
  check "what was acknowledged" bash -c "'$cffs' mount '$store' '$mnt' && test \$(cat '$mnt'/small.* | grep -c two) = 300"
  check "umount" timeout 60 "$cffs" umount "$mnt"

  # A mount with another name.
  "$cffs" mount --commit-interval=3600 -o fsname=alias "$store" "$mnt" && dirty three || return 1
  check "umount of one with another name" timeout 60 "$cffs" umount "$mnt"
  check "it is free at once" free "$store"
  "$cffs" mount --commit-interval=3600 -o fsname=alias "$store" "$mnt" && dirty four || return 1
  sleep 120 <"$mnt/blob" & holder=$!
  check "in use it is refused" refused "is in use by pid $holder" "$cffs" umount "$mnt"
  check "--force" timeout 60 "$cffs" umount --force "$mnt"
  check "it is free at once" free "$store"
  kill $holder; wait $holder 2>/dev/null

  # Its daemon takes its time, and meanwhile the kernel gives the device's number to another mount, which holds nothing.
  "$cffs" format "$base/work/other" && "$cffs" mount "$store" "$mnt" || return 1
  holder=$(daemon_pid)
  local number other
  number=$(mountpoint -d "$mnt")
  kill -STOP "$holder"
  timeout 60 env --default-signal=INT timeout --preserve-status -s INT 8 "$cffs" umount "$mnt" 2>"$base/work/said" & outcome=$!
  while grep -q " $mnt " /proc/self/mountinfo; do sleep 0.01; done
  check "another mount" timeout 30 "$cffs" mount "$base/work/other" "$base/work/second"
  other=$(mountpoint -d "$base/work/second")
  [ "$number" = "$other" ] || echo "  the number was not used again: $number, $other"
  wait $outcome; outcome=$?
  check "Ctrl-C ends the waiting" test $outcome = 130
  check "it waited for the daemon" said "its daemon, pid $holder"
  check "and for nobody else" bash -c "! grep -q '$base/work/second' '$base/work/said'"
  echo more >"$base/work/second/more"
  check "umount of the other waits for its own daemon, not for the one that had the number before" timeout 60 "$cffs" umount "$base/work/second"
  check "it is free at once" free "$base/work/other"
  kill -CONT "$holder"
  check "the daemon ends" timeout 30 flock "$lock" true
  check "fsck" "$cffs" fsck "$store"
}

# A store's directory is its own: nothing is made in it, mounted on it, or taken away with what lies beside it.
case_nested() {
  [ "${CFFS_TEST_BACKEND:-posix}" = posix ] || { echo "  for stores in directories"; return 0; }
  fresh || return 1
  local tree=$base/work/tree second=$base/work/second
  mkdir -p "$tree/d" "$second" && echo 1 >"$tree/d/file" && "$cffs" import "$tree" "$store" >/dev/null && mkdir "$store/blobs" "$store/empty" || return 1
  local in="$store/inner lies in the store $store; name a place outside of it"
  check "format" refused "$in" "$cffs" format "$store/inner"
  check "format, deeper" refused "lies in the store $store;" "$cffs" format "$store/inner/most"
  check "format, by another name" bash -c "cd '$store' && '$cffs' format ./inner 2>&1 | grep -q 'inner lies in the store $store;'"
  check "format of a folder of objects" refused "lies in the store $store;" "$cffs" format "$store/blobs"
  check "format of an image" refused "$in" "$cffs" format --backend=region --size=1G "$store/inner"
  check "salvage" refused "$in" "$cffs" salvage "$store" "$store/inner"
  check "copy" refused "$in" "$cffs" copy "$store" "$store/inner"
  check "backup" refused "inner is in the store" "$cffs" backup "$store" "$store/inner"
  check "export" refused "$in" "$cffs" export "$store" "$store/inner"
  check "export of an archive" refused "lies in the store $store;" "$cffs" export "$store" "$store/inner.tar"
  check "mount on a folder of objects" refused "mount point $store/blobs lies in the store $store; choose another" "$cffs" mount "$store" "$store/blobs"
  check "mount on an empty folder" refused "lies in the store $store; choose another" "$cffs" mount "$store" "$store/empty"
  "$cffs" format "$base/work/other" || return 1
  check "mount on a store" refused "mount point $base/work/other is a store; choose another" "$cffs" mount "$store" "$base/work/other"
  check "format in another store" refused "lies in the store $base/work/other;" "$cffs" format "$base/work/other/inner"
  rmdir "$store/empty" "$store/blobs"
  check "nothing was made" bash -c "! ls '$store' | grep -q inner"
  check "fsck" "$cffs" fsck "$store"
  # Who has files of such a name has no store.
  mkdir -p "$base/work/no/store" && touch "$base/work/no/superblock"
  check "a file with the name of a store's" "$cffs" format "$base/work/no/store"
  check "a place for a copy that is refused" refused "holds something that is no store" "$cffs" copy "$store" "$tree"
  check "is left as it is" test "$(ls "$tree")" = d

  # What --delete takes away.
  check "export onto what the store lies in" refused "$store lies in $base: --delete would take it away; leave it out with --exclude=/store" "$cffs" export --update --delete "$store" "$base"
  check "onto the store" refused "store and .*store are the same directory|lies in|exported into itself" "$cffs" export --update --delete "$store" "$store"
  check "fsck" "$cffs" fsck "$store"
  "$cffs" mount "$store" "$mnt" || return 1
  check "of a mount" refused "lies in $base: --delete would take it away; leave it out with" "$cffs" export --update --delete "$mnt" "$base"
  check "of a mount, which is left out" refused "$store lies in $base: --delete would take it away" "$cffs" export --update --delete --exclude=/mnt "$mnt" "$base"
  check "elsewhere" "$cffs" export --update --delete "$mnt" "$second"
  check "it is the same" same "$mnt" "$second"

  # A mount's own store is not imported into it.
  check "import of its store" refused "$store is of the store that $mnt is a mount of: it would be imported into itself" "$cffs" import "$store" "$mnt"
  check "of a part of it" refused "is of the store that" "$cffs" import "$store/table" "$mnt:x"
  check "of what the store lies in" refused "$store of the mount $mnt lies in $base: it would be imported into itself; leave it out with --exclude=/store" "$cffs" import --exclude=/mnt "$base" "$mnt:x"
  check "without it" "$cffs" import --exclude=/mnt --exclude=/store "$base" "$mnt:x"
  check "export into the store" refused "$in" "$cffs" export "$mnt" "$store/inner"
  check "export of an archive into the store" refused "lies in the store" "$cffs" export "$mnt" "$store/inner.tar"
  check "a policy is the mount's" refused "the daemon groups what comes, by the policy of the mount" "$cffs" import --policy=none "$tree" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}
