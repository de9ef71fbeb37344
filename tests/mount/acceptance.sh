#!/usr/bin/env bash
# What a user would try first, on a real mount with real programs. Usage: CFFS_BINARY=... tests/mount/acceptance.sh [CASE...]
. "$(dirname "$0")/harness.sh"

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
  check "rsync sees no difference" bash -c "out=\$(rsync -aHAX --checksum --dry-run --itemize-changes '$source_tree/' '$mnt/'); echo \"\$out\"; test -z \"\$out\""
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
  same_all() { local out; out=$(rsync -aHAX --checksum --dry-run --itemize-changes --delete "$1/" "$2/"); echo "$out"; test -z "$out"; }
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
    check "same after import of a $kind" same_all "$src" "$mnt"
    check "sparse stays sparse ($kind)" test "$(du -k "$mnt/sparse" | cut -f1)" -lt 1000
    if [ $kind = tar ]; then check "tar --compare" tar -C "$mnt" --compare -f "$from"; fi
    check "umount" "$cffs" umount "$mnt"
    rm -rf "$base/work/out"
    check "export" "$cffs" export "$store" "$base/work/out"
    check "same after export" same_all "$src" "$base/work/out"
    check "exported sparse stays sparse" test "$(du -k "$base/work/out/sparse" | cut -f1)" -lt 1000
  done
  check "export of a subdirectory" "$cffs" export "$store:linux" "$base/work/linux"
  check "same subdirectory" same "$src/linux" "$base/work/linux"
  check "export to a tar" "$cffs" export "$store" "$base/work/out.tar.xz"
  rm -rf "$base/work/untarred"; mkdir "$base/work/untarred"
  check "untar" tar --xattrs -C "$base/work/untarred" -xpf "$base/work/out.tar.xz"
  check "same after tar" same_all "$src" "$base/work/untarred"
  check "a second import is refused, file by file" bash -c "! '$cffs' import '$src' '$store' 2>/dev/null"
  check "fsck after the refused import" "$cffs" fsck "$store"
  mkdir "$base/work/twice" && echo first >"$base/work/twice/x" && tar -C "$base/work/twice" -cf "$base/work/twice.tar" .
  cp -r "$src/linux" "$base/work/twice/" && tar -C "$base/work/twice" -rf "$base/work/twice.tar" linux
  echo second >"$base/work/twice/x" && tar -C "$base/work/twice" -rf "$base/work/twice.tar" x
  check "a path twice in a tar: the later counts" bash -c "rm -rf '$store' '$base/work/out2'; '$cffs' format '$store' && '$cffs' import '$base/work/twice.tar' '$store' && '$cffs' export '$store' '$base/work/out2' && diff -r '$base/work/twice' '$base/work/out2'"
  check "tar from a pipe" bash -c "rm -rf '$store'; '$cffs' format '$store' && tar -C '$src/linux' -cf - . | '$cffs' import - '$store'"
}

case_writers() {
  fresh --inline-max=512 --composite-file-max=64K --composite-max=256K -- --quiet=0.1 --commit-interval=0.2 || return 1
  local pids=()
  for i in 1 2 3 4; do
    ( mkdir "$mnt/w$i" && cp -a "$source_tree/linux" "$source_tree/c++" "$mnt/w$i/" 2>/dev/null
      # rewrite, append and remove while consolidation runs
      find "$mnt/w$i/linux" -name 'a*.h' -exec sh -c 'echo more >>"$1"; cp "$1" "$1.copy"; rm "$1.copy"' _ {} \; ) & pids+=($!)
  done
  wait "${pids[@]}" || { echo "  FAILED: a writer"; failures=$((failures + 1)); }
  mkdir -p "$base/work/expected"
  cp -a "$source_tree/linux" "$source_tree/c++" "$base/work/expected/" 2>/dev/null
  find "$base/work/expected/linux" -name 'a*.h' -exec sh -c 'echo more >>"$1"' _ {} \;
  for i in 1 2 3 4; do check "diff -r of writer $i" same "$base/work/expected" "$mnt/w$i"; done
  sleep 1
  check "consolidation" "$cffs" compact "$mnt"
  check "files became members" test "$(stat_number "$mnt" member_files)" -gt 100
  for i in 1 2 3 4; do check "diff -r of writer $i, consolidated" same "$base/work/expected" "$mnt/w$i"; done
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

case_programs() {
  fresh -- --quiet=0.2 || return 1
  mkdir "$base/work/origin"
  ( cd "$base/work/origin" && git init -q && cp -r "$source_tree/linux" . && git add -A &&
    git -c user.name=t -c user.email=t@example.org commit -qm one ) || return 1
  check "git clone" git clone -q --no-local "$base/work/origin" "$mnt/clone"
  check "git status is clean" bash -c "test -z \"\$(git -C '$mnt/clone' status --porcelain)\""
  check "git fsck" git -C "$mnt/clone" fsck --full
  check "git gc" git -C "$mnt/clone" gc -q
  check "git checkout of a branch" bash -c "cd '$mnt/clone' && git checkout -qb b && git rm -rq linux/usb && git -c user.name=t -c user.email=t@example.org commit -qm two && git checkout -q - && git status --porcelain | wc -l | grep -qx 0"
  mkdir "$mnt/build"
  for i in $(seq 20); do echo "int f$i(void) { return $i; }" >"$mnt/build/f$i.c"; done
  { echo 'int main(void) { return 0; }'; } >"$mnt/build/main.c"
  printf 'prog: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\tcc -o $@ $^\n' >"$mnt/build/Makefile"
  check "make -j4" make -s -j4 -C "$mnt/build"
  check "the program that was built runs" "$mnt/build/prog"
  check "make has nothing to do" bash -c "make -C '$mnt/build' | grep -q 'up to date'"
  check "sqlite with WAL" bash -c "
    db='$mnt/test.db'
    sqlite3 \"\$db\" 'pragma journal_mode=wal; create table t(a integer primary key, b text);' >/dev/null
    for w in 1 2 3; do ( for i in \$(seq 60); do sqlite3 -cmd '.timeout 20000' \"\$db\" \"insert into t(b) values('w\$w \$i')\" || exit 1; done ) & pids=\"\$pids \$!\"; done
    for p in \$pids; do wait \$p || exit 1; done
    test \"\$(sqlite3 \"\$db\" 'select count(*) from t')\" = 180
    sqlite3 \"\$db\" 'pragma integrity_check' | grep -qx ok"
  check "flock" bash -c "exec 9>'$mnt/lock'; flock -n 9 && ! flock -n '$mnt/lock' true"
  check "umount right after" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

case_names() {
  fresh -- --quiet=0.1 || return 1
  check "every byte but / and NUL, 255-byte names, in order after remount" python3 - "$mnt" "$cffs" "$store" <<'PY'
import os, subprocess, sys, time
mnt, cffs, store = (os.fsencode(a) for a in sys.argv[1:])
names = [bytes([b]) for b in range(1, 256) if b not in (ord('/'), ord('.'))] + [b'x' * 255, '\u00e9'.encode() * 127, b'-rf', b' ', b'\n' * 255]
names += [b''.join(bytes([b]) for b in range(1, 128) if b != ord('/')), bytes(range(128, 256))]
d = mnt + b'/names'
os.mkdir(d)
for n in names:
    with open(d + b'/' + n, 'wb') as f: f.write(n)
def verify():
    assert sorted(os.listdir(d)) == sorted(set(names))
    for n in names: assert open(d + b'/' + n, 'rb').read() == n, n
verify()
time.sleep(0.5)
verify()
try:
    open(d + b'/' + b'y' * 256, 'wb'); raise SystemExit('a 256-byte name was taken')
except OSError as e:
    assert e.errno == 36, e
subprocess.check_call([cffs, b'umount', mnt]); subprocess.check_call([cffs, b'mount', store, mnt])
verify()
PY
  check "100,000 files in one directory" python3 - "$mnt" <<'PY'
import os, sys
d = sys.argv[1] + '/many'
os.mkdir(d)
fd = os.open(d, os.O_RDONLY)
for i in range(100000): os.close(os.open('f%06d' % i, os.O_CREAT | os.O_WRONLY, dir_fd=fd))
names = os.listdir(d)
assert len(names) == 100000 and len(set(names)) == 100000
for i in range(0, 100000, 2): os.unlink('f%06d' % i, dir_fd=fd)
# entries that stay are listed exactly once while others come and go
seen = []
with os.scandir(d) as it:
    for n, e in enumerate(it):
        seen.append(e.name)
        if n % 100 == 0:
            open(d + '/new%06d' % n, 'w').close()
old = [n for n in seen if n.startswith('f')]
assert len(old) == 50000 and len(set(seen)) == len(seen), (len(old), len(seen))
PY
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

case_files() {
  fresh -- --quiet=0.1 --commit-interval=0.2 || return 1
  check "hard links across directories" bash -c "
    cd '$mnt' && mkdir a b && echo data >a/x && ln a/x b/y && ln b/y z && echo more >>z && cmp a/x b/y &&
    test \$(stat -c %h a/x) = 3 && test \$(stat -c %i a/x) = \$(stat -c %i z) && rm a/x && test \$(stat -c %h z) = 2 && sleep 0.6 && grep -q more b/y"
  check "deleted but open, through all homes" python3 - "$mnt" <<'PY'
import os, sys, time
mnt = sys.argv[1]
for size in (0, 10, 5000, 60000, 200000, 3000000):
    for wait in (0, 0.6):
        p = '%s/del%d' % (mnt, size)
        with open(p, 'wb') as f: f.write(b'a' * size)
        time.sleep(wait)  # consolidated meanwhile
        f = open(p, 'r+b')
        os.unlink(p)
        assert f.read() == b'a' * size
        f.seek(0); f.write(b'bcd'); f.flush()
        f.seek(0); assert f.read() == (b'bcd' + b'a' * size)[:3] + b'a' * max(0, size - 3)
        f.truncate(100000); f.seek(0); assert len(f.read()) == 100000
        f.seek(2000000); f.write(b'end'); f.flush()
        assert os.fstat(f.fileno()).st_size == 2000003 and os.fstat(f.fileno()).st_nlink == 0
        assert not os.path.exists(p)
        f.close()
PY
  check "1 B to 10 MiB to 100 B while another process reads" python3 - "$mnt" <<'PY'
import os, sys, time
path = sys.argv[1] + '/grow'
MiB = 1 << 20
open(path, 'wb').write(b'\0')
pattern = bytes(i % 251 for i in range(10 * MiB))
pid = os.fork()
if pid == 0:
    end = time.time() + 4
    n = 0
    while time.time() < end:
        data = open(path, 'rb').read()
        n += 1
        if data.count(0) != len(data):  # never anything but what was written there
            if data != pattern[:len(data)]: os._exit(1)
    os._exit(0 if n > 3 else 2)
f = open(path, 'r+b')
size = 1
f.write(pattern[:1])
while size < 10 * MiB:
    step = min(max(1, size // 3), 10 * MiB - size)
    f.seek(size); f.write(pattern[size:size + step]); f.flush()
    size += step
    time.sleep(0.02)
assert open(path, 'rb').read() == pattern
while size > 100:
    size = max(100, size // 2)
    f.truncate(size)
    time.sleep(0.15)
assert open(path, 'rb').read() == pattern[:100]
f.close()
_, status = os.waitpid(pid, 0)
assert status == 0, status
time.sleep(0.6)
assert open(path, 'rb').read() == pattern[:100]
PY
  check "mmap shared and private" python3 - "$mnt" <<'PY'
import mmap, sys
p = sys.argv[1] + '/mapped'
open(p, 'wb').write(b'x' * 10000)
with open(p, 'r+b') as f:
    m = mmap.mmap(f.fileno(), 0)
    m[100:105] = b'hello'; m.flush()
    f.seek(100); assert f.read(5) == b'hello'
    m.close()
PY
  if [ "$(uname -m)" = x86_64 ]; then  # numbers of system calls
    check "buffered readers beside asynchronous direct writes" timeout 60 python3 - "$mnt/direct" <<'PY'
import ctypes, mmap, os, random, struct, sys
path, BLOCK, BLOCKS, DEPTH, ROUNDS = sys.argv[1], 16384, 64, 8, 100
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
SETUP, GETEVENTS, SUBMIT = 206, 208, 209  # x86-64
with open(path, 'wb') as f: f.write(b'\0' * BLOCK * BLOCKS)
direct = os.open(path, os.O_RDWR | os.O_DIRECT)
context = ctypes.c_ulong(0)
call(SETUP, ctypes.c_long(DEPTH), ctypes.byref(context))
memory = mmap.mmap(-1, BLOCK * DEPTH)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
events = ctypes.create_string_buffer(32 * DEPTH)
readers = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        f = os.open(path, os.O_RDONLY)
        while os.getppid() != 1: os.pread(f, BLOCK, random.randrange(BLOCKS) * BLOCK)
        os._exit(0)
    readers.append(pid)
buffered = os.open(path, os.O_RDONLY)
last = [0] * BLOCKS
try:
    for number in range(1, ROUNDS + 1):
        order = random.sample(range(BLOCKS), BLOCKS)
        for at in range(0, BLOCKS, DEPTH):
            blocks = order[at:at + DEPTH]
            requests = []
            for slot, block in enumerate(blocks):
                last[block] = number
                memory[slot * BLOCK:(slot + 1) * BLOCK] = bytes([number]) * BLOCK
                requests.append(ctypes.create_string_buffer(
                    struct.pack('<QIiHhIQQqQII', slot, 0, 0, 1, 0, direct, address + slot * BLOCK, BLOCK, block * BLOCK, 0, 0, 0), 64))
            pointers = (ctypes.c_void_p * len(requests))(*[ctypes.addressof(r) for r in requests])
            assert call(SUBMIT, context, ctypes.c_long(len(requests)), pointers) == len(requests)
            got = 0
            while got < len(requests):
                got += call(GETEVENTS, context, ctypes.c_long(1), ctypes.c_long(len(requests) - got), events, None)
        stale = [b for b in range(BLOCKS) if os.pread(buffered, BLOCK, b * BLOCK) != bytes([number]) * BLOCK]
        assert not stale, 'round %d: blocks that a buffered reader sees as they were: %s' % (number, stale)
finally:
    for r in readers: os.kill(r, 9)
PY
  fi
  # Every way to change a file, by its owner, by strangers and by members of its group, as on the native file system; what the
  # kernel shows is what the store has.
  mkdir -p "$base/work/native"
  chmod 755 "$base" "$base/work"
  check "set-id bits go as on the native file system" python3 - "$mnt" "$base/work/native" "$cffs" "$store" <<'PY'
import ctypes, os, subprocess, sys
mnt, native, cffs, store = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
def cached_mode(p):  # statx(2): what the kernel has, without a question
    result = ctypes.create_string_buffer(256)
    if libc.statx(-100, os.fsencode(p), 0x4000, 2, result) != 0: raise OSError(ctypes.get_errno(), p)
    return int.from_bytes(result.raw[28:30], sys.byteorder) & 0o7777
def path_truncate(p, fd): os.truncate(p, 5)
def descriptor_truncate(p, fd): os.ftruncate(fd, 7000)
def opened_empty(p, fd): os.close(os.open(p, os.O_WRONLY | os.O_TRUNC))
def written(p, fd): os.write(fd, b'y')
def appended(p, fd): os.pwrite(fd, b'y', os.fstat(fd).st_size)
def reserved(p, fd): os.posix_fallocate(fd, 0, 9000)
def punched(p, fd):
    if libc.fallocate(fd, 3, ctypes.c_long(0), ctypes.c_long(5)) != 0: raise OSError(ctypes.get_errno())
def copied(p, fd): os.copy_file_range(fd, fd, 3, 0, 10)
ways = [path_truncate, descriptor_truncate, opened_empty, written, appended, reserved, punched, copied]
callers = {'owner': (1000, 1000, [1000]), 'owner in the group': (1000, 2000, [2000]), 'stranger': (1001, 1001, [1001]),
           'member': (1001, 1001, [1001, 2000]), 'root': (0, 0, [0])}
def modes(root):
    at, seen = root + '/setid', {}
    os.mkdir(at)
    os.chmod(at, 0o755)
    for mode in (0o6666, 0o6676, 0o2666, 0o4666, 0o6766, 0o6777):
        for size in (20, 300000):
            for who, (uid, gid, groups) in callers.items():
                for way in ways:
                    p = '%s/%o.%d.%s.%s' % (at, mode, size, who, way.__name__)
                    with open(p, 'wb') as f: f.write(b'x' * size)
                    os.chown(p, 1000, 2000)
                    os.chmod(p, mode)
                    child = os.fork()
                    if child == 0:
                        try:
                            os.setgroups(groups); os.setgid(gid); os.setuid(uid)
                            fd = os.open(p, os.O_RDWR)
                            way(p, fd)
                            os._exit(0)
                        except BaseException as e:
                            print(p, e)
                            sys.stdout.flush()
                            os._exit(1)
                    assert os.waitpid(child, 0)[1] == 0, p
                    seen[os.path.basename(p) + ', cached'] = '%o' % cached_mode(p)
                    seen[os.path.basename(p)] = '%o' % (os.stat(p).st_mode & 0o7777)
    return seen
want, got = modes(native), modes(mnt)
wrong = ['%s: %s, %s natively' % (n, got[n], want[n]) for n in want if got[n] != want[n]]
assert not wrong, '\n'.join(wrong[:12] + ['%d differ' % len(wrong)])
subprocess.check_call([cffs, 'umount', mnt]); subprocess.check_call([cffs, 'mount', store, mnt])
wrong = [n for n in want if ', ' not in n and '%o' % (os.stat(mnt + '/setid/' + n).st_mode & 0o7777) != want[n]]
assert not wrong, 'after a remount: ' + ' '.join(wrong[:12])
PY
  check "special files" bash -c "cd '$mnt' && mkfifo p && mknod n c 1 3 && test -p p && test -c n && echo x >n && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")' && test -S s"
  check "fsync of file and directory" python3 -c "
import os
f = os.open('$mnt/synced', os.O_CREAT | os.O_WRONLY); os.write(f, b'x'); os.fsync(f); os.fdatasync(f)
d = os.open('$mnt', os.O_RDONLY); os.fsync(d)"
  check "df and df -i" bash -c "df '$mnt' >/dev/null && df -i '$mnt' >/dev/null"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

case_errors() {
  fresh || return 1
  mkdir -p "$base/work/other"
  : >"$base/work/file"
  check "unknown command" refused 'cffs: .*see cffs --help' "$cffs" frobnicate
  check "unknown option" refused 'cffs: .*--frob.*' "$cffs" mount --frob "$store" "$mnt"
  check "unknown -o word" refused "unknown mount option 'frob'" "$cffs" mount -o frob "$store" "$mnt"
  check "unknown policy" refused "unknown policy 'magic'" "$cffs" mount --policy=magic "$store" "$mnt"
  check "bad size" refused "wants a size" "$cffs" format --inline-max=lots "$base/work/new"
  check "limits that contradict" refused "composite-file-max must be" "$cffs" format --inline-max=64K --composite-file-max=4K "$base/work/new2"
  check "missing store" refused "store /nonexistent/store: No such file" "$cffs" mount /nonexistent/store "$mnt"
  check "a store that is a file" refused "Not a directory" "$cffs" mount "$base/work/file" "$mnt"
  check "a directory that is no store" refused "is not a cffs store" "$cffs" mount "$base/work/other" "$mnt"
  check "format of a store" refused "is a cffs store already" "$cffs" format "$store"
  check "format of a full directory" refused "is not empty" "$cffs" format "$base/work"
  check "missing mount point" refused "/nonexistent/mnt: No such file" "$cffs" mount "$store" /nonexistent/mnt
  check "mount point that is a file" refused "Not a directory" "$cffs" mount "$store" "$base/work/file"
  check "umount of what is not mounted" refused "is not a cffs mount" "$cffs" umount "$mnt"
  check "import of a missing source" refused "source /nonexistent: No such file" "$cffs" import /nonexistent "$store"
  head -c 5000 /dev/urandom >"$base/work/junk"
  check "import of what is no tar" refused "$base/work/junk: " "$cffs" import "$base/work/junk" "$store"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "busy mount point" refused "mount point .* is busy" "$cffs" mount "$store" "$mnt"
  check "a store in use" refused "is in use by pid [0-9]+ on" "$cffs" mount "$store" "$base/work/other"
  check "import into a mounted store" refused "is in use by pid [0-9]+ on" "$cffs" import "$source_tree/linux" "$store"
  ( failures=0; cd "$mnt" && check "umount while in use" refused "is in use" "$cffs" umount "$mnt"; exit $failures ) || failures=$((failures + 1))
  check "umount" "$cffs" umount "$mnt"
  check "the store is free at once" "$cffs" fsck "$store"
  for command in "stat $store" "fsck $store" "regroup --policy=none --dry-run $store"; do
    check "$command into a full device" refused "standard output: No space left" bash -c "'$cffs' $command >/dev/full"
  done
  check "a plan that is a directory" refused "plan $base/work: Is a directory" "$cffs" regroup --policy=frequency --plan="$base/work" "$store"
  check "read-only mount" bash -c "'$cffs' mount -o ro '$store' '$mnt' && ! touch '$mnt/x' 2>/dev/null && '$cffs' umount '$mnt'"
  printf 'x' | dd of="$store/superblock" bs=1 seek=20 conv=notrunc status=none
  check "a damaged superblock" refused "superblock is missing or damaged, and its copy is whole.*fsck --repair" "$cffs" mount "$store" "$mnt"
  printf 'x' | dd of="$store/superblock.copy" bs=1 seek=20 conv=notrunc status=none
  check "both damaged" refused "superblock: checksum differs|store format" "$cffs" mount "$store" "$mnt"
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
  same_all() { local out; out=$(rsync -aHAX --checksum --dry-run --itemize-changes --delete --omit-dir-times --exclude='/#removed' "$1/" "$2/"); echo "$out"; test -z "$out"; }
  check "the whole tree" same_all "$copy" "$mnt"
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

# Every option of mount(8), of ext4, and of mount.fuse: it works, or is ignored with a word.
case_options() {
  fresh || return 1
  local silent ignored option
  silent="defaults rw ro suid nosuid dev nodev exec noexec sync async dirsync atime noatime diratime nodiratime relatime norelatime strictatime
    nostrictatime nolazytime silent loud nomand noiversion symfollow nosymfollow auto noauto nofail _netdev user nouser users owner group
    comment=words x-systemd.automount x-gvfs-hide acl noacl user_xattr nogrpid sysvgroups nodiscard noquota commit=7 commit=0
    allow_other allow_root default_permissions auto_unmount noallow_other fsname=name subtype=cffs"
  ignored="lazytime mand iversion X-mount.mkdir X-mount.subdir=d loop offset=0 sizelimit=0 private shared slave
    journal_checksum journal_async_commit journal_dev=8 journal_path=/dev/x journal_ioprio=3 noload norecovery data=journal data=ordered
    data=writeback data_err=abort barrier barrier=0 nobarrier max_batch_time=1 min_batch_time=1 auto_da_alloc noauto_da_alloc delalloc
    nodelalloc inode_readahead_blks=8 stripe=4 init_itable=10 noinit_itable discard block_validity noblock_validity dioread_lock
    dioread_nolock max_dir_size_kb=9 i_version quota usrquota grpquota prjquota jqfmt=vfsv1 usrjquota=a grpjquota=a nouser_xattr bsddf minixdf
    check=none nocheck debug errors=remount-ro errors=continue errors=panic grpid bsdgroups resuid=1 resgid=1 sb=1 nouid32 oldalloc orlov bh nobh
    dax inlinecrypt prefetch_block_bitmaps"
  [ -e /sys/fs/selinux/enforce ] || ignored="$ignored context=system_u:object_r:tmp_t:s0 rootcontext=\"a:b:c:s0:c1,c2\""
  works() {  # option, what stderr must say
    timeout 30 "$cffs" mount -o "$1" "$store" "$mnt" 2>"$base/work/said" || { cat "$base/work/said"; return 1; }
    local outcome=0
    [ "$(cat "$base/work/said")" = "$2" ] || { echo "it said: $(cat "$base/work/said")"; outcome=1; }
    ls "$mnt" >/dev/null || outcome=1
    timeout 30 "$cffs" umount "$mnt" && flock --wait 30 "$store/lock" true && return $outcome  # fsname= hides whose mount it was
  }
  for option in $silent; do check "-o $option" works "$option" ""; done
  for option in $ignored; do
    check "-o $option is ignored with a word" works "$option" "cffs: mount option '$option' has no effect on a cffs mount and is ignored"
  done
  check "silent keeps the word back" works silent,lazytime ""
  check "one that nobody knows is refused" refused "unknown mount option 'lazytimes'" "$cffs" mount -o rw,lazytimes "$store" "$mnt"

  # What they do.
  shows() { grep -Eq " $mnt ([^ ]*,)?$1(,| )" /proc/self/mountinfo || { grep "$mnt" /proc/self/mountinfo; return 1; }; }
  "$cffs" mount -o noexec,nosymfollow,nosuid,nodev,strictatime,nodiratime,lazytime "$store" "$mnt" 2>/dev/null || return 1
  for option in noexec nosymfollow nosuid nodev nodiratime; do check "the kernel knows $option" shows $option; done
  check "and of no relatime" bash -c "! grep ' $mnt ' /proc/self/mountinfo | grep -q relatime"
  printf '#!/bin/sh\n' >"$mnt/program" && chmod +x "$mnt/program" && ln -s program "$mnt/link"
  check "noexec" bash -c "! '$mnt/program' 2>/dev/null"
  check "nosymfollow" bash -c "! cat '$mnt/link' 2>'$base/work/err' && grep -q 'Too many levels' '$base/work/err' && test \$(readlink '$mnt/link') = program"
  check "strictatime" bash -c "touch -d 2030-01-01 '$mnt/program' && sleep 0.02 && dd if='$mnt/program' iflag=direct status=none >/dev/null && test \$(stat -c %X '$mnt/program') -lt \$(date -d 2029-01-01 +%s)"
  check "nodiratime" bash -c "mkdir '$mnt/dir' && touch -d 2001-01-01 '$mnt/dir' && ls '$mnt/dir' && test \$(stat -c %x '$mnt/dir' | cut -d- -f1) = 2001"
  check "remount takes the same words" "$cffs" mount -o remount,relatime,diratime,symfollow "$store" "$mnt"
  check "the kernel knows" shows relatime
  check "links are followed" cat "$mnt/link"
  check "umount" "$cffs" umount "$mnt"
  ln -s "$(realpath "$cffs")" "$base/work/mount.cffs"
  check "as mount(8) calls its helper" "$base/work/mount.cffs" "$store" "$mnt" -o rw,noatime,nodiratime,lazytime,errors=remount-ro
  check "noatime" shows noatime
  check "umount" "$cffs" umount "$mnt"
}

# The system gives the daemon no thread any more: everything is served, by those that there are.
case_threads() {
  fresh || return 1
  local group=/sys/fs/cgroup/pids round before watchdog
  [ -e $group/cgroup.procs ] || group=/sys/fs/cgroup
  group=$group/cffs-test.$$
  mkdir $group 2>/dev/null && [ -e $group/pids.max ] || { rmdir $group 2>/dev/null; echo "  no control group for processes: not tried"; return 0; }
  mkdir -p "$base/work/plain"
  before=$failures
  for round in 1 2 3; do
    "$cffs" mount "$store" "$mnt" || break
    echo "$(daemon_pid)" >$group/cgroup.procs
    cat $group/pids.current >$group/pids.max
    # Who waits for a daemon that hangs cannot be killed; the daemon can.
    ( sleep 90 & trap "kill $!" TERM; wait $! && kill -9 "$(daemon_pid)" ) >/dev/null 2>&1 &
    watchdog=$!
    check "writes that wait for the device, several at a time" timeout 40 bash -c "
      for w in 1 2 3 4; do ( for i in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/urandom >'$base/work/plain/'\$w.\$i && dd if='$base/work/plain/'\$w.\$i of='$mnt/'\$w.\$i bs=64K conv=fsync status=none || exit 1; done ) & pids=\"\$pids \$!\"; done
      for p in \$pids; do wait \$p || exit 1; done"
    check "what was written can be read" timeout 40 diff -r "$base/work/plain" "$mnt"
    check "data moves" timeout 40 "$cffs" compact "$mnt"
    check "umount" timeout 40 "$cffs" umount "$mnt"
    kill $watchdog 2>/dev/null
    [ $failures = "$before" ] || { kill_daemon; break; }
  done
  check "fsck" "$cffs" fsck "$store"
  for round in 1 2 3 4; do  # threads there are: its own, and a few
    echo $round >$group/pids.max
    check "with $round threads a mount is refused in one sentence" refused "thread.*Resource temporarily unavailable" \
      timeout 40 bash -c 'echo $$ >"$1/cgroup.procs"; exec "$2" mount -f "$3" "$4"' _ $group "$cffs" "$store" "$mnt"
    check "nothing is mounted" bash -c "! mountpoint -q '$mnt'"
  done
  check "the store is as it was" "$cffs" fsck "$store"
  rmdir $group
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
  check "does not keep a mount" "$cffs" umount "$mnt"
  check "mount" "$cffs" mount --quiet=0.2 "$store" "$mnt"
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
  check "what fsck says" bash -c "'$cffs' fsck '$store' >'$base/work/said3'; test \$? = 4 && test \$(wc -l <'$base/work/said3') = 3"
  check "mount" "$cffs" mount "$store" "$mnt"
  check "a new content is good" bash -c "cp '$base/work/large' '$mnt/large' && cmp '$base/work/large' '$mnt/large'"
  check "mount read-only" bash -c "'$cffs' umount '$mnt' && '$cffs' mount -o ro '$store' '$mnt'"
  check "which is told what to do" refused "is mounted read-only; cffs fsck of its store" "$cffs" scrub "$mnt"
  check "and can do it" bash -c "'$cffs' fsck '$store' >/dev/null; test \$? = 4"
  check "umount" "$cffs" umount "$mnt"
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
}

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
  kill -TERM "$(daemon_pid)"
  for _ in $(seq 50); do mountpoint -q "$mnt" || break; sleep 0.1; done
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
  sleep 2
  check "and gives the space back" bash -c "head -c 50M /dev/zero >'$mnt/again' && rm '$mnt/again'"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  umount "$base/disk"
  store=$base/store
}

# Somebody else takes all the room there is, to the last byte: what is there can be read and removed, the store can be mounted,
# and all goes on when there is room again. Then: the room that df shows is there for writing, that of a removed file at once.
case_full() {
  local headers=$source_tree/linux room
  fill() { dd if=/dev/zero of="$base/disk/other" bs=1M 2>/dev/null; dd if=/dev/zero of="$base/disk/another" bs=1 count=8192 2>/dev/null; true; }
  held() { du -m "$store/reserve" 2>/dev/null | cut -f 1 | grep . || echo 0; }
  no_room() { ! { head -c 1M /dev/urandom >"$1"; } 2>"$base/work/err" && grep -q 'No space left' "$base/work/err"; }
  take_down
  mkdir -p "$base/disk" "$mnt" "$base/work"
  mount -t tmpfs -o size=300m tmpfs "$base/disk" || return 1
  store=$base/disk/store
  "$cffs" format "$store" && "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt" || return 1
  cp -r "$headers" "$mnt/" && cp -r "$headers" "$mnt/copy"
  sleep 1.5
  check "a reserve" test "$(held)" -gt 35
  fill
  check "what was there is there" same "$headers" "$mnt/linux"
  check "no room for a new file" no_room "$mnt/new"
  check "removing works" rm -r "$mnt/copy"
  fill
  check "umount" "$cffs" umount "$mnt"
  fill
  check "a full store can be mounted" "$cffs" mount --commit-interval=0.5 "$store" "$mnt"
  fill
  check "what was there is there still" same "$headers" "$mnt/linux"
  check "removing works again" rm -r "$mnt/linux/usb"
  check "no room for a new file, and nothing worse" no_room "$mnt/new"
  rm "$base/disk/other" "$base/disk/another"
  touch "$mnt/reserves"
  check "a small file reserves room" fallocate -n -l 10M "$mnt/reserves"
  "$cffs" compact "$mnt"
  check "and keeps it when all is moved" test "$(stat --cached=never -c %b "$mnt/reserves")" -ge 20480
  rm "$mnt/reserves"
  check "there is room again" bash -c "head -c 50M /dev/urandom >'$mnt/again' && rm '$mnt/again'"
  for _ in $(seq 50); do [ "$(held)" -gt 35 ] && break; sleep 0.1; done
  check "and a reserve again" test "$(held)" -gt 35
  check "umount again" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"

  "$cffs" mount --commit-interval=300 "$store" "$mnt"
  room=$(($(stat -f -c '%a * %S' "$mnt") - (1 << 20)))
  check "the room that df shows can be had" fallocate -l $room "$mnt/large"
  rm "$mnt/large"
  check "and had again at once" dd if=/dev/zero of="$mnt/large" bs=1M count=$(((room >> 20) - 4))
  rm "$mnt/large"
  check "by small files too" bash -c "for i in \$(seq 300); do head -c 10000 /dev/zero >'$mnt/small'\$i || exit 1; done"
  check "last umount" "$cffs" umount "$mnt"
  umount "$base/disk"
  store=$base/store
}

# Others hold the mount: a mount namespace of their own, open files, a second place. Nobody waits in silence, nothing is lost.
# A disk full of small files, and others who took the last of it: what is removed comes back, at once or by compaction.
case_emptied() {
  local deleted
  room() { echo $(($(stat -f -c '%a * %S' "$mnt") >> 20)); }
  becomes() {  # MB: so much room, within half a minute
    for _ in $(seq 150); do [ "$(room)" -lt "$1" ] || return 0; sync; sleep 0.2; done
    echo "$(room) MB, not $1"; "$cffs" stat "$mnt"; ls -l "$store/table"
    return 1
  }
  take_down
  mkdir -p "$base/disk" "$mnt" "$base/work"
  mount -t tmpfs -o size=200m tmpfs "$base/disk" || return 1
  store=$base/disk/store
  "$cffs" format "$store" && "$cffs" mount --quiet=0.3 --commit-interval=0.5 "$store" "$mnt" || return 1
  cat >"$base/work/files.py" <<'PY'
import os, random, sys
what, root = sys.argv[1:]
r = random.Random(3)
if what == 'fill':
    data = r.randbytes(1 << 16)
    try:
        for n in range(1000000):
            if n % 100 == 0: os.mkdir(f'{root}/{n // 100}')
            with open(f'{root}/{n // 100}/{n}', 'wb') as f: f.write(data[:r.randrange(500, 12000)])
    except OSError as e:
        sys.exit(0 if e.errno == 28 else str(e))
gone = 0
for path, _, names in os.walk(root):
    for name in sorted(names):
        if r.random() < float(what):
            gone += os.stat(f'{path}/{name}').st_size
            os.unlink(f'{path}/{name}')
print(gone >> 20)
PY
  check "files until the disk is full" python3 "$base/work/files.py" fill "$mnt"
  dd if=/dev/zero of="$base/disk/other" bs=1M 2>/dev/null
  deleted=$(python3 "$base/work/files.py" 0.65 "$mnt")
  check "two thirds of them are removed" test "${deleted:-0}" -gt 40
  check "most of their room is there again" becomes $((deleted / 2))
  check "all are removed" python3 "$base/work/files.py" 1 "$mnt"
  check "and all the room is" becomes 120
  check "umount" "$cffs" umount "$mnt"
  check "compact" "$cffs" compact "$store"
  check "next to nothing is left, beside the reserve" test "$(du -m -s --exclude=reserve "$store" | cut -f 1)" -lt 4
  check "fsck" "$cffs" fsck "$store"
  umount "$base/disk"
  store=$base/store
}
case_holders() {
  local holder outcome
  unmounted() { ! mountpoint -q "$mnt"; }
  said() { grep -Eq "$1" "$base/work/said" || { echo "not said: $1"; cat "$base/work/said"; return 1; }; }
  # Interrupted as by Ctrl-C after some seconds; a shell that ignores SIGINT must not count.
  interrupted() { timeout 60 env --default-signal=INT timeout --preserve-status -s INT 5 "$cffs" umount "$1" 2>"$base/work/said"; }
  end_of() { kill "$1" 2>/dev/null; wait "$1" 2>/dev/null; }
  in_own_namespace() { unshare -m --propagation private sleep 120 & holder=$!; until grep -q "$mnt" "/proc/$holder/mountinfo" && grep -q sleep "/proc/$holder/comm"; do sleep 0.05; done; }

  fresh -- --commit-interval=60 || return 1
  unshare -m true 2>/dev/null || { echo "  no mount namespaces here: not tried"; return 0; }
  echo acknowledged >"$mnt/file"
  in_own_namespace
  interrupted "$mnt"; outcome=$?
  check "Ctrl-C ends the waiting with 130" test $outcome = 130
  check "it said who holds the mount" said "mounted on $mnt in the mount namespace of pid $holder \\(sleep 120\\)"
  check "and what is left" said "the mount is gone here; store $store is still in use by pid [0-9]+ on"
  check "the mount is gone here" unmounted
  check "the store is still in use" refused "is in use by pid" "$cffs" fsck "$store"
  check "without --force a store is no mount" refused "with --force the store" "$cffs" umount "$store"
  check "--force of the store" timeout 60 "$cffs" umount --force "$store"
  check "the store is free" "$cffs" fsck "$store"
  end_of $holder

  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  check "what was acknowledged is there" grep -qx acknowledged "$mnt/file"
  in_own_namespace
  ( sleep 4; kill $holder ) &
  check "umount returns when the holder ends" timeout 60 "$cffs" umount "$mnt"
  wait
  check "fsck" "$cffs" fsck "$store"

  mkdir "$base/work/second"
  "$cffs" mount --commit-interval=60 "$store" "$mnt" && mount --bind "$mnt" "$base/work/second" || return 1
  interrupted "$mnt"; outcome=$?
  check "Ctrl-C beside a bind mount" test $outcome = 130
  check "the bind mount is named" said "mounted here too, on $base/work/second"
  echo 'written through the other' >"$base/work/second/more"
  umount "$base/work/second"
  check "then the daemon ends" timeout 30 flock --exclusive "$store/lock" true

  # In use here: who is named; --force detaches, and maps and files of others are made durable first.
  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  check "and has it all" grep -qx 'written through the other' "$mnt/more"
  truncate -s 4096 "$mnt/mapped"
  map_it() {
    rm -f "$base/work/ready"
    python3 - "$mnt/mapped" "$base/work/ready" <<'PY' &
import mmap, sys, time
f = open(sys.argv[1], 'r+b')
m = mmap.mmap(f.fileno(), 4096)
m[0:6] = b'mapped'
open(sys.argv[2], 'w').close()
time.sleep(120)
PY
    holder=$!
    until [ -e "$base/work/ready" ]; do sleep 0.05; done
  }
  map_it
  check "a busy mount names who" refused "$mnt is in use by pid $holder \\([^;]*python3 [^;]*; (mapped )?file $mnt/mapped\\)" "$cffs" umount "$mnt"
  check "it is still mounted" mountpoint -q "$mnt"
  end_of $holder
  # A user that nobody can name: a descriptor on its way between two processes. It is waited for, but not for long.
  in_flight() {  # seconds: holds one for so long
    python3 - "$mnt/mapped" "$base/work/flying" "$1" <<'PY' &
import os, socket, sys, time
a, b = socket.socketpair()
f = os.open(sys.argv[1], os.O_RDONLY)
socket.send_fds(a, [b'x'], [f])
os.close(f)
open(sys.argv[2], 'w').close()
time.sleep(float(sys.argv[3]))
PY
    holder=$!
    until [ -e "$base/work/flying" ]; do sleep 0.05; done
    rm "$base/work/flying"
  }
  in_flight 120
  check "who can't be seen" refused "is in use, by nobody that can be seen from here" "$cffs" umount "$mnt"
  end_of $holder
  in_flight 0.7
  check "who can't be seen and is soon gone" "$cffs" umount "$mnt"
  end_of $holder
  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  map_it
  check "--force although it is in use" timeout 60 "$cffs" umount --force "$mnt"
  check "the mount is gone" unmounted
  end_of $holder
  check "mount" "$cffs" mount "$store" "$mnt"
  check "what was changed through the map is there" bash -c "head -c 6 '$mnt/mapped' | grep -qx mapped"

  # Another mount took the place: the daemon of the first must leave it alone when it is ended.
  in_own_namespace
  interrupted "$mnt"
  mkdir "$base/work/other" && "$cffs" format "$base/work/other" && "$cffs" mount "$base/work/other" "$mnt" || return 1
  check "--force of the first store" timeout 60 "$cffs" umount --force "$store"
  check "the second mount stays" mountpoint -q "$mnt"
  check "umount of it" timeout 60 "$cffs" umount "$mnt"
  end_of $holder
  check "fsck of both" bash -c "'$cffs' fsck '$store' && '$cffs' fsck '$base/work/other'"

  # Several read-only mounts: each has a daemon; the store's --force ends them all.
  mkdir -p "$base/work/second" && "$cffs" mount -o ro "$store" "$mnt" && "$cffs" mount -o ro "$store" "$base/work/second" || return 1
  check "--force of a store with two read-only mounts" timeout 60 "$cffs" umount --force "$store"
  check "the first is gone" unmounted
  check "the second is gone" bash -c "! mountpoint -q '$base/work/second'"

  "$cffs" mount -o fsname=alias "$store" "$mnt" || return 1
  check "--force of a mount with another name asks for the store" refused "not the store's path" "$cffs" umount --force "$mnt"
  check "--force of the store unmounts" timeout 60 "$cffs" umount --force "$store"
  check "so that it is free" "$cffs" fsck "$store"
  check "and the mount gone" unmounted
}

# A mount right behind the end of the one before: the daemon that is leaving is waited for, one that stays is not.
# A store that another user owns and has prepared: root neither reads nor changes its own files through it.
case_foreign() {
  local secret=$base/secret user=nobody command options
  command -v setpriv >/dev/null || { echo "  no setpriv here: not tried"; return 0; }
  as_user() { setpriv --reuid="$user" --regid=nogroup --clear-groups "$@"; }
  fresh || return 1
  rm -rf "$store"; chmod 755 "$base"; mkdir "$store"; chown "$user" "$store"
  check "the user makes a store" as_user "$cffs" format --inline-max=512 "$store"
  mkdir "$base/work/src"; head -c 2000000 /dev/zero >"$base/work/src/victim"; head -c 2000000 /dev/zero >"$base/work/src/pipe"; chmod 755 "$base/work"
  cp /bin/true "$base/work/src/setuid"; chmod 6755 "$base/work/src/setuid"; mknod "$base/work/src/null" c 1 3
  "$cffs" import --foreign-owner "$base/work/src" "$store" >/dev/null && chown -R "$user" "$store"
  check "the user reads its own" as_user "$cffs" stat "$store"
  echo "root's own" >"$secret"; chmod 600 "$secret"
  number_of() { "$cffs" dump --foreign-owner "$store" | sed -n "/^  '$1'/{n;s/ *inode \([0-9]*\) .*/\1/p}"; }
  local inode; inode=$(number_of victim)
  local pipe; pipe=$(number_of pipe)
  check "the victim is a blob" test -f "$store/blobs/0/$inode"
  rm "$store/blobs/0/$inode" "$store/blobs/0/$pipe"
  as_user ln -s "$secret" "$store/blobs/0/$inode"; as_user mkfifo "$store/blobs/0/$pipe"
  untouched() { [ "$(cat "$secret")" = "root's own" ]; }

  check "mount refuses it" refused "store $store is not yours: $store belongs to user [0-9]+, .*--foreign-owner" "$cffs" mount "$store" "$mnt"
  for command in stat fsck "fsck --repair" dump compact "regroup --policy=none"; do
    # shellcheck disable=SC2086  # words
    check "$command refuses it" refused "is not yours.*--foreign-owner" "$cffs" $command "$store"
  done
  check "export refuses it" refused "is not yours" "$cffs" export "$store" "$base/work/out"
  check "import refuses it" refused "is not yours" "$cffs" import "$base/work/src" "$store"
  mkdir "$base/work/theirs"; chown "$user" "$base/work/theirs"
  check "format refuses another's directory" refused "is not yours" "$cffs" format "$base/work/theirs"

  for options in "--foreign-owner" "-o foreign_owner"; do
    # shellcheck disable=SC2086
    check "mount $options" "$cffs" mount $options "$store" "$mnt"
    check "nosuid, nodev" bash -c "findmnt -no OPTIONS '$mnt' | grep -q nosuid.*nodev"
    check "a link is not read" bash -c "! timeout 10 cat '$mnt/victim'"
    check "a link is not written to" bash -c "! timeout 10 dd if=/dev/zero of='$mnt/victim' bs=4k count=1 conv=notrunc status=none"
    (echo x >>"$mnt/victim") 2>/dev/null
    check "a FIFO makes nobody wait" bash -c "! timeout 10 cat '$mnt/pipe'; test \$? = 0"
    check "root's file is as it was" untouched
    check "the set-user-ID program runs as nobody else" bash -c "'$mnt/setuid'"
    check "a device is none" bash -c "! head -c1 '$mnt/null'"
    check "umount" timeout 60 "$cffs" umount "$mnt"
  done
  check "mount with suid, asked for" "$cffs" mount --foreign-owner -o suid "$store" "$mnt"
  check "suid, nodev" bash -c "findmnt -no OPTIONS '$mnt' | grep -v nosuid | grep -q nodev"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  check "mount" "$cffs" mount --foreign-owner "$store" "$mnt"
  check "remount" "$cffs" mount -o remount,noatime "$store" "$mnt"
  check "a remount keeps nosuid, nodev" bash -c "findmnt -no OPTIONS '$mnt' | grep -q nosuid.*nodev"
  (echo x >"$mnt/victim") 2>/dev/null
  check "removing the link" rm -f "$mnt/victim"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  check "root's file is as it was" untouched
  check "fsck ends" bash -c "timeout 60 '$cffs' fsck --foreign-owner '$store'; test \$? -lt 8"

  fresh -- || return 1
  check "root's own store: suid, dev" bash -c "! findmnt -no OPTIONS '$mnt' | grep -q 'nosuid\|nodev'"
  check "umount" timeout 60 "$cffs" umount "$mnt"
  chmod 777 "$store"
  check "mount of one that all can write to" "$cffs" mount "$store" "$mnt"
  check "nosuid, nodev there" bash -c "findmnt -no OPTIONS '$mnt' | grep -q nosuid.*nodev"
}

case_successors() {
  local round way holder
  fresh || return 1
  dirty() { head -c 3000000 /dev/urandom >"$mnt/blob.$1" && echo "$1" >"$mnt/small.$1"; }
  for way in cffs umount fusermount3 signal; do
    for round in $(seq 20); do
      "$cffs" mount --commit-interval=60 "$store" "$mnt" 2>"$base/work/err" || { cat "$base/work/err"; echo "  FAILED: mount after $way, round $round"; failures=$((failures + 1)); break; }
      dirty "$way.$round"
      case $way in
        cffs) timeout 60 "$cffs" umount "$mnt" ;;
        umount) umount -i "$mnt" ;;
        fusermount3) fusermount3 -u "$mnt" ;;
        signal) kill -TERM "$(daemon_pid)" && while mountpoint -q "$mnt"; do sleep 0.001; done ;;
      esac
    done
    mountpoint -q "$mnt" && timeout 60 "$cffs" umount "$mnt"
  done
  for round in $(seq 5); do
    check "after one with another name" "$cffs" mount -o fsname=alias "$store" "$mnt"
    dirty "alias.$round"
    check "its umount" timeout 60 "$cffs" umount "$mnt"
  done
  for round in $(seq 5); do
    check "read-only, at once" "$cffs" mount -o ro "$store" "$mnt"
    umount -i "$mnt"
    check "for writing, after one that was read-only" "$cffs" mount "$store" "$mnt"
    umount -i "$mnt"
  done
  check "all is there" bash -c "'$cffs' mount '$store' '$mnt' && test \$(ls '$mnt' | wc -l) = 170 && '$cffs' umount '$mnt'"

  # umount(8) looks at the mount first, which waits for the daemon.
  detach() { python3 -c 'import ctypes, os, sys; sys.exit(ctypes.CDLL(None).umount2(os.fsencode(sys.argv[1]), 0) != 0)' "$mnt"; }
  # Its daemon takes its time: who mounts says for whom he waits.
  "$cffs" mount --commit-interval=60 "$store" "$mnt" || return 1
  dirty slow
  holder=$(daemon_pid)
  kill -STOP "$holder"
  detach || { kill -KILL "$holder"; return 1; }
  ( sleep 5; kill -CONT "$holder" ) &
  check "mount behind a slow daemon" timeout 60 "$cffs" mount "$store" "$mnt"
  check "what it had is there" test -s "$mnt/blob.slow"
  wait
  check "umount" "$cffs" umount "$mnt"
  "$cffs" mount "$store" "$mnt" || return 1
  holder=$(daemon_pid)
  kill -STOP "$holder"
  detach || { kill -KILL "$holder"; return 1; }
  timeout --preserve-status -s INT 4 env --default-signal=INT "$cffs" mount "$store" "$mnt" 2>"$base/work/said"
  check "it says for whom it waits" grep -Eq "in use by pid $holder on .*, whose mount is gone; waiting until it has closed the store" "$base/work/said"
  kill -CONT "$holder"
  check "the store becomes free" timeout 30 flock "$store/lock" true
  sleep 0.5
  check "who gave up waiting has not mounted" bash -c "! mountpoint -q '$mnt'"
  check "and the store is free" "$cffs" fsck "$store"

  # In use is in use: no waiting, the present message. A bound is far above the time that a refusal takes.
  mkdir -p "$base/work/second"
  "$cffs" mount "$store" "$mnt" || return 1
  check "a store in use" refused "is in use by pid [0-9]+ on .*; unmount it, or wait for that command" timeout 10 "$cffs" mount "$store" "$base/work/second"
  if unshare -m true 2>/dev/null; then
    unshare -m --propagation private sleep 120 & holder=$!
    until grep -q "$mnt" "/proc/$holder/mountinfo" && grep -q sleep "/proc/$holder/comm"; do sleep 0.05; done
    umount -i "$mnt"
    check "a store in use in another namespace" refused "is in use by pid [0-9]+ on" timeout 10 "$cffs" mount "$store" "$base/work/second"
    kill $holder
    wait $holder 2>/dev/null
    check "and when that ends" "$cffs" mount "$store" "$mnt"
  fi
  exec 9<"$mnt/small.slow"
  umount -l -i "$mnt"
  check "a store with a file in use" refused "is in use by pid [0-9]+ on" timeout 10 "$cffs" mount "$store" "$mnt"
  exec 9<&-
  check "and when that is closed" "$cffs" mount "$store" "$mnt"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
}

# Every byte, name and time of a store; access times too, as its owner looks without touching them.
bytes_of() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }
times_of() { (cd "$1" && find . -printf '%p %y %s %T@ %C@ %A@\n' | sort); }
unchanged() {  # command...: succeeds, and leaves the store as it was
  times_of "$store" >/dev/null  # where times are relative, this look is the last to set them
  times_of "$store" >"$base/work/times" && bytes_of "$store" >"$base/work/bytes" && times_of "$store" >"$base/work/times"
  "$@" >"$base/work/look.out" 2>&1 || { cat "$base/work/look.out"; return 1; }
  times_of "$store" | diff "$base/work/times" - && bytes_of "$store" | diff "$base/work/bytes" -
}
export_is() { rm -rf "$2" && "$cffs" export "$store" "$2" && same "$1" "$2"; }
mount_shows() { "$cffs" mount -o ro "$store" "$mnt" && same "$1" "$mnt" && "$cffs" umount "$mnt"; }
look() {  # what, tree
  check "$1: stat" unchanged "$cffs" stat --json "$store"
  check "$1: dump" unchanged "$cffs" dump --hex "$store"
  check "$1: fsck" unchanged "$cffs" fsck "$store"
  check "$1: export to a directory" unchanged export_is "$2" "$base/work/out"
  check "$1: export to a tar" unchanged "$cffs" export "$store" "$base/work/out.tar"
  check "$1: regroup --dry-run" unchanged "$cffs" regroup --policy=reference --dry-run "$store"
  check "$1: mount -o ro" unchanged mount_shows "$2"
}

case_looking() {
  local headers=$source_tree/linux
  fresh --inline-max=512 || return 1
  check "import" "$cffs" import "$headers" "$store"
  look "closed" "$headers"

  "$cffs" mount "$store" "$mnt"
  cp -r "$headers/can" "$mnt/copy" && head -c 300000 /dev/urandom >"$mnt/blob" && cp "$mnt/blob" "$mnt/removed" && sync -f "$mnt"
  rm -r "$mnt/usb" "$mnt/removed" && mv "$mnt/can" "$mnt/moved" && echo late >"$mnt/late"
  cp -r "$mnt" "$base/work/tree"
  check "a look at a mounted store is refused" refused "is in use by pid [0-9]+ on" "$cffs" fsck "$store"
  kill_daemon
  check "there is a log to be replayed" bash -c "test \$(cat '$store'/table/*.log | wc -c) -gt 1000"
  look "killed" "$base/work/tree"

  "$cffs" mount -o ro "$store" "$mnt"
  check "a look beside a read-only mount" "$cffs" fsck "$store"
  check "no mount for writing beside it" refused "is in use by a read-only mount, or a command that looks" \
    "$cffs" mount "$store" "$base/work"
  check "it cannot be made writable" refused "unmount it and mount it again" "$cffs" mount -o remount,rw "$store" "$mnt"
  mount -i -o remount,rw "$mnt" 2>/dev/null
  check "nor behind its back" bash -c "! touch '$mnt/new' 2>'$base/work/err' && grep -q 'Read-only' '$base/work/err'"
  check "umount" "$cffs" umount "$mnt"
  check "the store is free at once" "$cffs" mount "$store" "$mnt"
  check "and is as it was left" same "$base/work/tree" "$mnt"
  kill_daemon

  truncate -s 200M "$base/work/image" && mkfs.ext4 -q -F "$base/work/image" && mkdir -p "$base/disk"
  mount -o loop "$base/work/image" "$base/disk" 2>/dev/null || { echo "  no loop devices: a read-only medium was not tried"; return 0; }
  cp -a "$store" "$base/disk/store" && umount "$base/disk" && mount -o loop,ro "$base/work/image" "$base/disk"
  local here=$store
  store=$base/disk/store
  look "read-only medium" "$base/work/tree"
  check "a mount for writing is refused there" refused "Read-only file system" "$cffs" mount "$store" "$mnt"
  store=$here
  umount "$base/disk"
}

# Stores with features of the future: tests/golden has a superblock with one of each class.
case_features() {
  local golden=$(dirname "$0")/../golden before
  fresh
  cp "$golden/compatible.superblock" "$store/superblock"
  check "an unknown compatible feature is no matter" "$cffs" mount "$store" "$mnt"
  check "the store can be changed" touch "$mnt/file"
  "$cffs" umount "$mnt"
  check "the feature stays" cmp "$golden/compatible.superblock" "$store/superblock"

  fresh
  cp "$golden/read-only-compatible.superblock" "$store/superblock"
  before=$(cd "$store" && sha256sum superblock table/*)
  local only='has "journals" \(read-only compatible feature 2\), which cffs .* does not know: .*made by cffs 9.8.7'
  check "no mount for writing" refused "$only" "$cffs" mount "$store" "$mnt"
  check "no repair" refused "$only" "$cffs" fsck --repair "$store"
  check "no import" refused "$only" "$cffs" import "$base/work" "$store"
  check "a mount to look" "$cffs" mount -o ro "$store" "$mnt"
  check "it can be listed" ls -l "$mnt"
  check "and not changed" refused "Read-only file system" touch "$mnt/file"
  check "umount" "$cffs" umount "$mnt"
  check "fsck" "$cffs" fsck "$store"
  check "dump" "$cffs" dump "$store"
  check "export" "$cffs" export "$store" "$base/work/out"
  check "nothing was changed" [ "$before" = "$(cd "$store" && sha256sum superblock table/*)" ]

  fresh
  cp "$golden/incompatible.superblock" "$store/superblock"
  local word
  for word in mount stat dump fsck; do
    check "$word is refused" refused "needs incompatible feature 1048576, which cffs .* does not know; it was made by cffs 9.8.7" \
      "$cffs" $word "$store" $([ $word != mount ] || echo "-o ro $mnt")
  done
}

run_cases import transfer archives writers programs names files errors options threads full emptied damage scrub backup salvage repair looking features holders foreign successors -- "$@"
