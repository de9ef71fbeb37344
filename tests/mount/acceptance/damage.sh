# Rot, and what is left of a store: found, named, mended, salvaged. Sourced by acceptance.sh.

case_damage() {
  local headers=$source_tree/linux
  fresh || return 1
  check "import" "$cffs" import "$headers" "$store"
  local composite
  composite=$(find "$store/composites" -type f | sort | head -n 1)
  printf '\377\376\375' | dd of="$composite" bs=1 seek=300000 conv=notrunc status=none
  check "fsck names the damaged member" bash -c "'$cffs' fsck '$store' | grep -q 'differs from its checksum'"
  check "and exits with 4" bash -c "'$cffs' fsck '$store' >/dev/null; test \$? = 4"
  check "mount of a store with rot" "$cffs" mount "$store" "$mnt"
  check "rot costs one file, with EIO" bash -c "test \$(diff -r '$headers' '$mnt' 2>&1 | tee /dev/stderr | grep -c 'Input/output error') = 1"
  check "umount" "$cffs" umount "$mnt"
  rm "$composite"
  check "mount without one composite" "$cffs" mount "$store" "$mnt"
  check "a lost member is EIO" bash -c "find '$mnt' -type f -exec cat {} + 2>&1 >/dev/null | grep -q 'Input/output error'"
  check "lost files can be removed" bash -c "rm -r '$mnt'/* && test -z \"\$(ls '$mnt')\" && echo new >'$mnt/new'"
  check "umount" "$cffs" umount "$mnt"
  check "fsck is clean again" "$cffs" fsck "$store"
  check "mount" "$cffs" mount "$store" "$mnt"
  local daemon
  daemon=$(daemon_pid)
  kill -TERM "$daemon"
  for _ in $(seq 100); do kill -0 "$daemon" 2>/dev/null || break; sleep 0.1; done  # it closes the store after it has unmounted
  check "SIGTERM unmounts" bash -c "! mountpoint -q '$mnt' && ! test -e '$mnt/new'"
  check "fsck after SIGTERM" "$cffs" fsck "$store"
  # Its log goes to a table file when the store is opened.
  check "mount" bash -c "'$cffs' mount '$store' '$mnt' && mkdir '$mnt/many' && (cd '$mnt/many' && seq -f name%g 3000 | xargs touch) &&
    '$cffs' umount '$mnt' && '$cffs' mount '$store' '$mnt' && '$cffs' umount '$mnt'"
  check "a rotten block of the table" python3 - "$store/table" <<'PY'
import os, sys
path = max((os.path.join(sys.argv[1], n) for n in os.listdir(sys.argv[1]) if n.endswith('.ldb')), key=os.path.getsize)
at = os.path.getsize(path) // 2
with open(path, 'r+b') as f:
    f.seek(at); byte = f.read(1)[0]
    f.seek(at); f.write(bytes([byte ^ 1]))
PY
  check "mount" "$cffs" mount "$store" "$mnt"
  check "what was exported earlier" bash -c "mkdir -p '$base/work/earlier/many' && (cd '$base/work/earlier/many' && seq -f name%g 3000 | xargs touch)"
  check "is not made as the rest of a damaged mount" refused "rows of .* cannot be read: by --update --delete .* nothing was changed" bash -c "'$cffs' export --update --delete '$mnt' '$base/work/earlier' 2>&1 >/dev/null | grep -v 'rows are missing' >&2; exit \${PIPESTATUS[0]}"
  check "all of it is there" test "$(find "$base/work/earlier/many" -type f | wc -l)" = 3000
  check "what can be read comes, and that some cannot is told" bash -c "'$cffs' export '$mnt' '$base/work/rest' 2>'$base/work/err'; test \$? = 1 && grep -q 'files may be missing, or as they were earlier' '$base/work/err' && test -n \"\$(ls '$base/work/rest/many')\""
  check "umount" "$cffs" umount "$mnt"
  rm -rf "$base/work/earlier" "$base/work/rest"
  for how in "" "-o ro"; do
    check "mount $how" "$cffs" mount $how "$store" "$mnt"
    check "ls fails $how" bash -c "! ls '$mnt/many' >'$base/work/listed' 2>'$base/work/err' && grep -q 'Input/output error' '$base/work/err'"
    check "and shows some $how" bash -c "lines=\$(wc -l <'$base/work/listed') && test \$lines -gt 0 && test \$lines -lt 3000"
    check "so does a second look $how" bash -c "! ls -lU '$mnt/many' >/dev/null 2>&1 && ! find '$mnt/many' >/dev/null 2>&1"
    check "and a copy $how" bash -c "'$cffs' format '$base/work/copy' && ! '$cffs' import '$mnt/many' '$base/work/copy' 2>'$base/work/err' && grep -q 'many: Input/output error' '$base/work/err'; r=\$?; rm -rf '$base/work/copy'; exit \$r"
    check "umount $how" "$cffs" umount "$mnt"
  done
  check "export fails too" bash -c "! '$cffs' export '$store' '$base/work/exported' 2>'$base/work/err'"
  echo garbage >"$store/table/CURRENT"
  check "a damaged table is refused in one sentence" refused "table/CURRENT names no manifest.*fsck --repair" "$cffs" mount "$store" "$mnt"

  rm -rf "$store"
  truncate -s 200M "$base/work/image"
  mkfs.ext4 -q -F "$base/work/image"
  mkdir -p "$base/disk"
  mount -o loop "$base/work/image" "$base/disk" 2>/dev/null || { echo "  no loop devices: a full disk was not tried"; return 0; }
  store=$base/disk/store
  "$cffs" format "$store" && "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt"
  cp -r "$headers" "$mnt/"
  check "a full disk is ENOSPC" bash -c "! dd if=/dev/zero of='$mnt/big' bs=1M 2>'$base/work/dd.out' && grep -q 'No space left' '$base/work/dd.out'"
  check "what was there is there" same "$headers" "$mnt/linux"
  check "removing works on a full disk" rm "$mnt/big"
  check "and gives the space back" within 30 bash -c "head -c 50M /dev/zero >'$mnt/again' && rm '$mnt/again' || ! rm -f '$mnt/again'"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  umount "$base/disk"
  store=$base/store
}

case_scrub() {
  fresh || return 1
  check "import" "$cffs" import "$source_tree/linux" "$store"
  check "mount" "$cffs" mount --quiet=0.2 "$store" "$mnt"
  check "a large file" bash -c "head -c 5000000 /dev/urandom >'$base/work/large' && cp '$base/work/large' '$mnt/large'"
  for _ in $(seq 100); do [ "$(stat_number "$mnt" sealed_blobs)" = 1 ] && break; sleep 0.1; done
  check "it gets checksums" test "$(stat_number "$mnt" sealed_blobs)" = 1
  check "a scrub of a mount finds nothing" bash -c "'$cffs' scrub --rate=0 '$mnt' | tee /dev/stderr | grep -q ', 0 damaged'"
  check "its status is kept" bash -c "'$cffs' scrub --status '$mnt' | grep -q '^done'"
  check "a slow one" bash -c "timeout 2 '$cffs' scrub --rate=10K '$mnt'; test \$? = 124"
  check "goes on without its command" bash -c "'$cffs' scrub --status '$mnt' | grep -q '^running'"
  check "is refused a second time" refused "a scrub of .* is under way" "$cffs" scrub "$mnt"
  check "stopping it" "$cffs" scrub --stop "$mnt"
  check "leaves it undone, with status 8" bash -c "'$cffs' scrub --status '$mnt'; test \$? = 8"
  "$cffs" scrub --rate=10K "$mnt" >"$base/work/said" 2>&1 &
  local watcher=$!
  check "it begins" within 20 bash -c "'$cffs' scrub --status '$mnt' | grep -q '^running'"
  check "somebody else stops it" "$cffs" scrub --stop "$mnt"
  wait $watcher
  check "which who watches is told, and not that nothing is damaged" test $? = 8
  check "a slow one again" bash -c "timeout 2 '$cffs' scrub --rate=10K '$mnt'; test \$? = 124"
  check "does not keep a mount" "$cffs" umount "$mnt"
  check "mount" "$cffs" mount --quiet=0.2 "$store" "$mnt"
  check "none since it was mounted" bash -c "'$cffs' scrub --status '$mnt'; test \$? = 8"
  local blob composite
  blob=$(find "$store/blobs" -type f -size +4M) composite=$(find "$store/composites" -type f | sort | head -n 1)
  cat "$mnt/large" >/dev/null
  printf '\377\376\375' | dd of="$blob" bs=1 seek=3000000 conv=notrunc status=none
  printf '\377\376\375' | dd of="$composite" bs=1 seek=300000 conv=notrunc status=none
  sync "$blob" "$composite"
  check "rot is named, with status 4" bash -c "'$cffs' scrub --anew --rate=0 '$mnt' >'$base/work/said'; r=\$?; cat '$base/work/said'; test \$r = 4"
  check "both files" bash -c "grep -q '^large (inode .* in bytes 2998272 to 3002367' '$base/work/said' && test \$(grep -c '(inode ' '$base/work/said') = 2"
  check "readers get EIO there" bash -c "echo 3 >/proc/sys/vm/drop_caches; ! cat '$mnt/large' >/dev/null && dd if='$mnt/large' bs=1M count=2 status=none | cmp -n 2097152 - '$base/work/large'"
  check "umount" "$cffs" umount "$mnt"
  check "of a store too" bash -c "'$cffs' scrub --anew '$store' >'$base/work/said2'; test \$? = 4 && test \$(grep -c '(inode ' '$base/work/said2') = 2"
  check "a backup of the store tells of it, once" bash -c "'$cffs' backup '$store' '$base/work/backup' >'$base/work/said4' 2>&1; test \$? = 4 && grep -q '^large (inode ' '$base/work/said4' && test -z \"\$(sed 's/^cffs: backup: //' '$base/work/said4' | sort | uniq -d)\""
  check "what fsck says" bash -c "'$cffs' fsck '$store' >'$base/work/said3'; test \$? = 4 && test \$(wc -l <'$base/work/said3') = 3"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "a new content is good" bash -c "cp '$base/work/large' '$mnt/large' && cmp '$base/work/large' '$mnt/large'"
  check "mount read-only" bash -c "'$cffs' umount '$mnt' && '$cffs' mount -o ro '$store' '$mnt'"
  check "which is told what to do" refused "is mounted read-only; cffs fsck of its store" "$cffs" scrub "$mnt"
  check "and can do it" bash -c "'$cffs' fsck '$store' >/dev/null; test \$? = 4"
  check "umount" "$cffs" umount "$mnt"
}

# The table is gone: names and data come back from composites, of large files the data.
case_salvage() {
  fresh || return 1
  local before copy=$base/work/copy changed
  check "import" "$cffs" import "$source_tree/linux" "$store"
  check "mount" "$cffs" mount --quiet=0.2 "$store" "$mnt"
  check "a large file" bash -c "head -c 5000000 /dev/urandom >'$base/work/large' && cp '$base/work/large' '$mnt/large'"
  # All that a tree can have.
  mkdir -p "$mnt/sub dir/deep/er"
  printf one >"$mnt/a"; ln "$mnt/a" "$mnt/sub dir/hard link"; ln -s ../a "$mnt/sub dir/soft"; ln -s /nowhere "$mnt/dangling"
  : >"$mnt/empty"; mkfifo "$mnt/sub dir/fifo"; mknod "$mnt/null" c 1 3; chmod 4755 "$mnt/a"; chmod 1777 "$mnt/sub dir"
  setfattr -n user.colour -v blue "$mnt/a"; setfattr -n user.dir -v x "$mnt/sub dir"; setfattr -n user.large -v y "$mnt/large"
  truncate -s 20M "$mnt/sub dir/sparse"; printf end | dd of="$mnt/sub dir/sparse" bs=1 seek=15000000 conv=notrunc status=none
  chown 1234:4321 "$mnt/large"; touch -d '2001-02-03 04:05:06.789' "$mnt/large"
  sync; sleep 1
  mv "$mnt/kernel.h" "$mnt/sub dir/deep/renamed.h"; chmod 600 "$mnt/fs.h"; rm "$mnt/stat.h"
  touch -d '1999-01-01' "$mnt/sub dir" "$mnt"
  cp -a "$mnt" "$copy"
  changed=$base/work/changed
  touch "$changed"
  check "a catalogue is written when the store is quiet" timeout 30 bash -c "until [ '$store/catalogue' -nt '$changed' ]; do sleep 0.2; done"
  check "umount" "$cffs" umount "$mnt"
  check "fsck knows it" "$cffs" fsck "$store"
  rm -r "$store/table"
  check "no table" refused "has no table.*cffs salvage" "$cffs" mount "$store" "$mnt"
  rm "$store/superblock" "$store/superblock.copy"
  before=$(cd "$store" && find . -type f -exec sha256sum {} + | sort)
  check "salvage" bash -c "'$cffs' salvage '$store' '$base/work/new' | tee /dev/stderr | grep -q 'files, .* are back in'"
  check "the lost store is only read" test "$before" = "$(cd "$store" && find . -type f -exec sha256sum {} + | sort)"
  check "a second time" refused "is a cffs store already" "$cffs" salvage "$store" "$base/work/new"
  check "the new one is whole" "$cffs" fsck "$base/work/new"
  check "mount" "$cffs" mount "$base/work/new" "$mnt"
  check "the whole tree" same_all "$copy" "$mnt" --delete --omit-dir-times --exclude='/#removed'
  check "times of directories" test "$(stat -c %Y "$mnt/sub dir")" = "$(date -d 1999-01-01 +%s)"
  check "what was removed is apart" test -s "$mnt/#removed/stat.h"
  check "umount" "$cffs" umount "$mnt"

  printf xxxx | dd of="$store/catalogue" bs=1 seek=1000 conv=notrunc status=none
  check "damage of the catalogue is told" bash -c "'$cffs' salvage '$store' '$base/work/some' | tee /dev/stderr | grep -q '^object catalogue: bytes 0 to .* are damaged'; test \${PIPESTATUS[0]} = 4"
  rm "$store/catalogue"
  check "without a catalogue" bash -c "'$cffs' salvage '$store' '$base/work/old' | tee /dev/stderr | grep -q 'There is no catalogue'"
  check "mount" "$cffs" mount "$base/work/old" "$mnt"
  contents() { find "$1" -type f -size +0 ! -path '*/#blobs/*' ! -name large ! -name a ! -name 'hard link' ! -name sparse ! -name stat.h ! -name renamed.h ! -name kernel.h -exec sha256sum {} + | sed 's| .*/| |' | sort -u; }
  check "every member and its name" diff <(contents "$copy") <(contents "$mnt")
  check "the large one" bash -c "for f in '$mnt'/#blobs/*; do cmp -s '$base/work/large' \$f && exit 0; done; exit 1"
  check "umount" "$cffs" umount "$mnt"
  rm -rf "$store/blobs" "$store/composites"
  check "nothing to salvage" refused "neither composites nor blobs" "$cffs" salvage "$store" "$base/work/other"
}

# Rot in the log of a store whose daemon was killed: refused by all who would write or rely on it, mended by a repair.
case_repair() {
  fresh -- || return 1
  local i log size
  mkdir "$mnt/d"
  for i in $(seq 300); do echo "content of $i" >"$mnt/f$i"; sync "$mnt/f$i"; done
  head -c 300000 /dev/urandom >"$mnt/d/large"
  sync "$mnt/d/large"
  cp -r "$mnt" "$base/work/before"
  kill_daemon
  log=$(find "$store/table" -name '*.log' | sort | tail -n 1)
  size=$(stat -c %s "$log")
  dd if=/dev/zero of="$log" bs=1 seek=$((size / 2)) count=64 conv=notrunc status=none
  cp -a "$store" "$base/work/store"
  check "a mount is refused" refused "table/[0-9]*.log is damaged at byte [0-9]* of .*fsck --repair" "$cffs" mount "$store" "$mnt"
  check "an export is refused" refused "is damaged at byte" "$cffs" export "$store" "$base/work/out"
  check "fsck names the log" bash -c "'$cffs' fsck '$store' 2>/dev/null | grep -q '^table/.*log is damaged at byte'"
  check "and exits with 4" bash -c "'$cffs' fsck '$store' >/dev/null 2>&1; test \$? = 4"
  check "none of them changed anything" diff -r "$store/table" "$base/work/store/table"
  check "a repair mends it" bash -c "'$cffs' fsck --repair '$store' 2>/dev/null | tee /dev/stderr | grep -q '^mended: '; test \${PIPESTATUS[0]} = 1"
  check "clean then" "$cffs" fsck "$store"
  check "nothing is left to mend" bash -c "'$cffs' fsck --repair '$store' | grep -q ': clean$'"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "few files are missing, and none is different" bash -c "
    diff -r '$base/work/before' '$mnt' >'$base/work/differences'; ! grep -qv '^Only in $base/work/before' '$base/work/differences' &&
    test \$(wc -l <'$base/work/differences') -le 3"
  check "umount" "$cffs" umount "$mnt"
}

# A small whole store, without its reserve, for a case that damages copies of it again and again.
store_to_copy() {  # where
  local i
  fresh || return 1
  mkdir -p "$base/work/tree/sub"
  for i in $(seq 20); do seq "$i" $((i + 900)) >"$base/work/tree/sub/file$i"; done
  head -c 2000000 /dev/urandom >"$base/work/tree/large"
  check "import" "$cffs" import "$base/work/tree" "$store"
  check "a catalogue" "$cffs" scrub "$store"
  cp -r "$store" "$1"
  rm -f "$1/reserve"
}

# What each command that judges a store ends with, by what is wrong with it: the manual's exit codes as a table.
case_codes() {
  [ "${CFFS_TEST_BACKEND:-posix}" = posix ] || return 0
  local kept=$base/work/kept state command wanted object
  store_to_copy "$kept" || return 1
  object=$(cd "$kept" && find composites -type f | head -n 1)
  damage() {
    rm -rf "$store" "$base/work/new"
    cp -r "$kept" "$store"
    case $1 in
      whole) ;;
      header) printf '\377' | dd of="$store/$object" bs=1 seek=9 conv=notrunc status=none ;;
      member) printf '\377\376\375' | dd of="$store/$object" bs=1 seek=9000 conv=notrunc status=none ;;
      large) truncate -s 1500000 "$(find "$store/blobs" -type f | head -n 1)" ;;
      log) truncate -s 100 "$store"/table/*.log ;;
      table) rm "$store"/table/* ;;
      superblock) rm "$store/superblock" "$store/superblock.copy" ;;
      empty) rm -r "$store"/* ;;
      gone) rm -r "$store" ;;
    esac
  }
  # fsck, fsck --repair, the same again, scrub, backup, salvage
  while read -r state fsck repair again scrub backup salvage; do
    for command in "fsck=$fsck" "fsck --repair=$repair" "scrub=$scrub" "backup=$backup" "salvage=$salvage"; do
      wanted=${command#*=} command=${command%=*}
      damage "$state"
      local words=($command "$store")
      case $command in backup | salvage) words+=("$base/work/new") ;; esac
      check "$state: $command ends with $wanted" bash -c 'wanted=$1; shift; timeout 60 "$@"; test $? = "$wanted"' - "$wanted" "$cffs" "${words[@]}"
      [ "$command" = "fsck --repair" ] || continue
      check "$state: again with $again" bash -c 'timeout 60 "$1" fsck --repair "$2"; test $? = "$3"' - "$cffs" "$store" "$again"
      check "$state: and a check says so" bash -c 'timeout 60 "$1" fsck "$2"; test $? = "$3"' - "$cffs" "$store" "$again"
    done
  done <<'TABLE'
whole      0 0 0 0 0 0
header     4 1 0 4 4 0
member     4 4 4 4 4 4
large      4 4 4 4 4 0
log        4 1 0 8 8 0
table      4 4 4 8 8 0
superblock 8 8 8 8 8 0
empty      8 8 8 8 8 1
gone       8 8 8 8 8 1
TABLE
  damage whole
  check "mount" "$cffs" mount "$store" "$mnt"
  for command in "fsck=8" "fsck --repair=8" "salvage=1"; do
    wanted=${command#*=}
    local words=(${command%=*} "$store")
    case $command in salvage*) words+=("$base/work/new") ;; esac
    check "in use: ${command%=*} ends with $wanted" bash -c 'wanted=$1; shift; "$@"; test $? = "$wanted"' - "$wanted" "$cffs" "${words[@]}"
  done
  check "umount" "$cffs" umount "$mnt"
  for command in fsck scrub backup salvage; do
    check "$command without a store is a usage error" bash -c '"$1" "$2"; test $? = 2' - "$cffs" "$command"
  done
}

# In an object's place is something that no store has: it is named, it costs the files that were there, and nobody waits for it.
case_strangers() {
  [ "${CFFS_TEST_BACKEND:-posix}" = posix ] || return 0
  local kept=$base/work/kept kind object then
  store_to_copy "$kept" || return 1
  ends_with() {  # code, words: in time
    local wanted=$1 code
    shift
    timeout 60 "$@"
    code=$?
    [ $code = "$wanted" ] || { echo "ended with $code, not $wanted"; return 1; }
  }
  for object in $(cd "$kept" && find composites blobs -type f); do
    for kind in directory link pipe device; do
      put_stranger() {
        rm -rf "$store" "$base/work/new"
        cp -r "$kept" "$store"
        rm "$store/$object"
        case $kind in
          directory) mkdir "$store/$object" ;;
          link) ln -s "$kept/$object" "$store/$object" ;;
          pipe) mkfifo "$store/$object" ;;
          device) mknod "$store/$object" c 1 3 ;;
        esac
      }
      local what="a $kind in the place of ${object%%/*}"
      put_stranger
      check "$what: fsck" ends_with 4 "$cffs" fsck "$store"
      check "$what: fsck says what it is" bash -c "'$cffs' fsck '$store' | grep -q 'is no regular file\|is a symbolic link'"
      check "$what: scrub" ends_with 4 "$cffs" scrub "$store"
      check "$what: stat" ends_with 0 "$cffs" stat "$store"
      check "$what: backup" ends_with 4 "$cffs" backup "$store" "$base/work/new"
      rm -rf "$base/work/new"
      check "$what: export" ends_with 1 "$cffs" export "$store" "$base/work/new"
      rm -rf "$base/work/new"
      check "$what: salvage" ends_with 4 "$cffs" salvage "$store" "$base/work/new"
      rm -rf "$base/work/new"
      check "$what: mount" ends_with 0 "$cffs" mount "$store" "$mnt"
      case $object in
        blobs/*) check "$what: the others are there" diff -r "$base/work/tree/sub" "$mnt/sub" ;;
        *) check "$what: the others are there" cmp "$base/work/tree/large" "$mnt/large" ;;
      esac
      check "$what: umount" ends_with 0 "$cffs" umount "$mnt"
      check "$what: compact" ends_with 0 "$cffs" compact "$store"
      check "$what: regroup" ends_with 0 "$cffs" regroup "$store" --policy=directory
      put_stranger
      check "$what: repair" ends_with 4 "$cffs" fsck --repair "$store"
      check "$what: again" ends_with 4 "$cffs" fsck --repair "$store"
      # What was there comes back when it is put back.
      rm -rf "${store:?}/$object"
      cp "$kept/$object" "$store/$object"
      check "$what: put back, nothing is lost" ends_with 0 "$cffs" fsck "$store"
      rm -rf "$base/work/new"
      check "$what: nor differs" bash -c "'$cffs' export '$store' '$base/work/new' && diff -r '$base/work/tree' '$base/work/new'"
    done
  done
  # Without these nothing is read: whoever is refused is told what to do, and then a repair brings all back.
  moved_away() { ! timeout 60 "$@" >"$base/work/said" 2>&1 && grep -q "$object.*: move it elsewhere" "$base/work/said" || { cat "$base/work/said"; return 1; }; }
  repaired() { local code=0; timeout 60 "$cffs" fsck --repair "$store" || code=$?; [ $code -le 1 ]; }
  for object in superblock table/CURRENT $(cd "$kept" && ls table/MANIFEST-* table/*.log); do
    for kind in directory link pipe device; do
      [ "$kind ${object##*.}" != "directory log" ] || continue  # no file of the table: it is missing
      what="a $kind in the place of ${object##*/}"
      put_stranger
      check "$what: fsck tells the cure" moved_away "$cffs" fsck "$store"
      check "$what: mount, too" moved_away "$cffs" mount "$store" "$mnt"
      check "$what: and repair" moved_away "$cffs" fsck --repair "$store"
      for then in "moved away" "what was there is back"; do
        put_stranger
        check "$what: a repair that ends early" moved_away "$cffs" fsck --repair "$store"
        rm -rf "${store:?}/$object"
        [ "$then" = "moved away" ] || cp "$kept/$object" "$store/$object"
        check "$what, $then: a repair ends" repaired
        check "$what, $then: the store is whole" ends_with 0 "$cffs" fsck "$store"
        rm -rf "$base/work/new"
        check "$what, $then: nothing differs" bash -c "'$cffs' export '$store' '$base/work/new' && diff -r '$base/work/tree' '$base/work/new'"
      done
    done
  done
}
