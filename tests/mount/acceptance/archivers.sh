# Archives that other archivers read and write: what GNU tar, bsdtar, cpio, zip and unzip make of ours, and we of theirs. Sourced by acceptance.sh.

lists_of() { (cd "$1" && getfacl --recursive --numeric --absolute-names . 2>/dev/null); }  # directory
# An archive comes into a store of its own, and goes out to a directory.
through() {  # archive directory
  rm -rf "$base/work/through" "$2"
  "$cffs" format "$base/work/through" && "$cffs" import "$1" "$base/work/through"; "$cffs" export "$base/work/through" "$2"
}

lists_and_attributes() {
  local src=$base/work/lists file kind
  umask 022
  mkdir -p "$src/dir"
  for file in named narrow shut; do echo $file >"$src/$file"; done
  head -c 400000 /dev/urandom >"$src/large"
  setfacl -m u:daemon:r,g:1234:rwx "$src/named" && setfacl -m u:daemon:---,u:1235:rw "$src/shut" || return 0
  setfacl -m u:daemon:rwx "$src/narrow" && chmod 600 "$src/narrow"
  setfacl -m u:daemon:rw,g::rwx,m::r "$src/large"
  setfacl -m u:daemon:rwx,d:u:daemon:rx,d:g:1234:--- "$src/dir"
  setfattr -n user.colour -v blue "$src/named" && setfattr -n "user.50%3D=ü b" -v odd "$src/named"
  lists_of "$src" >"$base/work/lists.before"
  rm -rf "$base/work/listed"
  check "a store with lists" bash -c "'$cffs' format '$base/work/listed' && '$cffs' import '$src' '$base/work/listed' && '$cffs' export '$base/work/listed' '$base/work/listed.tar'"
  mkdir "$base/work/gnu" "$base/work/plain"
  check "GNU tar says nothing of our tar" test -z "$(tar --acls --xattrs -xpf "$base/work/listed.tar" -C "$base/work/gnu" 2>&1)"
  for file in named shut dir; do
    check "the list of $file is there by GNU tar" diff <(cd "$src" && getfacl -n $file) <(cd "$base/work/gnu" && getfacl -n $file)
  done
  check "what they allow, too" diff <(lists_of "$src" | grep -v ^group::) <(lists_of "$base/work/gnu" | grep -v ^group::)
  check "without --acls no mode is wider than the group's right" bash -c "tar -xpf '$base/work/listed.tar' -C '$base/work/plain' && test \"\$(cd '$base/work/plain' && stat -c %a named narrow shut large dir | xargs)\" = '644 600 644 644 755'"
  check "our own tar comes back" through "$base/work/listed.tar" "$base/work/ours"
  check "and each attribute, once" test "$(cd "$base/work/ours" && getfattr -d named)" = "$(cd "$src" && getfattr -d named)"
  check "to the letter" diff "$base/work/lists.before" <(lists_of "$base/work/ours")
  tar --acls --xattrs -C "$src" -cf "$base/work/gnu.tar" . && through "$base/work/gnu.tar" "$base/work/ours" >/dev/null 2>&1
  check "GNU tar's lists are kept" diff "$base/work/lists.before" <(lists_of "$base/work/ours")
  check "and its attributes" test "$(cd "$base/work/ours" && getfattr --only-values -n user.colour named)" = blue
  if which bsdtar >/dev/null; then
    bsdtar --acls --xattrs --format=pax -C "$src" -cf "$base/work/bsd.tar" . && through "$base/work/bsd.tar" "$base/work/ours" >/dev/null 2>&1
    check "bsdtar's attributes are" test "$(cd "$base/work/ours" && getfattr -d named)" = "$(cd "$src" && getfattr -d named)"
    check "bsdtar's lists are kept" diff "$base/work/lists.before" <(lists_of "$base/work/ours")
    mkdir "$base/work/bsd" && bsdtar --acls --xattrs -C "$base/work/bsd" -xpf "$base/work/listed.tar"
    check "and bsdtar keeps ours" diff <(lists_of "$src" | grep -v ^group::) <(lists_of "$base/work/bsd" | grep -v ^group::)
  fi
  check "whatever their names" test "$(cd "$base/work/ours" && getfattr --only-values -n "user.50%3D=ü b" named)" = odd
  tar --acls -C "$src" -cf "$base/work/gnu.tar" . && through "$base/work/gnu.tar" "$base/work/ours" >/dev/null 2>&1
  check "by name, too" diff "$base/work/lists.before" <(lists_of "$base/work/ours")
  # A name that this machine does not have, and a list that nobody can read.
  sed 's/user:daemon:r--/user:nobdyy:r--/' "$base/work/gnu.tar" >"$base/work/stranger.tar"
  check "who is not known here is named" says "'./named': its access control list names the user 'nobdyy', whom nobody knows here" through "$base/work/stranger.tar" "$base/work/ours"
  check "and the others stay" bash -c "cd '$base/work/ours' && getfacl -n named 2>/dev/null | grep -qx group:1234:rwx && ! getfacl -n named | grep -q ^user:.*r--\$"
  sed 's/user:daemon:---/user:daemon:!!!/' "$base/work/gnu.tar" >"$base/work/broken.tar"
  check "a list that is none is named" says "'./shut': its access control list cannot be kept; it is its owner's alone" through "$base/work/broken.tar" "$base/work/ours"
  check "and so it is" test "$(stat -c %a "$base/work/ours/shut")" = 600
  for kind in zip cpio; do
    check "what a $kind leaves out is told, and counted" says "5 files have extended attributes or access control lists, which this kind of archive cannot have; a tar has them" "$cffs" export "$base/work/listed" "$base/work/listed.$kind"
  done
  check "of a tar nothing is" test -z "$("$cffs" export "$base/work/listed" "$base/work/again.tar" 2>&1 | grep attributes)"
  through "$base/work/listed.cpio" "$base/work/ours" >/dev/null 2>&1
  check "a cpio makes no right wider" test "$(stat -c %a "$base/work/ours/named" "$base/work/ours/narrow" | xargs)" = "644 600"
}

holes() {
  local src=$base/work/holes name kind
  mkdir "$src" && truncate -s 10G "$src/ten" && printf middle | dd of="$src/ten" bs=1 seek=5000000000 conv=notrunc status=none
  truncate -s 5M "$src/empty" && head -c 400000 /dev/urandom >"$src/full" && truncate -s 3M "$src/full" && truncate -s 9M "$src/late" && echo end >>"$src/late"
  check "a store with holes" bash -c "'$cffs' format '$base/work/holed' && '$cffs' import '$src' '$base/work/holed'"
  check "its tar" timeout 60 "$cffs" export "$base/work/holed" "$base/work/holed.tar"
  check "has no more than the data" test "$(stat -c %s "$base/work/holed.tar")" -lt 600000
  mkdir "$base/work/by-tar" && tar -C "$base/work/by-tar" -xf "$base/work/holed.tar"
  check "GNU tar finds the holes" test "$(du -k "$base/work/by-tar" | tail -1 | cut -f1)" -lt 1000
  check "and the data" diff <(cd "$src" && cmp_of) <(cd "$base/work/by-tar" && cmp_of)
  check "through our own tar" through "$base/work/holed.tar" "$base/work/by-us"
  check "they stay" test "$(du -k "$base/work/by-us" | tail -1 | cut -f1)" -lt 1000
  check "as does the data" diff <(cd "$src" && cmp_of) <(cd "$base/work/by-us" && cmp_of)
  tar -C "$src" -S -cf "$base/work/gnu-holes.tar" .
  rm "$src/ten"
  tar -C "$src" -cf "$base/work/zeros.tar" .
  which cpio >/dev/null && (cd "$src" && find . | cpio --quiet -o -H newc >"$base/work/zeros.cpio")
  which zip >/dev/null && (cd "$src" && zip -qr "$base/work/zeros.zip" .)
  for kind in gnu-holes.tar zeros.tar zeros.cpio zeros.zip; do
    [ -e "$base/work/$kind" ] || continue
    check "through $kind" through "$base/work/$kind" "$base/work/by-us"
    check "holes are there, by $kind" test "$(du -k "$base/work/by-us" | tail -1 | cut -f1)" -lt 1000
    for name in empty full late; do check "$name of $kind" cmp "$src/$name" "$base/work/by-us/$name"; done
  done
}
cmp_of() {  # what has data, without reading what has none
  stat -c '%n %s' * && cat empty full late | cksum && [ ! -e ten ] || dd if=ten bs=1M skip=4768 count=2 status=none | cksum
}

# cpio has the data of several names with the last of them (newc), or with each (odc).
names_of_cpio() {
  which cpio >/dev/null || return 0
  local src=$base/work/names kind
  mkdir -p "$src/sub" && echo small >"$src/a" && head -c 400000 /dev/urandom >"$src/large" && : >"$src/none" && ln -s a "$src/soft"
  ln "$src/a" "$src/sub/b" && ln "$src/a" "$src/z" && ln "$src/large" "$src/sub/huge" && ln "$src/none" "$src/sub/none" && ln "$src/soft" "$src/sub/soft"
  for kind in newc odc crc; do
    (cd "$src" && find . | LC_ALL=C sort | cpio --quiet -o -H $kind >"$base/work/names.cpio")
    check "a cpio ($kind)" through "$base/work/names.cpio" "$base/work/named"
    check "each file is there ($kind)" same "$src" "$base/work/named"
    check "with all of its names ($kind)" test "$(cd "$base/work/named" && stat -c %h a sub/b z large none soft | xargs)" = "3 3 3 2 2 2"
  done
  (cd "$src" && printf 'a\na\nsub/b\n' | cpio --quiet -o -H newc >"$base/work/names.cpio")
  check "a name that comes twice" through "$base/work/names.cpio" "$base/work/named"
  check "is there with its data" bash -c "cmp '$src/a' '$base/work/named/a' && cmp '$src/a' '$base/work/named/sub/b'"
  (cd "$src" && find . | LC_ALL=C sort | cpio --quiet -o -H newc >"$base/work/names.cpio")
  rm -rf "$base/work/through" "$base/work/named"
  check "without the first name" bash -c "'$cffs' format '$base/work/through' && '$cffs' import --exclude=/a '$base/work/names.cpio' '$base/work/through' && '$cffs' export '$base/work/through' '$base/work/named' && cmp '$src/a' '$base/work/named/z' && test ! -e '$base/work/named/a'"
}

times() {
  local src=$base/work/times kind
  mkdir "$src" && touch -d '1950-01-01 UTC' "$src/early" && touch -d '2150-01-01 UTC' "$src/late" && touch -d '1975-01-01 UTC' "$src/usual" && touch -d '2100-01-01 UTC' "$src/far"
  "$cffs" format "$base/work/timed" && "$cffs" import "$src" "$base/work/timed" >/dev/null
  for kind in zip cpio; do
    check "what a $kind cannot have is told, and counted" says "the times of 2 files are before 1970 or after 2106, which this kind of archive cannot have, and became the nearest that fit" "$cffs" export "$base/work/timed" "$base/work/timed.$kind"
    check "through it" through "$base/work/timed.$kind" "$base/work/out-of-time"
    check "they are the nearest ($kind)" test "$(cd "$base/work/out-of-time" && stat -c %Y early usual far late | xargs)" = "0 157766400 4102444800 4294967295"
  done
  check "a tar has all" bash -c "test -z \"\$('$cffs' export '$base/work/timed' '$base/work/timed.tar' 2>&1 | grep times)\""
  check "a tar of other centuries" python3 -c "
import sys, tarfile
with tarfile.open(sys.argv[1], 'w', format=tarfile.PAX_FORMAT) as tar:
    for name, time in ('past', -10**11), ('future', 10**11), ('now', 10**9):
        info = tarfile.TarInfo(name); info.mtime = time; tar.addfile(info)" "$base/work/centuries.tar"
  check "is told of, too" says "the times of 2 files are before 1677 or after 2262, which no store holds, and became the nearest that fit" "$cffs" import --to=centuries "$base/work/centuries.tar" "$base/work/timed"
  mkdir "$base/work/ages" && mount -t tmpfs tmpfs "$base/work/ages" || return 1
  mkdir "$base/work/ages/dir" && touch -d '2400-01-01 UTC' "$base/work/ages/dir/late" && touch -d '1600-01-01 UTC' "$base/work/ages/early" "$base/work/ages/dir" && touch -d '2262-01-01 UTC' "$base/work/ages/usual"
  check "so are those of a directory" says "the times of 3 files are before 1677 or after 2262, which no store holds, and became the nearest that fit" "$cffs" import --to=ages "$base/work/ages" "$base/work/timed"
  umount "$base/work/ages"
}

backslashes_of_zip() {
  check "a zip of Unix, and one member of DOS" python3 -c "
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    for name, system in ('dos\\\\file', 0), ('first\\\\half', 3), ('end\\\\', 3), ('plain', 3), ('dir/x\\\\y', 3):
        info = zipfile.ZipInfo(name); info.create_system = system; info.external_attr = 0o100644 << 16
        z.writestr(info, name)" "$base/work/back.zip"
  check "one that looks like a directory is named" says "'end.' ends with a backslash, and its data cannot be read from a zip; it was left out" through "$base/work/back.zip" "$base/work/back"
  check "names are what they were" test "$(cd "$base/work/back" && find . -type f | LC_ALL=C sort | tr '\n' ' ')" = './dir/x\y ./dos/file ./first\half ./plain '
  check "each with its own data" grep -qF 'first\half' "$base/work/back/first\\half"
  check "our own zip" bash -c "'$cffs' export '$base/work/through' '$base/work/ours.zip'"
  check "through us, too" through "$base/work/ours.zip" "$base/work/again"
  check "has them" same "$base/work/back" "$base/work/again"
}

damaged_zip() {
  check "a zip with names of UTF-8, and damage" python3 -c "
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    info = zipfile.ZipInfo('\u00fcdir/'); info.external_attr = 0o40700 << 16; z.writestr(info, '')
    z.writestr('\u00fcdir/f\u00fcnf', 'five')
    z.writestr('small', 'damaged here')
    z.writestr('large', 'damaged there' * 1000000)
    z.writestr('whole', 'whole')
data = open(sys.argv[1], 'rb').read()
for text in b'damaged here', b'damaged there': data = data.replace(text, text.replace(b'r', b'R'), 1)
open(sys.argv[1], 'wb').write(data)" "$base/work/utf8.zip"
  rm -rf "$base/work/through" && "$cffs" format "$base/work/through"
  check "its damage is told" says "'small': ZIP bad CRC" "$cffs" import "$base/work/utf8.zip" "$base/work/through"
  rm -rf "$base/work/through" && "$cffs" format "$base/work/through"
  check "also that of a large member" says "'large': ZIP bad CRC" "$cffs" import "$base/work/utf8.zip" "$base/work/through"
  check "what is whole comes out" bash -c "'$cffs' export '$base/work/through' '$base/work/utf8'"
  check "by its own name, and nothing else does" test "$(cd "$base/work/utf8" && find . -mindepth 1 | LC_ALL=C sort | tr '\n' ' ')" = './whole ./üdir ./üdir/fünf '
  check "the root has its own mode" test "$(stat -c %a "$base/work/utf8")" != 700
  check "our own zip of it" bash -c "'$cffs' export '$base/work/through' '$base/work/utf8-ours.zip'"
  check "is read by others" python3 -c "import sys, zipfile; assert '\u00fcdir/f\u00fcnf' in zipfile.ZipFile(sys.argv[1]).namelist(), zipfile.ZipFile(sys.argv[1]).namelist()" "$base/work/utf8-ours.zip"
  check "comes through us, too" through "$base/work/utf8-ours.zip" "$base/work/utf8-again"
  check "and is the same" same "$base/work/utf8" "$base/work/utf8-again"
}

case_archivers() {
  fresh || return 1
  damaged_zip
  backslashes_of_zip
  times
  names_of_cpio
  lists_and_attributes
  holes
}
