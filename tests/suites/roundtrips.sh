#!/usr/bin/env bash
# cp, tar, rsync, find, du and rm -rf: a tree with all that a tree can have goes in and comes out the same.
. "$(dirname "$0")/suite.sh" "$@"
require rsync tar setfacl getfacl setfattr setcap

make_tree() {  # directory
  local d=$1
  mkdir -p "$d/plain" "$d/sub dir/deep" "$d/sticky" "$d/group"
  cp -a "$source_tree/linux" "$d/plain/"
  echo one >"$d/a"; ln "$d/a" "$d/sub dir/hard"; ln -s ../a "$d/sub dir/soft"; ln -s /nowhere "$d/dangling"
  ln -s "$(printf 'x%.0s' $(seq 4000))" "$d/long target"
  : >"$d/empty"; mkfifo "$d/fifo"; mknod "$d/null" c 1 3; mknod "$d/block" b 7 99
  chmod 4755 "$d/a"; chmod 1777 "$d/sticky"; chmod 2775 "$d/group"; chgrp daemon "$d/group"
  setfattr -n user.colour -v blue "$d/a"; setfattr -n trusted.t -v 1 "$d/a"; setfattr -n user.big -v "$(printf 'v%.0s' $(seq 3000))" "$d/sticky"
  setfacl -m u:daemon:rwx,g:mail:r "$d/a" && setfacl -d -m u:nobody:rx "$d/sub dir"
  cp /bin/true "$d/capable" && setcap cap_net_raw+ep "$d/capable"
  truncate -s 20M "$d/sparse"; printf end | dd of="$d/sparse" bs=1 seek=15000000 conv=notrunc status=none
  head -c 3000000 /dev/urandom >"$d/large"; chown 1234:4321 "$d/large"
  touch -d '2001-02-03 04:05:06.123456789' "$d/large"; touch -d '1950-06-07' "$d/empty"; touch -d '2105-01-01 00:00:00.5' "$d/plain"
  touch -h -d '1999-12-31' "$d/dangling"
}
same_tree() { same_all "$1" "$2" -S --delete; }

case_trees() {
  fresh_mount || return 1
  local src=$base/work/src
  mkdir "$src" && make_tree "$src" || return 1
  check "cp -a" cp -a "$src" "$mnt/cp"
  check "cp -a is the same" same_tree "$src" "$mnt/cp"
  check "rsync -aHAXS" rsync -aHAXS --modify-window=-1 "$src/" "$mnt/rsync/"
  check "rsync is the same" same_tree "$src" "$mnt/rsync"
  check "tar in" bash -c "mkdir '$mnt/tar' && tar --xattrs --xattrs-include='*' --acls -S -C '$src' -cf - . | tar --xattrs --xattrs-include='*' --acls -C '$mnt/tar' -xpf -"
  check "tar is the same" same_tree "$src" "$mnt/tar"
  check "tar out and --compare" bash -c "tar --xattrs --acls -S -C '$mnt/cp' -cf '$base/work/out.tar' . && tar --xattrs --acls -C '$mnt/cp' --compare -f '$base/work/out.tar'"
  check "cp -a within" cp -a "$mnt/cp" "$mnt/again"
  check "cp -a within is the same" same_tree "$src" "$mnt/again"
  check "cp -a out" cp -a "$mnt/again" "$base/work/out"
  check "out is the same" same_tree "$src" "$base/work/out"
  check "find sees the same" bash -c "diff <(cd '$src' && find . -printf '%p %y %m %U %G %s %T@ %l %n\n' | grep -v ' d ' | sort) <(cd '$mnt/cp' && find . -printf '%p %y %m %U %G %s %T@ %l %n\n' | grep -v ' d ' | sort)"
  check "find -type, as ls knows it" bash -c "test \$(find '$mnt/cp' -type f | wc -l) = \$(find '$src' -type f | wc -l)"
  check "capabilities work" bash -c "getcap '$mnt/cp/capable' | grep -q cap_net_raw && '$mnt/cp/capable'"
  check "du: sparse is sparse" test "$(du -k "$mnt/cp/sparse" | cut -f1)" -lt 200
  # A file's blocks are what it holds: du of a tree of dense files is within their sizes, rounded up by one sector each.
  check "du of dense files" python3 - "$mnt/cp/plain" <<'PY'
import os, sys
size = blocks = n = 0
for d, _, names in os.walk(sys.argv[1]):
    for name in names:
        s = os.lstat(os.path.join(d, name))
        if s.st_mode & 0o170000 == 0o100000:
            size += s.st_size; blocks += s.st_blocks * 512; n += 1
assert size <= blocks <= size + 4096 * n, (size, blocks, n)
PY
  inodes() { df --output=iused "$mnt" | tail -n 1 | tr -d ' '; }
  check "df -i counts every file" test "$(inodes)" = "$(find "$mnt" -printf '%i\n' | sort -u | wc -l)"
  # A file keeps its number wherever its data goes.
  numbers() { ( cd "$mnt" && find . -printf '%i %p\n' | sort -k 2 ); }
  numbers >"$base/work/numbers"
  same_numbers() { numbers | diff "$base/work/numbers" -; }
  check "consolidation" "$cffs" compact "$mnt"
  check "inode numbers stay, consolidated" same_numbers
  for p in none reference directory; do
    check "regroup by $p" "$cffs" regroup --policy=$p "$mnt"
    check "inode numbers stay, regrouped by $p" same_numbers
  done
  mount_again
  for d in cp rsync tar again; do check "$d is the same after a remount" same_tree "$src" "$mnt/$d"; done
  check "inode numbers stay after a remount" same_numbers
  check "df -i after a remount" test "$(inodes)" = "$(find "$mnt" -printf '%i\n' | sort -u | wc -l)"
  check "rm -rf" rm -rf "$mnt/cp" "$mnt/rsync" "$mnt/tar" "$mnt/again"
  check "nothing is left" test "$(inodes)" = 1
  finish
}

run_cases trees --
