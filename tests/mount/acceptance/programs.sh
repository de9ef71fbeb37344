# What programs do with files: many at once, odd names, every kind of change. Sourced by acceptance.sh.

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
import mmap, os, sys, time
path = sys.argv[1] + '/grow'
MiB = 1 << 20
shrinks = mmap.mmap(-1, 1)  # shared with the reader
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
            if data != pattern[:len(data)]:
                # Who reads while the end moves back may see zeros behind the new one, on every file system: docs/COMPATIBILITY.md.
                right = next(i for i in range(len(data)) if data[i] != pattern[i])
                if not shrinks[0] or right < 100 or data[right:].strip(b'\0'): os._exit(1)
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
shrinks[0] = 1
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
subprocess.check_call([cffs, 'umount', mnt]); subprocess.check_call([cffs, 'mount', '-o', 'suid,dev', store, mnt])
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
