# Export by an import's rules, and import into a mount that is in use.

# All that is kept: content, types, modes, owners, times, links, attributes.
alike() { test -z "$(rsync -aHAXn --modify-window=-1 --delete --itemize-changes "$1/" "$2/" 2>&1 | tee "$base/work/unlike")" || { head -20 "$base/work/unlike" >&2; false; }; }
# It fails, and says so in one of its lines, after what it has done.
refused_at_end() {  # pattern command...
  local pattern=$1 output
  shift
  if output=$("$@" 2>&1); then echo "it succeeded: $output"; return 1; fi
  grep -Eq "$pattern" <<<"$output" || { echo "unexpected: $output"; return 1; }
}
inodes() { (cd "$1" && find . -printf '%i %P\0' | sort -z | tr '\0' '\n'); }

# A tree with one of each, and names that tools trip over.
make_moved() {  # directory
  local d=$1 i
  mkdir -p "$d/a/b" "$d/c" "$d/many" && echo hi >"$d/a/x" && ln "$d/a/x" "$d/c/hard" && ln -s ../a "$d/c/link" && ln -s /etc "$d/away" || return 1
  for i in $(seq 300); do echo "$i" >"$d/many/$i"; done
  echo n >"$d/new"$'\n'"line" && echo d >"$d/-" && : >"$d/empty" && mkfifo "$d/pipe" && echo o >"$d/a/b/file.o" || return 1
  head -c 3000000 /dev/urandom >"$d/large" && truncate -s 40M "$d/holes" && echo end >>"$d/holes" || return 1
  if [ "$(id -u)" = 0 ]; then mknod "$d/null" c 1 3 && chown 1234:4321 "$d/large" && chmod 4750 "$d/large" || return 1; fi
  setfattr -n user.note -v kept "$d/a/x" && { setfacl -m u:daemon:r "$d/c" 2>/dev/null; setfacl -d -m u:daemon:rwx "$d/c" 2>/dev/null; true; }
  touch -d 2001-02-03 "$d/a/b" "$d/a/b/file.o" && touch -h -d 2002-03-04 "$d/away"
}

case_exporting() {
  local src=$base/work/src out=$base/work/out before i
  fresh || return 1
  command -v rsync >/dev/null && command -v setfattr >/dev/null || { echo "exporting: skipped, rsync and setfattr compare the trees"; return 0; }
  make_moved "$src" || return 1
  check "import" "$cffs" import "$src" "$store"
  check "export" "$cffs" export "$store" "$out"
  check "all is kept" alike "$src" "$out"
  check "holes, too" test "$(stat -c %b "$out/holes")" -lt 1000
  before=$(inodes "$out")
  check "again: nothing is left to do" says "^of these 0 replaced others" "$cffs" export "$store" "$out"
  check "and nothing was touched" test "$(inodes "$out")" = "$before"

  # The destination drifts.
  echo more >>"$out/large" && echo mine >"$out/mine" && mkdir -p "$out/gone/deep" && echo k >"$out/gone/deep/keep.o" && rm -r "$out/many/7" "$out/a/b" "$out/c" && echo file >"$out/a/b" && ln -s /etc "$out/c" || return 1
  check "what differs is refused" says "'$out/large' is already there, and differs; with --update it is replaced" "$cffs" export "$store" "$out"
  check "a file is no directory" says "'$out/a/b' is a file there, not a directory; --update --delete replaces it" "$cffs" export --update "$store" "$out"
  check "no link was followed" test ! -e /etc/hard -a ! -e /etc/link -a -L "$out/c"
  check "what changed was replaced" cmp "$src/large" "$out/large"
  check "and nothing else" test "$(inodes "$out" | grep -E ' (many/[0-9]+|a/x|holes|pipe|-)$' | grep -v ' many/7$')" = "$(grep -E ' (many/[0-9]+|a/x|holes|pipe|-)$' <<<"$before" | grep -v ' many/7$')"
  check "--delete" says "were there already, [1-9][0-9]* were taken away" "$cffs" export --update --delete "--exclude=*.o" "$store" "$out"
  check "leaves what is left out" test -e "$out/gone/deep/keep.o" -a ! -e "$out/mine" -a ! -e "$out/a/b/file.o"
  check "with all of it" "$cffs" export --update --delete "$store" "$out"
  check "all is alike" alike "$src" "$out"
  rm "$out/many/5" && mkdir "$out/many/5" && echo z >"$out/many/5/z" || return 1
  check "a directory is no file" says "'$out/many/5' is a directory there; --update --delete replaces it" "$cffs" export --update "$store" "$out"
  check "--delete makes it one" "$cffs" export --update --delete "$store" "$out"
  check "all is alike again" alike "$src" "$out"
  touch -r "$out/a/b/file.o" "$base/work/then" && echo p >"$out/a/b/file.o" && touch -r "$base/work/then" "$out/a/b/file.o"
  check "size and time tell nothing of it" says "of these 0 replaced others" "$cffs" export --update "$store" "$out"
  check "--checksum does" says "of these 1 replaced others" "$cffs" export --update --checksum "$store" "$out"
  check "all is alike at the end" alike "$src" "$out"

  check "an archive without some" "$cffs" export "--exclude=*.o" --exclude=/many/ "$store" "$base/work/some.tar"
  check "has the others" test "$(tar -tf "$base/work/some.tar" 2>/dev/null | grep -cE 'many|\.o$|^\./large$')" = 1
  check "--update is not for archives" refused "cffs: --update is for a directory: the archive $base/work/a.tar is written anew, whole" "$cffs" export --update "$store" "$base/work/a.tar"
  check "--delete alone" refused "goes with --update" "$cffs" export --delete "$store" "$out"
  [ -d "$store" ] && check "into itself" refused "lies in the store $store; name a place outside of it" "$cffs" export "$store" "$store/out"

  # Killed in the middle, and again; what it left under its own names goes with the next, and a user's files of such names stay.
  rm -rf "$out"
  for i in 02 04 07 1; do
    { timeout --foreground -s KILL 0.$i "$cffs" export --update "$store" "$out"; } >/dev/null 2>&1
    [ ! -e "$out/large" ] || check "large is whole after $i" cmp "$src/large" "$out/large"
  done
  mkdir -p "$out/a" && echo left >"$out/a/.cffs-import-999999999-0" && echo mine >"$out/a/.cffs-import-mine"
  check "an export that was killed goes on" "$cffs" export --update "$store" "$out"
  check "what is somebody's is there, and nothing else" test "$(find "$out" -name '.cffs-*' -printf '%P\n' | LC_ALL=C sort | xargs)" = "a/.cffs-import-999999999-0 a/.cffs-import-mine"
  rm "$out/a/.cffs-import-mine" "$out/a/.cffs-import-999999999-0"
  check "export again" "$cffs" export --update "$store" "$out"
  check "all is alike after kills" alike "$src" "$out"

  # A small disk.
  [ "$(id -u)" = 0 ] && mkdir -p "$base/disk" && mount -t tmpfs -o size=2M none "$base/disk" || return 0
  check "a full disk ends it" says "there is no more room: the export ended here; with more, the same command goes on" "$cffs" export "$store" "$base/disk/out"
  # Which one is first is chance; of one whose name has two lines the second is where the reason stands.
  check "names the file" says "('$base/disk/out/.*|^line)': No space left on device" "$cffs" export "$store" "$base/disk/out"
  check "and leaves no part of it" test ! -e "$base/disk/out/large" -a -z "$(find "$base/disk" -name '.cffs-*')"
  mount -o remount,size=100M "$base/disk"
  check "with more room it goes on" "$cffs" export --update "$store" "$base/disk/out"
  check "all is alike there" alike "$src" "$base/disk/out"
  umount "$base/disk"
}

case_arriving() {
  local src=$base/work/src reader
  fresh || return 1
  command -v rsync >/dev/null && command -v setfattr >/dev/null || { echo "arriving: skipped, rsync and setfattr compare the trees"; return 0; }
  make_moved "$src" || return 1
  check "mount" "$cffs" mount "$store" "$mnt"
  echo here >"$mnt/here" || return 1
  # Somebody works in it meanwhile: each file shows nothing, or all of it.
  (
    for _ in $(seq 400); do
      [ ! -e "$mnt/new/large" ] || cmp -s "$src/large" "$mnt/new/large" || exit 1
      for f in "$mnt"/new/many/*; do [ ! -e "$f" ] || [ -s "$f" ] || exit 1; done
      echo more >>"$mnt/here"
      [ ! -e "$base/work/arrived" ] || exit 0
    done
  ) &
  reader=$!
  check "import into a mount" says "^imported 30[0-9] files, 4 directories, 2 symlinks, 1 hard links" "$cffs" import "$src" "$mnt:new"
  touch "$base/work/arrived"
  wait "$reader"
  check "who works there saw whole files" test $? = 0
  check "all is there at once" alike "$src" "$mnt/new"
  check "holes, too" test "$(stat -c %b "$mnt/new/holes")" -lt 1000
  check "again: nothing is left to do" says "^of these 0 replaced others" "$cffs" import --to=new "$src" "$mnt"

  echo more >>"$mnt/new/large" && echo extra >"$mnt/new/extra" && rm -r "$mnt/new/a/b" "$mnt/new/c" && ln -s /etc "$mnt/new/c" && echo k >"$mnt/new/keep.o" || return 1
  check "what differs is refused" says "'$mnt/new/large' is already there, and differs; with --update it is replaced" "$cffs" import "$src" "$mnt/new"
  check "--update and --delete" "$cffs" import --update --delete --exclude=/keep.o "$src" "$mnt/new"
  check "leave what is left out" rm "$mnt/new/keep.o"
  check "no link was followed" test ! -e /etc/hard -a ! -e /etc/link
  check "times of directories, too" "$cffs" import --update "$src" "$mnt/new"
  check "all is alike" alike "$src" "$mnt/new"
  { timeout --foreground -s KILL 0.03 "$cffs" import "$src" "$mnt:killed"; } >/dev/null 2>&1
  check "an import that was killed goes on" "$cffs" import --update "$src" "$mnt:killed"
  check "all is alike after a kill" alike "$src" "$mnt/killed"
  touch -h -d 2003-01-01 "$mnt/killed/pipe" "$mnt/killed/away" "$mnt/killed/null" 2>/dev/null
  check "times of what is no file are made the source's" "$cffs" import --update "$src" "$mnt:killed"
  check "so that all is alike" alike "$src" "$mnt/killed"
  tar -C "$src" --xattrs -cf "$base/work/a.tar" . && echo second >"$base/work/empty" && tar -C "$base/work" -rf "$base/work/a.tar" --transform='s,^,./,' empty || return 1
  check "an archive, with a name that it has twice" "$cffs" import "$base/work/a.tar" "$mnt:tar"
  check "the later one counts" test "$(cat "$mnt/tar/empty")" = second
  check "the others are there" bash -c "rsync -aHni --modify-window=-1 --exclude=/empty --omit-dir-times '$src/' '$mnt/tar/' | (! grep .)"

  check "into itself" refused "$mnt/b lies in $mnt: it would be imported into itself; leave it out with --exclude=/b" "$cffs" import "$mnt" "$mnt:b"
  check "left out" "$cffs" import --exclude=/b --exclude=/tar --exclude=/killed "$mnt" "$mnt:b"
  check "a source in the destination stays" refused "lies in $mnt.*--delete would take it away" "$cffs" import --update --delete "$mnt/b" "$mnt"
  ln -s /tmp "$mnt/link"
  check "no link leads out" refused "'$mnt/link' is no directory" "$cffs" import "$src" "$mnt:link/x"
  check "a mount has its policy" refused "the daemon groups what comes, by the policy of the mount" "$cffs" import --policy=none "$src" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  check "export of it" "$cffs" export "$store:new" "$base/work/out"
  check "all is alike outside" alike "$src" "$base/work/out"
  check "mount to read" "$cffs" mount -o ro "$store" "$mnt"
  check "a read-only mount" refused "is mounted read-only: nothing can be imported into it" "$cffs" import "$src" "$mnt"
  check "umount" "$cffs" umount "$mnt"
}

# Whoever made a source, an archive or what lies in the destination leads nothing out of it, and gives no orders.
case_hostile() {
  local src=$base/work/src out=$base/work/out
  fresh || return 1
  mkdir -p "$src" "$out/x/deep" && echo file >"$src/x" && echo precious >"$out/x/deep/kept" || return 1
  check "import" "$cffs" import "$src" "$store"
  check "a directory that is left out makes no room for a file" refused_at_end "'$out/x': a directory that is left out is there, and stays" "$cffs" export --update --delete --exclude=x/ "$store" "$out"
  check "and is there" test "$(cat "$out/x/deep/kept")" = precious
  check "without it does" "$cffs" export --update --delete "$store" "$out"
  check "which is a file now" test "$(cat "$out/x")" = file

  check "mount" "$cffs" mount "$store" "$mnt"
  if command -v setfattr >/dev/null && setfattr -n user.note -v kept "$src" 2>/dev/null; then
    setfattr -n user.cffs.policy -v none "$src" && setfattr -n user.cffs.policy -v none "$src/x" || return 1
    check "attributes are no orders to a mount" refused_at_end "$mnt/*, attribute user.cffs.policy: cffs mounts take it for an order; it was left out" "$cffs" import --update "$src" "$mnt"
    check "its policy is what it was" test "$(getfattr --only-values -n user.cffs.policy "$mnt" 2>/dev/null)" = directory
    check "other attributes came" test "$(getfattr --only-values -n user.note "$mnt" 2>/dev/null)" = kept
    if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 777 "$mnt" && chmod 711 "$base"; then
      check "nor do strangers leave orders for later" bash -c "! setpriv --reuid 65534 --regid 65534 --clear-groups setfattr -n user.cffs.policy -v none '$mnt' 2>/dev/null"
      check "but attributes" setpriv --reuid 65534 --regid 65534 --clear-groups setfattr -n user.theirs -v none "$mnt"
    fi
  fi

  # An archive that ends in the midst of a file.
  mkdir -p "$base/work/d" && echo first >"$base/work/d/first" && head -c 3000000 /dev/zero >"$base/work/d/second" && tar -C "$base/work" -cf "$base/work/whole.tar" d/first d/second && head -c 1000000 "$base/work/whole.tar" >"$base/work/cut.tar" || return 1
  check "an archive that is cut is named" refused_at_end "^cffs: $base/work/cut.tar: Truncated tar archive" "$cffs" import "$base/work/cut.tar" "$mnt:cut"
  check "what came before is there, as ever" test "$(cat "$mnt/cut/d/first")" = first -a ! -e "$mnt/cut/d/second" -a "$(stat -c %a "$mnt/cut/d")" = 755
  # A terminal is not told what names say.
  touch "$src/"$'red\e[31m' && mkdir "$mnt/red" && touch -d 2001-01-01 "$src/"$'red\e[31m' && touch "$mnt/red/"$'red\e[31m' || return 1
  check "names on a terminal" bash -c "script -qec \"'$cffs' import '$src' '$mnt/red'\" /dev/null </dev/null | grep -F 'red\\x1b[31m'"

  # Bind mounts are other names for what lies elsewhere.
  mkdir -p "$base/work/bound" "$mnt/a" && echo in >"$mnt/a/in" || return 1
  if [ "$(id -u)" = 0 ] && mount --bind "$mnt/a" "$base/work/bound" 2>/dev/null; then
    check "a source in the destination, by another name" refused "lies in $mnt/?: --delete would take it away" "$cffs" import --update --delete "$base/work/bound" "$mnt"
    check "a destination in the source, by another name" refused "would be imported into itself" "$cffs" import "$mnt" "$base/work/bound"
    umount "$base/work/bound"
    check "is there" test "$(cat "$mnt/a/in")" = in
  fi
  check "umount" "$cffs" umount "$mnt"
  [ "$(id -u)" = 0 ] && [ -d "$store" ] || return 0
  mount --bind "$store" "$base/work/bound" || return 0
  check "a store is not exported into itself, by another name" refused "would be exported into itself" "$cffs" export --update --delete "$store" "$base/work/bound"
  umount "$base/work/bound"
  check "it is whole" "$cffs" fsck "$store"
  mkdir -p "$out/bound" "$base/work/apart" && echo p >"$base/work/apart/p" && echo extra >"$out/extra" && mount --bind "$base/work/apart" "$out/bound" || return 1
  check "what is mounted in a destination stays" refused_at_end "'$out/bound': another file system is mounted there" "$cffs" export --update --delete "$store" "$out"
  check "with what is in it" test "$(cat "$base/work/apart/p")" = p
  mkdir -p "$base/work/more/bound" && check "import an empty directory of that name" "$cffs" import --update "$base/work/more" "$store"
  check "nothing is taken away in it" refused_at_end "'$out/bound/p' is on another file system, mounted in the destination" "$cffs" export --update --delete "$store" "$out"
  check "nor is it" test "$(cat "$base/work/apart/p")" = p -a ! -e "$out/extra"
  umount "$out/bound"

  # Who looks beside a writer that waits for its disk ends all the same.
  command -v fsfreeze >/dev/null && command -v mkfs.ext4 >/dev/null || return 0
  mkdir -p "$base/disk" && truncate -s 200M "$base/work/disk.img" && mkfs.ext4 -q -F "$base/work/disk.img" && mount -o loop "$base/work/disk.img" "$base/disk" 2>/dev/null || return 0
  check "a store on a disk of its own" "$cffs" format "$base/disk/store"
  check "mount" "$cffs" mount "$base/disk/store" "$mnt"
  echo there >"$mnt/there"
  check "look beside it" test "$("$cffs" ls "$base/disk/store")" = there
  echo later >"$mnt/later" && fsfreeze -f "$base/disk" || return 1
  (trap 'exit' TERM; "$cffs" ls "$base/disk/store" >"$base/work/looked"; touch "$base/work/ended") &
  for _ in $(seq 100); do [ ! -e "$base/work/ended" ] || break; sleep 0.1; done
  check "who looks while the disk stands still ends" test -e "$base/work/ended" -a "$(head -1 "$base/work/looked")" = there
  fsfreeze -u "$base/disk"
  wait $!
  check "umount" "$cffs" umount "$mnt"
  umount "$base/disk"
}
