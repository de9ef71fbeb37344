# What comes in and goes out: trees, archives, copies of a store in use. Sourced by acceptance.sh.

case_import() {
  fresh || return 1
  check "import" "$cffs" import "$source_tree" "$store"
  check "fsck after import" "$cffs" fsck "$store"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "stat of a mount" "$cffs" stat "$mnt"
  local files objects
  files=$(stat_number "$mnt" files); objects=$(stat_number "$mnt" objects)
  check "at least 50 files an object ($files files, $objects objects)" test "$files" -ge $((50 * objects))
  check "diff -r through the mount" same "$source_tree" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  check "mount again" "$cffs" mount "$store" "$mnt"
  check "diff -r after remount" same "$source_tree" "$mnt"
  check "rsync sees no difference" same_all "$source_tree" "$mnt"
  kill_daemon
  check "mount after kill -9" "$cffs" mount "$store" "$mnt"
  check "diff -r after kill -9" same "$source_tree" "$mnt"
}

case_transfer() {
  take_down
  mkdir -p "$mnt"
  mkdir -p "$base/work/src/sub dir/deep"
  local src=$base/work/src
  cp -a "$source_tree/linux" "$src/linux" 2>/dev/null
  printf 'one' >"$src/a"; ln "$src/a" "$src/sub dir/hard link"; ln -s ../a "$src/sub dir/soft"; ln -s /nowhere "$src/dangling"
  : >"$src/empty"; mkfifo "$src/fifo"; mknod "$src/null" c 1 3; chmod 4755 "$src/a"; chmod 1777 "$src/sub dir"
  setfattr -n user.colour -v blue "$src/a"; setfattr -n user.dir -v x "$src/sub dir"
  truncate -s 20M "$src/sparse"; printf 'end' | dd of="$src/sparse" bs=1 seek=15000000 conv=notrunc status=none
  head -c 3000000 /dev/urandom >"$src/large"; chown 1234:4321 "$src/large"; touch -d '2001-02-03 04:05:06.789' "$src/large"
  touch -d '1999-01-01' "$src/sub dir" "$src"
  for kind in directory tar tar.gz tar.zst; do
    rm -rf "$store"; "$cffs" format "$store" || return 1
    local from=$src
    if [ $kind != directory ]; then
      from=$base/work/src.$kind
      tar --xattrs --format=pax -S -C "$src" -caf "$from" .
    fi
    check "import of a $kind" "$cffs" import "$from" "$store"
    check "fsck" "$cffs" fsck "$store"
    check "mount" "$cffs" mount "$store" "$mnt"
    check "same after import of a $kind" same_all "$src" "$mnt" --delete
    check "sparse stays sparse ($kind)" test "$(du -k "$mnt/sparse" | cut -f1)" -lt 1000
    if [ $kind = tar ]; then check "tar --compare" tar -C "$mnt" --compare -f "$from"; fi
    check "umount" "$cffs" umount "$mnt"
    rm -rf "$base/work/out"
    check "export" "$cffs" export "$store" "$base/work/out"
    check "same after export" same_all "$src" "$base/work/out" --delete
    check "exported sparse stays sparse" test "$(du -k "$base/work/out/sparse" | cut -f1)" -lt 1000
  done
  check "export of a subdirectory" "$cffs" export "$store:linux" "$base/work/linux"
  check "same subdirectory" same "$src/linux" "$base/work/linux"
  check "export to a tar" "$cffs" export "$store" "$base/work/out.tar.xz"
  rm -rf "$base/work/untarred"; mkdir "$base/work/untarred"
  check "untar" tar --xattrs -C "$base/work/untarred" -xpf "$base/work/out.tar.xz"
  check "same after tar" same_all "$src" "$base/work/untarred" --delete
  check "a second import has nothing to do" says "^imported 0 files, .* 0 B\$" "$cffs" import "$src" "$store"
  check "fsck after that" "$cffs" fsck "$store"
  mkdir "$base/work/twice" && echo first >"$base/work/twice/x" && tar -C "$base/work/twice" -cf "$base/work/twice.tar" .
  cp -r "$src/linux" "$base/work/twice/" && tar -C "$base/work/twice" -rf "$base/work/twice.tar" linux
  echo second >"$base/work/twice/x" && tar -C "$base/work/twice" -rf "$base/work/twice.tar" x
  check "a path twice in a tar: the later counts" bash -c "rm -rf '$store' '$base/work/out2'; '$cffs' format '$store' && '$cffs' import '$base/work/twice.tar' '$store' && '$cffs' export '$store' '$base/work/out2' && diff -r '$base/work/twice' '$base/work/out2'"
  check "tar from a pipe" bash -c "rm -rf '$store'; '$cffs' format '$store' && tar -C '$src/linux' -cf - . | '$cffs' import - '$store'"
}

# Archives that nobody would make by chance: a member that cannot be kept is named, the others are.
case_archives() {
  fresh || return 1
  check "the archives" python3 - "$base/work" <<'PY'
import io, sys, tarfile
work = sys.argv[1]
def add(tar, name, data=b'text', **attributes):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in attributes.items(): setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))
def sparse(tar, name, size, offset, data=b'late'):
    add(tar, name, (b'1\n%d\n%d\n' % (offset, len(data))).ljust(512, b'\0') + data,
        pax_headers={'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.name': name, 'GNU.sparse.realsize': str(size)})
with tarfile.open(work + '/odd.tar', 'w', format=tarfile.PAX_FORMAT) as tar:
    add(tar, 'first')
    add(tar, 'n' * 256)
    add(tar, 'n' * 255)
    add(tar, 'd/' + 'l' * 300, b'x' * 300000)
    add(tar, 'e' * 256, b'', type=tarfile.DIRTYPE)
    add(tar, 's' * 256, b'', type=tarfile.SYMTYPE, linkname='first')
    add(tar, 'g' * 256 + '/child')
    add(tar, 'link', b'', type=tarfile.SYMTYPE, linkname='/tmp')
    add(tar, 'link/child')
    add(tar, 'link/sub/child')
    add(tar, 'link/below', b'', type=tarfile.DIRTYPE)
    add(tar, 'other', b'', type=tarfile.LNKTYPE, linkname='link/child')
    sparse(tar, 'small-sparse', 10, 1 << 62)
    sparse(tar, 'large-sparse', 300000, 1 << 62)
    sparse(tar, 'past-its-end', 300000, 299999)
    sparse(tar, 'good-sparse', 300000, 299000)
    add(tar, 'last')
PY
  "$cffs" import "$base/work/odd.tar" "$store" >"$base/work/said" 2>&1
  check "the import ends with 1" test $? = 1
  named() { grep -Eq "$1" "$base/work/said" || { cut -c1-200 "$base/work/said"; return 1; }; }
  check "names that are too long" named "^cffs: .*'n{256}'.*File name too long"
  check "of large files" named "l{300}.*File name too long"
  check "of directories" named "e{256}.*File name too long"
  check "of links" named "s{256}.*File name too long"
  check "on the way" named "'g{256}/child'.*File name too long"
  check "a child of a link" named "^cffs: 'link/child': .*'link' is no directory"
  check "a small sparse file" named "^cffs: 'small-sparse': .*behind its end"
  check "a large one" named "^cffs: 'large-sparse': .*behind its end"
  check "one that goes too far" named "^cffs: 'past-its-end': .*behind its end"
  check "fsck" "$cffs" fsck "$store"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "the others are there, and nothing else" test "$(ls "$mnt" | cut -c1-20 | xargs)" = "d first good-sparse last link nnnnnnnnnnnnnnnnnnnn"
  check "each can be had" bash -c "cat '$mnt'/first '$mnt'/last '$mnt'/n* | grep -qx texttexttext && test \$(stat -c %s '$mnt/good-sparse') = 300000 && test \$(tail -c +299001 '$mnt/good-sparse' | head -c 4) = late"
  check "and removed" bash -c "rm -r '$mnt'/* && test -z \"\$(ls -A '$mnt')\" && test \$('$cffs' stat --json '$mnt' | grep -c '\"files\": 0') = 1"
  check "umount" "$cffs" umount "$mnt"
}

# Archives of other kinds, out and in; what cannot be made whole is not there under its name.
case_formats() {
  fresh || return 1
  mkdir "$base/work/tree" && cp -a "$source_tree/linux" "$base/work/tree/" || return 1
  ln -s linux/fs.h "$base/work/tree/link"
  : >"$base/work/tree/empty"
  chmod 600 "$base/work/tree/empty"
  head -c 3000000 /dev/urandom >"$base/work/tree/large"
  check "import" "$cffs" import "$base/work/tree" "$store"
  local format
  for format in zip cpio cpio.gz tar.bz2 tar.zst; do
    check "export as $format" "$cffs" export "$store" "$base/work/a.$format"
    rm -rf "$base/work/again" "$base/work/out"
    check "import of $format" bash -c "'$cffs' format '$base/work/again' && '$cffs' import '$base/work/a.$format' '$base/work/again'"
    check "export of that" "$cffs" export "$base/work/again" "$base/work/out"
    check "diff of $format" same "$base/work/tree" "$base/work/out"
    check "modes of $format" test "$(stat -c %a "$base/work/out/empty")" = 600
  done
  check "others read the zip" python3 -c "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; assert len(z.read('large')) == 3000000" "$base/work/a.zip"
  check "a cpio on standard input" bash -c "rm -rf '$base/work/again'; '$cffs' format '$base/work/again' && '$cffs' import - '$base/work/again' <'$base/work/a.cpio'"
  check "archives that are not written" refused "archives are written as .tar or .cpio.*put a / behind it" "$cffs" export "$store" "$base/work/a.7z"
  check "nothing is there by that name" test ! -e "$base/work/a.7z"
  check "but a directory, where it is said to be one" bash -c "'$cffs' export '$store' '$base/work/dir.zip/' && test -d '$base/work/dir.zip'"
  mkfifo "$base/work/tree/pipe"
  ln "$base/work/tree/empty" "$base/work/tree/second"
  rm -rf "$base/work/again"
  check "a pipe and a hard link" bash -c "'$cffs' format '$base/work/again' && '$cffs' import '$base/work/tree' '$base/work/again'"
  check "what a zip cannot have is told" says "'pipe'.*it was left out" "$cffs" export "$base/work/again" "$base/work/b.zip"
  check "and the rest is there" python3 -c "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; assert {'second', 'empty', 'large'} <= set(z.namelist()), z.namelist()[:5]" "$base/work/b.zip"
  mkdir -p "$base/disk" && mount -t tmpfs -o size=1M none "$base/disk" || return 1
  echo before >"$base/disk/a.tar"
  check "a full disk ends an export" refused "No space left on device" "$cffs" export "$store" "$base/disk/a.tar"
  check "what was there is as it was" grep -qx before "$base/disk/a.tar"
  check "and nothing else is" test "$(ls "$base/disk")" = a.tar
  umount "$base/disk"
}

# Imports into what is there already: what is the same stays, what differs is refused or replaced, what is gone may go.
case_moving() {
  local src=$base/work/src out=$base/work/out mode
  fresh --dedupe --compress=zstd || return 1
  mkdir "$src" && cp -a "$source_tree/linux" "$source_tree/asm-generic" "$src/" 2>/dev/null
  mkdir "$src/c" && echo hi >"$src/c/x" && ln -s x "$src/c/l" && ln "$src/c/x" "$src/c/hard" && head -c 3000000 /dev/urandom >"$src/large"
  # Killed in the middle, and again: it goes on.
  local i
  for i in 1 2 3; do
    { timeout --foreground -s KILL 0.0$((i * 3)) "$cffs" import "$src" "$store"; } >/dev/null 2>&1
    flock --wait 30 "$lock" true
  done
  check "an import that was killed goes on" "$cffs" import "$src" "$store"
  check "fsck" "$cffs" fsck "$store"
  check "export" "$cffs" export "$store" "$out"
  check "diff" same "$src" "$out"

  echo more >>"$src/c/x" && touch -d 2020-01-01 "$src/linux/fs.h" && chmod 600 "$src/linux/if.h"
  rm "$src/large" && mkdir "$src/large" && echo a >"$src/large/a"
  rm -r "$src/c/l" "$src/linux/can" && ln -s y "$src/c/l" && echo new >"$src/new" && echo file >"$src/linux/can"
  check "what differs is refused" says "'linux/fs.h' is already in the store, and differs" "$cffs" import "$src" "$store"
  check "and named with its path" says "'linux/can' is a directory in the store; --update --delete replaces it" "$cffs" import "$src" "$store"
  check "--update replaces it" says "4 replaced others" "$cffs" import --update "$src" "$store"
  check "--delete takes away the rest" "$cffs" import --update --delete "$src" "$store"
  check "fsck after that" "$cffs" fsck "$store"
  rm -rf "$out"
  check "export after that" "$cffs" export "$store" "$out"
  check "diff after that" same "$src" "$out"
  check "modes and links" test "$(stat -c %a "$out/linux/if.h") $(stat -c %h "$out/c/x")" = "600 2"
  check "nothing is left to do" says "^imported 0 files, 0 directories, 0 symlinks, 0 hard links" "$cffs" import --update --delete "$src" "$store"
  touch -r "$src/c/x" "$base/work/then" && printf 'hi\nMORE\n' >"$src/c/x" && touch -r "$base/work/then" "$src/c/x"
  check "size and time tell nothing of it" says "of these 0 replaced others" "$cffs" import --update "$src" "$store"
  check "--checksum does" says "of these 2 replaced others" "$cffs" import --update --checksum "$src" "$store"

  check "into a directory, without some" "$cffs" import --to=sub/dir "--exclude=*.h" --exclude=/c/ "$src" "$src/c" "$store"
  check "which are not there" test -z "$("$cffs" find "$store:sub/dir" -name '*.h' -o -name c)"
  check "--delete leaves what is left out" "$cffs" import --update --delete --to=sub/dir "--exclude=*.h" --exclude=/x --exclude=/hard --exclude=/l --exclude=/c "$src" "$store"
  check "so it is there" test "$("$cffs" cat "$store:sub/dir/hard")" = "$(cat "$src/c/hard")"
  mkdir -p "$base/work/a/old/deep" "$base/work/b" && echo keep >"$base/work/a/old/deep/x.keep" && echo go >"$base/work/a/old/y"
  check "import of a tree" "$cffs" import --to=kept "$base/work/a" "$store"
  check "of which all goes" "$cffs" import --update --delete "--exclude=*.keep" --to=kept "$base/work/b" "$store"
  check "but what is left out" test "$("$cffs" find "$store:kept" -type f)" = "$store:kept/old/deep/x.keep"
  # A name that only looks like a temporary is somebody's (what killed imports leave: left_over_test.cc).
  mkdir "$base/work/left" && echo another >"$base/work/left/.cffs-import-1-0" && echo mine >"$base/work/left/.cffs-import-mine" && echo old >"$base/work/left/x"
  check "import of what was left" "$cffs" import --to=left "$base/work/left" "$store"
  echo newer >"$base/work/left/x" && tar -C "$base/work/left" -cf "$base/work/x.tar" x && chmod 750 "$base/work/left"
  check "an archive replaces a file" says "of these 1 replaced others" "$cffs" import --update --to=left "$base/work/x.tar" "$store"
  check "by its own content" test "$("$cffs" cat "$store:left/x")" = newer
  check "what is somebody's is there" test "$("$cffs" ls -A "$store:left" | xargs)" = ".cffs-import-1-0 .cffs-import-mine x"
  tar -C "$src" -cf "$base/work/part.tar" linux/fs.h
  "$cffs" import --to=modes "$src" "$store" >/dev/null && mode=$("$cffs" ls -ld "$store:modes/linux")
  check "an archive without a directory leaves it as it is" bash -c "'$cffs' import --to=modes '$base/work/part.tar' '$store' && test \"\$('$cffs' ls -ld '$store:modes/linux')\" = '$mode'"
  # A large file is there whole, or not.
  mkdir "$base/work/big" && head -c 60000000 /dev/urandom >"$base/work/big/file"
  for i in 1 3 5 8 12; do
    rm -rf "$base/work/half"
    "$cffs" format "$base/work/half" >/dev/null
    { timeout --foreground -s KILL 0.$(printf %02d $i) "$cffs" import "$base/work/big" "$base/work/half"; } >/dev/null 2>&1
    flock --wait 30 "$base/work/half/lock" true
    check "after a kill at $i" bash -c "'$cffs' import '$base/work/big' '$base/work/half' && '$cffs' cat '$base/work/half:file' | cmp - '$base/work/big/file' && '$cffs' fsck '$base/work/half'"
  done
  mkdir "$base/work/outer" && "$cffs" format "$base/work/outer/store" >/dev/null
  check "a store in its own source" refused "lies in .*--exclude=/store" "$cffs" import "$base/work/outer" "$base/work/outer/store"
  check "left out" "$cffs" import --exclude=/store "$base/work/outer" "$base/work/outer/store"

  ln -s /tmp "$src/away" && "$cffs" import "$src" "$store" >/dev/null
  check "no link is followed into the store" refused "'away' in the store is no directory" "$cffs" import --to=away/x "$src" "$store"
  check "no way up into a store" refused "'../x': name the directory from the root on, without '\.\.'" "$cffs" import --to=../x "$src" "$store"
  check "behind a colon neither" refused "'../x': name the directory from the root on" "$cffs" import "$src" "$store:../x"
  check "and out of one" refused "'\.\.': name what is in the store from its root on, without '\.\.'" "$cffs" export "$store:.." "$base/work/up"
  check "--delete alone" refused "goes with --update" "$cffs" import --delete "$src" "$store"
  mkdir -p "$base/work/full/d" "$base/work/incr/d" && echo full >"$base/work/full/d/f" && echo later >"$base/work/incr/d/f"
  touch -d 2020-01-01 "$base/work/full/d/f" && tar -cf "$base/work/full.tar" -C "$base/work/full" d && tar -cf "$base/work/incr.tar" -C "$base/work/incr" d
  for i in 1 2; do
    check "two sources that have a file" "$cffs" import --update --to=two "$base/work/full.tar" "$base/work/incr.tar" "$store"
    check "of which the later counts" test "$("$cffs" cat "$store:two/d/f")" = later
  done
  check "--delete of two sources" refused "is for one source" "$cffs" import --update --delete "$src" "$src/c" "$store"
  chmod 0 "$src/linux/netfilter"
  check "what cannot be read takes nothing away" bash -c "setpriv --reuid 65534 --clear-groups true 2>/dev/null || exit 0; cp -a '$store' '$base/work/theirs' && chown -R 65534 '$base/work/theirs' && ! setpriv --reuid 65534 --clear-groups '$cffs' import --update --delete '$src' '$base/work/theirs' 2>/dev/null; '$cffs' --version >/dev/null && test -n \"\$('$cffs' ls --foreign-owner '$base/work/theirs:linux/netfilter')\""
  chmod 755 "$src/linux/netfilter"

  [ -d "$store" ] || return 0
  mkdir -p "$base/disk" && truncate -s 100M "$base/work/disk.img" && mkfs.ext4 -q "$base/work/disk.img" && mount -o loop "$base/work/disk.img" "$base/disk" || return 1
  mkdir "$base/work/many" && for i in $(seq 400); do head -c 400000 /dev/urandom >"$base/work/many/$i"; done
  check "a store on a small disk" "$cffs" format "$base/disk/store"
  check "a full disk ends it" says "there is no more room: the import ended here" "$cffs" import "$base/work/many" "$base/disk/store"
  check "with a store that is whole" "$cffs" fsck "$base/disk/store"
  check "in which each file is whole" bash -c "'$cffs' export '$base/disk/store' '$base/work/some' && cd '$base/work/some' && ls | while read -r f; do cmp \"\$f\" \"$base/work/many/\$f\" || exit 1; done"
  umount "$base/disk"
}

# A number of a backup's report.
reported() { python3 -c "import json,sys; print(json.load(open('$base/work/report'))['$1'])"; }
backup() { "$cffs" backup --json "$mnt" "$@" >"$base/work/report"; }

# Where the file system below can share blocks, a copy costs no room, and is apart all the same.
backup_by_clones() {
  which mkfs.btrfs >/dev/null || return 0
  local disk=$base/disk out=$base/work/cloned before
  mkdir -p "$disk" && truncate -s 600M "$base/work/disk.img" && mkfs.btrfs -q "$base/work/disk.img" && mount -o loop "$base/work/disk.img" "$disk" || return 1
  "$cffs" format "$disk/store" && "$cffs" mount --quiet=0.2 "$disk/store" "$mnt" && head -c 60000000 /dev/urandom >"$mnt/large" || return 1
  before=$(sha256sum <"$mnt/large")
  backup "$disk/copy" && [ "$(reported objects_shared)" = 1 ] && [ "$(reported bytes)" -lt 1000000 ] || return 1
  dd if=/dev/zero of="$mnt/large" bs=1M count=1 seek=5 conv=notrunc status=none
  "$cffs" fsck "$disk/copy" && "$cffs" export "$disk/copy" "$out" && [ "$before" = "$(sha256sum <"$out/large")" ]
}

# Holds what writers left in a copy against what they wrote.
one_moment() {  # store
  rm -rf "$base/work/out"
  "$cffs" fsck "$1" && "$cffs" export "$1" "$base/work/out" || return 1
  local writer
  for writer in 1 2 3; do "$history" check "$base/work/out/$writer" || return 1; done
}

case_backup() {
  local history copy=$base/work/copy writer
  history=$(realpath "$(dirname "$0")")/history.py
  fresh -- --quiet=0.2 || return 1
  check "files" cp -a "$source_tree/linux" "$mnt"
  for writer in 1 2 3; do mkdir "$mnt/$writer"; done
  for writer in 1 2 3; do "$history" write "$mnt/$writer" 12 >"$base/work/steps.$writer" & done
  for _ in $(seq 300); do [ "$(ls -d "$mnt"/[123]/mark.* 2>/dev/null | wc -l)" = 3 ] && break; sleep 0.1; done  # their files are there
  local round
  for round in 1 2 3 4 5 6; do
    check "backup $round beside writers" backup "$copy"
    check "all that had been there ($round)" test "$(reported damaged)" = 0
    check "is one moment of the store ($round)" one_moment "$copy"
  done
  check "an export of the mount is one, too" bash -c "'$cffs' export '$mnt' '$base/work/exported' && for w in 1 2 3; do '$history' check '$base/work/exported/'\$w || exit 1; done"
  wait
  for writer in 1 2 3; do check "writers went on" test "$(cat "$base/work/steps.$writer")" -gt 100; done
  check "nothing is held any more" bash -c "! find '$store/held' -type f 2>/dev/null | grep ."

  for _ in $(seq 100); do [ "$(stat_number "$mnt" staged_directories)" = 0 ] && break; sleep 0.1; done
  check "a backup of what rests" backup "$copy"
  check "another one" backup "$copy"
  check "copies no object" test "$(reported objects_copied)" = 0
  check "and little else" test "$(reported bytes)" -lt 5000000
  check "changes of large files waited a moment" test "$(reported paused_us)" -lt 1000000
  check "the copy is the tree" bash -c "rm -rf '$base/work/out' && '$cffs' export '$copy' '$base/work/out' && diff -r '$base/work/out' '$mnt'"
  check "nothing lies beside it" test "$(ls -A "$base/work" | grep -c '^\.')" = 0

  check "a place in the mount is refused" refused "is in the mount .* itself; name a place outside" "$cffs" backup "$mnt" "$mnt/1/copy"
  check "one in the store" refused "is in the store .*; name a place outside" "$cffs" backup "$mnt" "$store/copy"
  check "the store" refused "is the store itself" "$cffs" backup "$mnt" "$store"
  check "another directory" refused "is there and is no backup: name a place that does not exist" "$cffs" backup "$mnt" "$base/work/out"
  mkdir "$base/work/tiny" && mount -t tmpfs -o size=4m tmpfs "$base/work/tiny"
  check "a place that is full is told" refused "No space left" "$cffs" backup "$mnt" "$base/work/tiny/copy"
  check "also to who asks later" bash -c "'$cffs' backup --status '$mnt' >/dev/null 2>'$base/work/err'; test \$? = 8 && grep -q 'No space left' '$base/work/err'"
  check "and empty again" test "$(ls -A "$base/work/tiny" | wc -l)" = 0
  umount "$base/work/tiny"

  head -c 8000000 /dev/urandom >"$mnt/large"
  check "a slow one" bash -c "timeout 1 '$cffs' backup --rate=1M '$mnt' '$copy'; test \$? = 124"
  check "goes on without its command" bash -c "'$cffs' backup --status '$mnt' | grep -q ' running, '"
  check "is refused a second time" refused "a backup of .* is under way" "$cffs" backup "$mnt" "$copy"
  check "can be stopped" bash -c "'$cffs' backup --stop '$mnt'; test \$? = 8"
  check "the one before is whole" "$cffs" fsck "$copy"
  timeout 1 "$cffs" backup --rate=1M "$mnt" "$copy" >/dev/null
  rm "$mnt/large"
  kill_daemon
  check "so it is after a kill" "$cffs" fsck "$copy"
  check "and so is the store" "$cffs" mount --quiet=0.2 "$store" "$mnt"
  check "which holds nothing" bash -c "! find '$store/held' -type f 2>/dev/null | grep ."
  check "the next one clears away" backup "$copy"
  check "what was left" test "$(ls -A "$base/work" | grep -c '^\.')" = 0
  head -c 8000000 /dev/urandom >"$mnt/large"
  timeout 1 "$cffs" backup --rate=1M "$mnt" "$copy" >/dev/null
  check "does not keep a mount" timeout 20 "$cffs" umount "$mnt"
  check "the one before is whole" "$cffs" fsck "$copy"
  check "of a store that is not mounted" "$cffs" backup "$store" "$copy"
  check "the copy is a store" "$cffs" mount "$copy" "$mnt"
  check "that can be changed" bash -c "echo mine >'$mnt/1/small' && cmp '$mnt/large' '$mnt/large'"
  check "and is not replaced while it is used" refused "in use by pid" "$cffs" backup "$store" "$copy"
  check "umount" "$cffs" umount "$mnt"
  check "nor afterwards" refused "was written to since it was made" "$cffs" backup "$store" "$copy"

  local blob
  blob=$(find "$store/blobs" -type f -size +7M)
  check "mount" "$cffs" mount --quiet=0.2 "$store" "$mnt"
  touch "$mnt/now"
  check "checksums" "$cffs" scrub --rate=0 "$mnt"
  sleep 11
  check "of quiet files" "$cffs" scrub --anew --rate=0 "$mnt"
  printf '\377\376\375' | dd of="$blob" bs=1 seek=3000000 conv=notrunc status=none
  check "rot is named, with status 4" bash -c "'$cffs' backup '$mnt' '$base/work/rotten' >'$base/work/said'; r=\$?; cat '$base/work/said'; test \$r = 4 && grep -q '^large (inode .* in bytes 2998272' '$base/work/said'"
  check "and told by the copy, too" bash -c "'$cffs' fsck '$base/work/rotten' | grep -q 'bytes 2998272'"
  check "umount" "$cffs" umount "$mnt"
  check "a file system that shares blocks" backup_by_clones
  if mountpoint -q "$base/disk"; then check "umount" "$cffs" umount "$mnt"; umount "$base/disk"; fi
  check "mount for all" bash -c "'$cffs' mount -o allow_other '$store' '$mnt'"
  check "nobody else may ask for one" bash -c "! setpriv --reuid=65534 --regid=65534 --clear-groups setfattr -n user.cffs.backup -v '{\"place\":\"$base/work/theirs\"}' '$mnt' && ! test -e '$base/work/theirs'"
  check "mount read-only" bash -c "'$cffs' umount '$mnt' && '$cffs' mount -o ro '$store' '$mnt'"
  check "a backup of that" bash -c "'$cffs' backup '$mnt' '$base/work/of-ro'; test \$? = 4"
  check "an export of that" bash -c "'$cffs' export '$mnt:1' '$base/work/ro-out' && diff -r '$mnt/1' '$base/work/ro-out'"
  check "umount" "$cffs" umount "$mnt"
  check "a mount that becomes read-only" bash -c "'$cffs' mount '$store' '$mnt' && '$cffs' mount -o remount,ro '$store' '$mnt'"
  check "cannot be asked for a backup" refused "was made read-only by a remount.* cffs mount -o remount,rw" "$cffs" backup "$mnt" "$base/work/of-remounted"
  check "nor for an export" refused "was made read-only by a remount.* cffs mount -o remount,rw" "$cffs" export "$mnt:1" "$base/work/remounted-out"
  check "until it is writable again" bash -c "'$cffs' mount -o remount,rw '$store' '$mnt' && '$cffs' export '$mnt:1' '$base/work/remounted-out' && diff -r '$mnt/1' '$base/work/remounted-out'"
  check "umount" "$cffs" umount "$mnt"
}

# A whole store to other backends and back; again, and only what differs is written; cut in the middle; what must not be overwritten.
case_copy() {
  fresh -- --policy=directory || return 1
  cp -r "$source_tree/linux" "$mnt/"
  truncate -s 20M "$mnt/sparse"; printf end | dd of="$mnt/sparse" bs=1 seek=15000000 conv=notrunc status=none
  head -c 9000000 /dev/urandom >"$mnt/large"
  check "a store in use" refused 'is in use by' "$cffs" copy "$store" "$base/work/copy"
  check "umount" "$cffs" umount "$mnt"
  check "small files in composites" "$cffs" compact "$store"
  rm -rf "$base/work/copy"
  check "onto itself" refused 'is the store itself; name another place' "$cffs" copy "$store" "$store"
  ln -s "$store" "$base/work/link"
  check "by another name" refused 'is the store itself; name another place' "$cffs" copy "$store" "$base/work/link"
  check "into itself" refused "lies in the store .*; name a place outside" "$cffs" copy "$base/work/link" "$store/copy"
  check "where it made nothing" test ! -e "$store/copy"
  check "to a directory" "$cffs" copy "$store" "$base/work/copy"
  check "which is whole" "$cffs" fsck "$base/work/copy"
  check "an image that cannot be so large" refused 'File too large' bash -c "trap '' XFSZ; ulimit -f 1000; exec '$cffs' copy --size=512M '$base/work/copy' '$base/work/copy.img'"
  check "is not in the way of the next" test ! -e "$base/work/copy.img"
  check "to an image" "$cffs" copy --size=512M "$base/work/copy" "$base/work/copy.img"
  check "which is whole, too" "$cffs" fsck "$base/work/copy.img"
  check "and back" "$cffs" copy "$base/work/copy.img" "$base/work/again"
  check "mount" "$cffs" mount "$base/work/again" "$mnt"
  check "all files are there" same "$source_tree/linux" "$mnt/linux"
  check "holes stay holes" test "$(du -k "$mnt/sparse" | cut -f1)" -lt 1000
  echo more >"$mnt/more"
  check "umount" "$cffs" umount "$mnt"
  check "again writes little" sh -c "'$cffs' copy '$base/work/again' '$base/work/copy' | grep -Eq ' [0-9]+ of them written, [0-9.]+ [K]?B;'"
  check "whole" "$cffs" fsck "$base/work/copy"
  check "mount the copy" "$cffs" mount "$base/work/copy" "$mnt"
  check "what was new is there" grep -qx more "$mnt/more"
  check "umount" "$cffs" umount "$mnt"
  "$cffs" format "$base/work/other"
  check "another store stays" refused 'is another store, or a copy of one; name another place' "$cffs" copy "$base/work/copy" "$base/work/other"
  mkdir "$base/work/foreign" && echo mine >"$base/work/foreign/file"
  check "what is no store stays" refused 'holds something that is no store' "$cffs" copy "$base/work/copy" "$base/work/foreign"
  check "not onto itself" sh -c "! '$cffs' copy '$base/work/copy' '$base/work/copy'"
  check "no store" refused 'is no cffs store' "$cffs" copy "$base/work/foreign" "$base/work/new"
  # Killed at some moment of it: no store until the next run has gone on.
  rm -rf "$base/work/cut"
  "$cffs" copy "$base/work/copy" "$base/work/cut" >/dev/null & local copying=$!
  until [ -e "$base/work/cut/copying" ] || ! kill -0 $copying 2>/dev/null; do :; done
  kill -9 $copying 2>/dev/null; wait $copying 2>/dev/null
  if [ -e "$base/work/cut/copying" ]; then check "half a copy is no store" sh -c "! '$cffs' mount '$base/work/cut' '$mnt'"; fi
  check "the next run goes on" "$cffs" copy "$base/work/copy" "$base/work/cut"
  check "and ends" "$cffs" fsck "$base/work/cut"
  # Rot in the copy is mended by the next one.
  local ldb
  ldb=$(find "$base/work/cut" -path '*composites*' -type f | head -n 1)
  printf 'rotten' | dd of="$ldb" bs=1 seek=5000 conv=notrunc status=none
  check "rot in it is noticed" sh -c "! '$cffs' fsck '$base/work/cut'"
  check "the next copy mends it" "$cffs" copy "$base/work/copy" "$base/work/cut"
  check "whole again" "$cffs" fsck "$base/work/cut"
}
