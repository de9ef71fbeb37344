# Looking into a store without a mount, beside what the tools say on one; and bringing it into memory. Sourced by acceptance.sh.

browsed_tree() {  # directory
  mkdir -p "$1/d:e" "$1/empty" "$1/.hidden" && cp -a "$source_tree/linux" "$1/linux" && ln "$1/linux/fs.h" "$1/hard"
  ln -s linux/fs.h "$1/link" && ln -s /etc "$1/out" && mkfifo "$1/pipe" && echo c >"$1/d:e/f:g" && printf x >"$1/$(printf 'bad\033[31m\nname')"
  truncate -s 3M "$1/sparse" && chmod 1777 "$1/empty" && chmod 4755 "$1/d:e/f:g" && touch -d 2019-01-02 "$1/pipe"
}
as_tool() {  # command, options: what it prints of the store is what the tool prints on the mount
  local tool=$1; shift
  diff <(cd "$mnt" && LC_ALL=C "$tool" "$@" linux) <(LC_ALL=C "$cffs" "$tool" "$@" "$store:linux" | sed "s|$store:linux|linux|")
}
sums_as() {  # du's options; the order of a mount's directories is that of their hashes
  diff <(cd "$mnt" && du "$@" linux | sort -k 2) <("$cffs" du "$@" "$store:linux" | sed "s|$store:linux|linux|" | sort -k 2)
}
found_as() { diff <(cd "$mnt" && LC_ALL=C find linux d:e hard "$@" | sort) <("$cffs" find "$store:linux" "$store:d:e" "$store:hard" "$@" | sed "s|^$store:||" | sort); }

case_browse() {
  fresh || return 1
  local tree=$base/work/tree; mkdir -p "$tree" && browsed_tree "$tree"
  check "import" "$cffs" import "$tree" "$store"
  check "mount" "$cffs" mount -o ro "$store" "$mnt"
  for o in -l -la "-lR" -lhtr -1S -lin -d -ld; do check "ls $o" as_tool ls $o; done
  for o in -s -a "-h -d 1" "--apparent-size -s" "-b -s"; do check "du $o" sums_as $o; done
  check "find" found_as
  check "find -name" found_as -name 'f*.h' -size +10k
  check "find with joined words" found_as '(' -type d -o -perm -4000 ')' ! -name usb
  check "find -links, -newer" found_as -links +1 -newer "$tree/pipe"
  touch -d 2400-01-01 "$base/work/future"
  check "find -newer than what a time here can be" found_as -newer "$base/work/future"
  check "find -print0 to cat" test "$("$cffs" find "$store" -type f -print0 | LC_ALL=C sort -z | xargs -0 "$cffs" cat | md5sum)" = "$(find "$tree" -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | md5sum)"
  check "colons in names" test "$("$cffs" cat "$store:d:e/f:g" "$store:/d:e/f:g" "$store:d:e/../d:e/f:g")" = "$(printf 'c\nc\nc')"
  check "a link is followed" cmp <("$cffs" cat "$store:link") "$tree/linux/fs.h"
  check "not out of the store" refused "which is out of the store" "$cffs" cat "$store:out/passwd"
  check "no such name" refused ":none: No such file" "$cffs" ls "$store:none"
  check "a mount is for the tools" refused "is in the mount of store .*: use ls there" "$cffs" ls "$mnt/linux"
  check "nothing is run" refused "xargs -0" "$cffs" find "$store" -delete
  check "a terminal is told no controls" bash -c "script -qc \"'$cffs' ls -1 '$store'\" /dev/null | grep -F 'bad\\x1b[31m\\x0aname'"
  check "JSON" bash -c "'$cffs' ls -R --json '$store' | python3 -c 'import json,sys; a = json.load(sys.stdin); assert any(f[\"name\"] == \"fs.h\" and f[\"size\"] > 1000 for f in a), a[:3]'"
  mkdir "$base/work/odd"; ln -s "$(printf 'a\377\033b')" "$base/work/odd/bytes"; ln -s "$(printf 'a\tb\033')" "$base/work/odd/controls"
  check "a store of odd links" bash -c "'$cffs' format '$base/work/odd.store' && '$cffs' import '$base/work/odd' '$base/work/odd.store'"
  "$cffs" ls --json "$base/work/odd.store" >"$base/work/odd.json"
  check "JSON of what is no text says so" python3 - "$base/work/odd.json" <<'END'
import json, sys
of = {f['name']: f for f in json.load(open(sys.argv[1], 'rb'))}
assert of['bytes']['target'] == r'a\xff\x1bb' and of['bytes']['escaped'], of
assert of['controls']['target'] == 'a\tb\x1b' and 'escaped' not in of['controls'], of
END
  check "no reader" bash -c "set -o pipefail; '$cffs' cat '$store:sparse' '$store:sparse' | head -c 1 >/dev/null; test \${PIPESTATUS[0]} = 141"
  check "the same as its source" "$cffs" diff --times "$store" "$tree"
  check "and as its mount" "$cffs" diff "$store" "$mnt"
  tar -C "$tree" --xattrs -cf "$base/work/t.tar" .
  check "and as an archive of it" "$cffs" diff "$base/work/t.tar" "$store"
  (cd "$tree" && python3 -m zipfile -c "$base/work/t.zip" linux)
  check "a zip is told of" refused "t.zip is one file, and no tar archive: .* import it" "$cffs" diff "$base/work/t.zip" "$store"
  check "which leaves nothing" bash -c "! ls -d '${TMPDIR:-/tmp}'/cffs-diff.* 2>/dev/null"
  check "umount" "$cffs" umount "$mnt"
  printf y | dd of="$tree/sparse" bs=1 seek=2999999 conv=notrunc status=none; chmod 600 "$tree/hard"; rm -r "$tree/linux/usb"; echo >"$tree/new"
  "$cffs" diff "$store" "$tree" >"$base/work/diff.out"
  check "what differs, exit 1" test $? = 1
  check "each by its letter" diff - "$base/work/diff.out" <<END
P hard
P linux/fs.h
< linux/usb
> new
C sparse
END
  "$cffs" diff "$store:none" "$tree" 2>/dev/null
  check "no comparison, exit 2" test $? = 2
  check "mount to write" "$cffs" mount -o commit_interval=0.3 "$store" "$mnt"
  echo late >"$mnt/late"
  if [ "${CFFS_TEST_BACKEND:-posix}" = posix ]; then
    beside() { echo "$1" >"$mnt/late" && test "$("$cffs" cat "$store:late")" = "$1"; }
    check "beside its writer" beside late
    check "what was written just now, also where somebody looked before" beside later
    check "a file that was made just now" bash -c "touch '$mnt/later' && '$cffs' ls '$store:later'"
    check "all of it" "$cffs" diff "$store" "$mnt"
  else
    check "not beside its writer" refused "is in use by .*on its mount" "$cffs" ls "$store"
  fi
}

in_memory() {  # store: pages of composites that are in memory, and all
  python3 - "$1/composites" <<'END'
import ctypes, os, sys
there = pages = 0
for folder, _, files in os.walk(sys.argv[1]):
    for name in files:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY)
        size = os.fstat(fd).st_size
        asked, said = (ctypes.c_uint64 * 2)(0, size), (ctypes.c_uint64 * 5)()
        if ctypes.CDLL(None).syscall(451, fd, asked, said, 0) != 0: sys.exit("unknown")
        there, pages = there + said[0], pages + (size + 4095) // 4096
        os.close(fd)
print(there, pages)
END
}
cold_store() { sync; find "$store" -type f -exec dd if={} iflag=nocache count=0 status=none ';'; }

case_warm() {
  fresh || return 1
  check "import" "$cffs" import "$source_tree/linux" "$store"
  local before after
  cold_store; before=$(in_memory "$store") || { echo "  the kernel does not tell what is in memory: not tried"; return 0; }
  check "nothing is there" test "${before% *}" -lt "${before#* }"
  check "a limit, said so" refused "stopped where .* of memory were filled" "$cffs" warm -q --memory=1M "$store"
  check "some" "$cffs" warm "$store" netfilter usb/ch9.h
  check "metadata" "$cffs" warm --metadata "$store"
  check "all" "$cffs" warm "$store"
  after=$(in_memory "$store")
  check "every page of the composites" test "${after% *}" = "${after#* }"
  check "quiet" test -z "$("$cffs" warm -q "$store" 2>&1)"
  check "no such path" refused "none: No such file" "$cffs" warm "$store" none
  check "mount" "$cffs" mount "$store" "$mnt"
  check "a mount" bash -c "'$cffs' warm '$mnt' | grep -E '^warm: [0-9]+ names in [0-9]+ directories, [0-9.]+ (KB|MB), '"
  check "paths of it" "$cffs" warm --metadata "$mnt" netfilter /usb/ch9.h
  check "none out of it" refused "leads out of" "$cffs" warm "$mnt" ../x
  check "a limit of a mount" refused "stopped where" "$cffs" warm -q --memory=100K "$mnt"
  check "nothing has changed" same "$source_tree/linux" "$mnt"
  check "umount" "$cffs" umount "$mnt"
}
