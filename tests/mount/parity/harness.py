"""What the cases are written with: C functions and Linux's numbers, files, other identities, notes."""

import ctypes
import errno
import json
import mmap
import os
import stat
import time

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW = -100, 0x1000, 0x400, 0x100
KEEP, PUNCH, COLLAPSE, ZERO, INSERT, UNSHARE = 1, 2, 8, 16, 32, 64  # of fallocate
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4  # of renameat2
USER, OTHER = 65534, 1  # nobody, daemon
long = ctypes.c_long

libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, long, long]
libc.lseek.restype = libc.copy_file_range.restype = libc.splice.restype = long
libc.lseek.argtypes = [ctypes.c_int, long, ctypes.c_int]


def call(name, *args):
    """A C function; its result or OSError. Integers are passed as long."""
    return call_checked(getattr(libc, name)(*[long(a) if isinstance(a, int) else a for a in args]))


def call_checked(r):
    """What a C function returned, or OSError."""
    if r < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return r


def fallocate(fd, mode, offset, length):
    return call_checked(libc.fallocate(fd, mode, offset, length))


def renameat2(a, b, flags):
    return call('renameat2', AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), flags)


class Notes:
    def __init__(self):
        self.list = []

    def note(self, label, value):
        self.list.append((label, repr(value)))

    def __call__(self, label, function, *args, **kw):
        """Notes the result of a call, without what depends on the directory: descriptors become 'fd'."""
        try:
            r = function(*args, **kw)
        except OSError as e:
            r = errno.errorcode.get(e.errno, e.errno)
        except OverflowError:
            r = 'overflow'
        if function in (os.open, os.dup) and isinstance(r, int):
            os.close(r)
            r = 'fd'
        self.note(label, r)
        return r


def make(name, content=b'', mode=0o644):
    with open(name, 'wb') as f:
        f.write(content)
    os.chmod(name, mode)
    return name


def read(name):
    with open(name, 'rb') as f:
        return f.read()


def look(name, follow=False):
    s = os.stat(name, follow_symlinks=follow)
    return (
        stat.filemode(s.st_mode),
        oct(s.st_mode & 0o7777),
        s.st_nlink,
        s.st_uid,
        s.st_gid,
        'dir' if stat.S_ISDIR(s.st_mode) else s.st_size,
    )


def hash_of(data):
    import hashlib

    return hashlib.sha1(data).hexdigest()[:12]


def make_raw(name, mode):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode))


def mmapped(name):
    f = os.open(name, os.O_RDWR)
    m = mmap.mmap(f, 10)
    m[0:1] = b'M'
    m.flush()
    m.close()
    os.close(f)


def changed(action, *names):
    """Which times of which names an action moves: names -> subset of 'amc'."""
    before = {}
    for n in names:
        s = os.lstat(n)
        before[n] = (s.st_ino, s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)
    time.sleep(0.012)
    action()
    out = {}
    for n in names:
        try:
            s = os.lstat(n)
        except OSError:
            out[n] = 'gone'
            continue
        out[n] = ''.join(
            c
            for c, x, y in zip('amc', before[n][1:], (s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns))
            if x != y
        )
    return out


def as_user(uid, function, groups=(), gid=None):
    """Runs in a child with this identity; returns what it noted or the errno."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(r)
            os.setgroups(list(groups))
            os.setresgid(*[uid if gid is None else gid] * 3)
            os.setresuid(uid, uid, uid)
            try:
                out = function()
            except OSError as e:
                out = errno.errorcode.get(e.errno, e.errno)
            os.write(w, json.dumps(out, default=repr).encode())
        finally:
            os._exit(0)
    os.close(w)
    data = b''
    while True:
        piece = os.read(r, 65536)
        if not piece:
            break
        data += piece
    os.close(r)
    os.waitpid(pid, 0)
    return json.loads(data or b'"died"')


def errors(*functions):
    out = []
    for f in functions:
        try:
            r = f()
            out.append('ok' if r is None or isinstance(r, int) else r)
        except OSError as e:
            out.append(errno.errorcode.get(e.errno, e.errno))
    return out
