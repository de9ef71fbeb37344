#!/usr/bin/env bash
# make_golden_store.sh PROGRAM NAME [DIRECTORY]: has a cffs of one format version make a small store, and writes to DIRECTORY
# (tests/golden) what the test of golden stores opens: NAME.tar.xz, the store when it was closed; NAME-killed.tar.xz, the same
# when its daemon had just been killed; NAME.tree, what is in both. Needs root and /dev/fuse. See docs/TESTING.md.
# FORMAT="--compress=zstd" in the environment: how the store is made; compressed ones get a member of 70 MB.
set -euo pipefail

if [ $# -lt 2 ] || [ ! -x "$1" ]; then
  echo "usage: $0 PROGRAM NAME [DIRECTORY]" >&2
  exit 2
fi
program=$(realpath "$1") name=$2
destination=$(realpath "${3:-$(dirname "$0")/../tests/golden}")
work=$(mktemp -d)
store=$work/store mnt=$work/mnt
mkdir "$work/source" "$mnt"

cleanup() {
  umount -l "$mnt" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

mount_store() { timeout 60 "$program" mount --commit-interval=1 -o noatime "$@" "$store" "$mnt"; }
unmount_store() { timeout 60 "$program" umount "$mnt"; }
pack() {  # all but what the next user makes anew
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --exclude=store/lock --exclude=store/reserve -cf - store |
    xz -9e >"$destination/$1.tar.xz"
}

# What an import brings: composites, a blob, links, special files, attributes.
python3 - "$work/source" <<'PYTHON'
import os, sys
os.chdir(sys.argv[1])
def put(path, content, mode=0o644, mtime=1_600_000_000_123_456_789):
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    os.utime(path, ns=(mtime, mtime))
os.makedirs("papers/deep/er")
put("papers/one.txt", b"one\n")
put("papers/two.txt", b"two\n" * 700, 0o600)
put("papers/deep/er/three.bin", bytes(range(256)) * 40, 0o4755, 1_500_000_000_000_000_001)
put("papers/empty", b"")
put("papers/umlauts-\u00e4\u00f6\u00fc \u65e5\u672c", "Gr\u00fc\u00dfe\n".encode())
put("papers/old", b"before 1970", mtime=-1_000_000_001)
put("large", b"a line of a large file\n" * 60_000)
put("quiet", b"a line of a file that stays as it is\n" * 60_000)
put("n" * 255, b"the longest name")
os.mkdir("heap")
for i in range(60):
    put(f"heap/{i}", bytes([i]) * 6000)
os.symlink("papers/one.txt", "symlink")
os.link("papers/two.txt", "papers/hard")
os.mkfifo("fifo", 0o620)
os.mknod("device", 0o20640, os.makedev(1, 3))
os.chown("papers/one.txt", 1234, 5678)
os.setxattr("papers/one.txt", "user.colour", b"blue\0green")
os.setxattr("papers", "user.of a directory", b"")
os.chmod("papers/deep", 0o2775)
os.utime("papers/deep", ns=(1_400_000_000_000_000_000,) * 2)
PYTHON

[[ ${FORMAT:-} != *compress* ]] || head -c 70000000 < <(yes 'a line of a file that is larger than programs knew') >"$work/source/vast"
# shellcheck disable=SC2086  # several words
"$program" format ${FORMAT:-} "$store"
"$program" import "$work/source" "$store" >/dev/null

# What a mount makes of it: files that consolidation moves, by references where the program knows them.
mount_store --quiet=1 --policy=reference 2>/dev/null || mount_store --quiet=1
mkdir "$mnt/site"
printf '<html><link rel=stylesheet href=style.css><img src=picture.png>' >"$mnt/site/index.html"
printf 'body { background: url(picture.png) }' >"$mnt/site/style.css"
head -c 3000 /dev/zero | tr '\0' p >"$mnt/site/picture.png"
sleep 5
unmount_store

# And what waits in the table, or has changed since: holes, members renamed, overwritten, removed, extended to a blob.
mount_store --quiet=3600
printf 'waits in the table\n' >"$mnt/inline"
truncate -s 9000 "$mnt/hole" && printf 'end' >>"$mnt/hole"
printf 'x' | dd of="$mnt/hole-between" bs=1 seek=5000 status=none
mv "$mnt/papers/one.txt" "$mnt/site/renamed"
printf 'two, changed\n' >"$mnt/papers/hard"
rm "$mnt/papers/empty" "$mnt/site/style.css"
ln "$mnt/inline" "$mnt/papers/inline-again"
truncate -s 3M "$mnt/sparse" && printf 'tail' >>"$mnt/sparse"
printf 'XYZ' | dd of="$mnt/large" bs=1 seek=100000 conv=notrunc status=none
for i in $(seq 40); do printf '%s' "$i" >"$mnt/site/$i"; done
rm "$mnt"/heap/[1-4]*  # a composite that is mostly given up
mkdir "$mnt/waiting"
python3 - "$mnt/waiting" <<'PYTHON'
import os, sys
for i in range(60):
    with open(os.path.join(sys.argv[1], str(i)), "wb") as file:
        file.write((b"line of file %d, which waits\n" % i * 1000)[:5000 + i * 150])
PYTHON
# A file without a name, with more attributes than a node keeps, for as long as the daemon lives.
python3 - "$mnt" <<'PYTHON' &
import os, sys, time
path = os.path.join(sys.argv[1], "nameless")
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.write(fd, b"nobody's")
os.setxattr(path, "user.long", b"a" * 3000)
os.unlink(path)
time.sleep(60)
PYTHON
holder=$!
sleep 3

python3 - "$mnt" >"$destination/$name.tree" <<'PYTHON'
# A line for each name: path, mode, owner, group, links, inode, size (but of directories), mtime, ctime, device, target,
# attributes, SHA-256. Of the root, no inode: the kernel has a number of its own for it.
import hashlib, os, stat, sys
def line(path, shown):
    st = os.lstat(path)
    names = sorted(n for n in os.listxattr(path, follow_symlinks=False) if n.startswith("user."))
    attributes = ",".join(n.encode().hex() + "=" + os.getxattr(path, n, follow_symlinks=False).hex() for n in names)
    content = ""
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as file:
            content = hashlib.sha256(file.read()).hexdigest()
    return "\t".join([shown, "%o" % st.st_mode, str(st.st_uid), str(st.st_gid), str(st.st_nlink),
                      str(st.st_ino) if shown else "", "" if stat.S_ISDIR(st.st_mode) else str(st.st_size),
                      str(st.st_mtime_ns), str(st.st_ctime_ns), str(st.st_rdev),
                      os.readlink(path) if stat.S_ISLNK(st.st_mode) else "", attributes, content])
found = [""]
for folder, folders, files in os.walk(sys.argv[1]):
    found += [os.path.relpath(os.path.join(folder, n), sys.argv[1]) for n in folders + files]
sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
for path in sorted(found, key=os.fsencode):
    print(line(os.path.join(sys.argv[1], path), path))
PYTHON

pid=$(sed -n 's/^pid \([0-9]*\) on .*/\1/p' "$store/lock")
kill -9 "$pid"
while [ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.1; done
umount -l "$mnt"
kill $holder
pack "$name-killed"
mount_store --quiet=3600
unmount_store
"$program" scrub "$store" >/dev/null 2>&1 || true  # which writes a catalogue, where the program knows of one
pack "$name"
ls -l "$destination/$name"*
