#!/usr/bin/env python3
"""Several processes make random calls of every kind in one tree, as fsstress does. usage: random_calls.py DIR PROCESSES SECONDS SEED
Errors that a call may answer are no failure; a hang, a crash of the file system, or an errno that no call may give are."""
import ctypes, errno, fcntl, mmap, os, random, struct, sys, time

top, processes, seconds, seed = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
ALLOWED = {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EINVAL, errno.ELOOP, errno.EBUSY, errno.EPERM, errno.EXDEV, errno.EMLINK,
           errno.ENODATA, errno.ENOSPC, errno.ENXIO, errno.ESTALE, errno.EACCES, errno.EOPNOTSUPP, errno.ENAMETOOLONG, errno.EBADF, errno.EAGAIN, errno.ESPIPE, errno.ENODEV,
           errno.EPIPE}  # a FIFO whose reader went

# Linux 6.17 and later lose bytes that are written across the end of a FUSE file while the page there is written back from a
# mapping, before the file system sees them (docs/COMPATIBILITY.md): there a file is mapped by one process and not written by others.
MAPPED_ALONE = tuple(int(n) for n in os.uname().release.split('.')[:2]) >= (6, 17)


def checked(r):
    if r < 0: raise OSError(ctypes.get_errno(), 'call')
    return r


def work(n):
    r = random.Random(seed * 1000 + n)
    names = [f'{c}{i}' for c in 'df' for i in range(12)]
    def path(): return os.path.join(top, *[r.choice(names) for _ in range(r.choice((1, 1, 2, 2, 3)))])
    def opened(flags): return os.open(path(), flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    def alone(h, how):
        if MAPPED_ALONE: fcntl.flock(h, how)
    def with_file(flags, f):
        h = opened(flags)
        try:
            alone(h, fcntl.LOCK_EX if f is mapped else fcntl.LOCK_SH)
            f(h)
        finally: os.close(h)
    def size(): return r.choice((0, 10, 500, 4096, 9000, 70000, 300000, 1500000))
    def data(): return bytes([r.randrange(256)]) * r.choice((1, 50, 1000, 4096, 20000, 200000))
    def mapped(h):
        if os.fstat(h).st_size < 100: return
        m = mmap.mmap(h, 0); m[r.randrange(len(m))] = 7; m.close()
    def direct():
        m = mmap.mmap(-1, 8192); m.write(b'D' * 8192)
        with_file(os.O_RDWR | os.O_CREAT | os.O_DIRECT, lambda h: (os.pwrite(h, m, r.randrange(50) * 4096), os.preadv(h, [m], r.randrange(50) * 4096)))
    def unnamed():
        h = os.open(top, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            os.write(h, data())  # nobody else has it yet
            if r.random() < 0.7: checked(libc.linkat(h, b'', -100, os.fsencode(path()), 0x1000))
        finally: os.close(h)
    def copy():
        a = opened(os.O_RDONLY)
        try: with_file(os.O_WRONLY | os.O_CREAT, lambda b: os.copy_file_range(a, b, r.choice((100, 5000, 400000)), r.choice((0, 50)), r.choice((0, 3000))))
        finally: os.close(a)
    held = []
    def hold():
        held.append(opened(os.O_RDWR))
        if len(held) > 8: os.close(held.pop(r.randrange(8)))
    def use_held():
        if not held: return
        h = r.choice(held)
        alone(h, fcntl.LOCK_SH)
        try: os.pwrite(h, data(), size()); os.pread(h, 5000, 0); os.fstat(h)
        finally: alone(h, fcntl.LOCK_UN)
    calls = [lambda: os.close(opened(os.O_CREAT | os.O_RDWR)), lambda: os.mkdir(path()), lambda: os.unlink(path()), lambda: os.rmdir(path()), lambda: os.symlink('x' * r.choice((1, 100, 3000)), path()), lambda: os.link(path(), path(), follow_symlinks=False), lambda: os.rename(path(), path()),
             lambda: checked(libc.renameat2(-100, os.fsencode(path()), -100, os.fsencode(path()), r.choice((1, 2, 4)))), lambda: with_file(os.O_WRONLY | os.O_CREAT, lambda h: os.pwrite(h, data(), size())), lambda: with_file(os.O_WRONLY | os.O_APPEND | os.O_CREAT, lambda h: os.write(h, data())),
             lambda: with_file(os.O_RDONLY, lambda h: os.pread(h, 200000, 0)), lambda: with_file(os.O_RDWR, lambda h: os.ftruncate(h, size())), lambda: with_file(os.O_RDWR, lambda h: checked(libc.fallocate(h, r.choice((0, 1, 3, 16, 17)), size(), r.choice((1, 5000, 200000))))), lambda: with_file(os.O_RDWR, mapped), direct, unnamed, copy, hold, use_held,
             lambda: os.setxattr(path(), f'user.{r.randrange(5)}', data()[:3000], follow_symlinks=False), lambda: os.removexattr(path(), f'user.{r.randrange(5)}', follow_symlinks=False), lambda: os.listxattr(path(), follow_symlinks=False), lambda: os.chmod(path(), r.randrange(0o10000) | 0o600), lambda: os.lchown(path(), r.randrange(3), r.randrange(3)), lambda: os.utime(path(), (r.randrange(10**9), r.randrange(10**9)), follow_symlinks=False),
             lambda: os.listdir(path()), lambda: [e.stat(follow_symlinks=False) for e in os.scandir(path())], lambda: with_file(os.O_RDONLY, os.fsync), lambda: os.mkfifo(path()), lambda: os.statvfs(path()), lambda: os.readlink(path()), lambda: with_file(os.O_RDONLY, lambda h: os.lseek(h, size(), r.choice((3, 4))))]
    end = time.time() + seconds
    done = 0
    while time.time() < end:
        try: r.choice(calls)()
        except OSError as e:
            if e.errno not in ALLOWED: print(f'process {n}: {e}', flush=True); os._exit(1)
        except ValueError: pass  # a file that shrank before it was mapped
        done += 1
    print(f'process {n}: {done} calls', flush=True)
    os._exit(0)


pids = []
for n in range(processes):
    pid = os.fork()
    if pid == 0:
        # A mapped file may shrink under the store to it; that signal ends the call, not the test.
        try: work(n)
        except BaseException as e: print(f'process {n}: {e!r}', flush=True); os._exit(2)
    pids.append(pid)
bad = 0
for p in pids:
    status = os.waitpid(p, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == 7: continue  # SIGBUS: see above
    bad |= status != 0
sys.exit(1 if bad else 0)
