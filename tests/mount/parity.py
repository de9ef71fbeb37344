#!/usr/bin/env python3
"""Runs system calls on two directories and compares what they answer and leave behind.

usage: parity.py [--differences FILE] NATIVE MOUNT [CASE...]

Each case is a function that gets an empty directory as its working directory and notes (label, outcome) pairs: a result, or
the name of an errno. The outcomes of both directories must be the same, but for the labels that FILE (docs/COMPATIBILITY.md)
lists as `case: label` in the first column of a table, each of which must really differ. Exit 1 where anything else differs.
"""
import ctypes, errno, fcntl, fnmatch, json, mmap, os, re, resource, select, shutil, signal, socket, stat, struct, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, AT_SYMLINK_NOFOLLOW = -100, 0x1000, 0x400, 0x100
KEEP, PUNCH, COLLAPSE, ZERO, INSERT, UNSHARE = 1, 2, 8, 16, 32, 64
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
USER, OTHER = 65534, 1          # nobody, daemon
long = ctypes.c_long


def call(name, *args):
    """A C function; its result or OSError. Integers are passed as long."""
    r = getattr(libc, name)(*[long(a) if isinstance(a, int) else a for a in args])
    if r < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return r


libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, long, long]
libc.lseek.restype = libc.copy_file_range.restype = libc.splice.restype = long
libc.lseek.argtypes = [ctypes.c_int, long, ctypes.c_int]


def fallocate(fd, mode, offset, length): return call_checked(libc.fallocate(fd, mode, offset, length))
def renameat2(a, b, flags): return call('renameat2', AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), flags)


def call_checked(r):
    if r < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return r


class Notes:
    def __init__(self): self.list = []

    def note(self, label, value): self.list.append((label, repr(value)))

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
    with open(name, 'wb') as f: f.write(content)
    os.chmod(name, mode)
    return name


def read(name):
    with open(name, 'rb') as f: return f.read()


def look(name, follow=False):
    s = os.stat(name, follow_symlinks=follow)
    return (stat.filemode(s.st_mode), oct(s.st_mode & 0o7777), s.st_nlink, s.st_uid, s.st_gid, 'dir' if stat.S_ISDIR(s.st_mode) else s.st_size)


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
        if not piece: break
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


CASES = {}
def case(f):
    CASES[f.__name__] = f
    return f


# ---------------------------------------------------------------------------------------------------------------------------

@case
def opening(t):
    make('f', b'content'); os.mkdir('d'); os.symlink('f', 's'); os.symlink('nowhere', 'dangling'); os.symlink('loop', 'loop'); os.mkfifo('p')
    for name in ('f', 'd', 's', 'dangling', 'loop', 'missing', 'f/x', 'f/', 'd/', 'missing/', '', '.', 'd/..'):
        for flags, text in ((os.O_RDONLY, 'r'), (os.O_WRONLY, 'w'), (os.O_RDWR, 'rw'), (os.O_RDONLY | os.O_DIRECTORY, 'dir'),
                            (os.O_RDONLY | os.O_NOFOLLOW, 'nofollow'), (os.O_PATH | os.O_NOFOLLOW, 'path'), (os.O_RDONLY | os.O_TRUNC, 'r trunc'),
                            (os.O_RDONLY | os.O_NOATIME, 'noatime'), (os.O_RDWR | os.O_DIRECT, 'direct')):
            t(f'open {name!r} {text}', os.open, name, flags)
    for name in ('f', 'd', 's', 'dangling', 'loop', 'new/', 'd/', 'f/x', 'nodir/x', 'x' * 255, 'x' * 256):
        t(f'create {name[:9]!r}{len(name)} excl', os.open, name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    for name in ('f', 'd', 's', 'dangling', 'loop', 'new/'):
        t(f'create {name!r}', os.open, name, os.O_CREAT | os.O_WRONLY, 0o600)
    t('create directory flag', os.open, 'q', os.O_CREAT | os.O_DIRECTORY | os.O_RDWR, 0o600)
    t('fifo for writing, nobody reads', os.open, 'p', os.O_WRONLY | os.O_NONBLOCK)
    t('dangling made', look, 'nowhere')
    t('path too long', os.open, '/'.join(['x' * 200] * 21), os.O_RDONLY)
    t('mode', lambda: [oct(os.umask(0o027)), os.close(os.open('m', os.O_CREAT | os.O_WRONLY, 0o7777)), look('m'), oct(os.umask(0o022))])
    t('truncate', lambda: [os.close(os.open('f', os.O_WRONLY | os.O_TRUNC)), look('f')])


@case
def reading_and_writing(t):
    make('f', bytes(range(256)) * 40); f = os.open('f', os.O_RDWR); r = os.open('f', os.O_RDONLY); w = os.open('f', os.O_WRONLY)
    t('pread past end', os.pread, f, 10, 20000); t('pread at end', os.pread, f, 10, 10235); t('negative', os.pread, f, 10, -1)
    t('pwrite negative', os.pwrite, f, b'x', -1); t('read of write-only', os.read, w, 1); t('write to read-only', os.write, r, b'x')
    t('write nothing', os.write, f, b''); t('gap', os.pwrite, f, b'end', 30000); t('gap reads', os.pread, f, 8, 10236); t('size', look, 'f')
    t('readv', lambda: [os.lseek(f, 0, 0), os.readv(f, [b1 := bytearray(3), b2 := bytearray(5)]), bytes(b1), bytes(b2)])
    t('writev', lambda: [os.lseek(f, 5, 0), os.writev(f, [b'ab', b'', b'cde']), os.pread(f, 8, 4)])
    a = os.open('a', os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    t('append', lambda: [os.write(a, b'one'), os.lseek(a, 0, 0), os.write(a, b'two'), os.pwrite(a, b'three', 0), os.pread(a, 50, 0)])
    t('rwf append', lambda: [os.pwritev(f, [b'tail'], 0, 0x10), os.fstat(f).st_size, os.pread(f, 4, 30003)])
    for flag, text in ((os.RWF_DSYNC, 'dsync'), (os.RWF_SYNC, 'sync'), (os.RWF_HIPRI, 'hipri'), (0x4000, 'unknown')):
        t(f'pwritev2 {text}', os.pwritev, f, [b'x'], 0, flag)
    for flags in (os.O_SYNC, os.O_DSYNC, os.O_DIRECT | os.O_SYNC):
        d = os.open('sync', os.O_CREAT | os.O_RDWR | flags, 0o644)
        m = mmap.mmap(-1, 4096); m[:] = b'q' * 4096
        t(f'write with flags {flags:o}', lambda: [os.write(d, m), os.fstat(d).st_size]); os.close(d)
    big = 1 << 43
    t('far', lambda: [os.pwrite(f, b'far', big), os.fstat(f).st_size, os.pread(f, 10, big - 3), os.ftruncate(f, 100), os.pread(f, 10, 96)])
    t('past the largest offset', os.pwrite, f, b'xx', (1 << 63) - 2)
    t('sendfile', lambda: [os.sendfile(a, f, 0, 50)])
    b = os.open('b', os.O_CREAT | os.O_RDWR, 0o644)
    t('sendfile to file', lambda: [os.sendfile(b, f, 0, 50), look('b'), os.pread(b, 50, 0) == os.pread(f, 50, 0)])
    pr, pw = os.pipe()
    t('splice', lambda: [os.splice(f, pw, 30), os.read(pr, 100)])
    t('fadvise', lambda: [os.posix_fadvise(f, 0, 0, a) for a in range(6)]); t('fsync', os.fsync, f); t('fdatasync read-only', os.fdatasync, r)
    t('fsync directory', os.fsync, os.open('.', os.O_RDONLY)); t('read directory', os.read, os.open('.', os.O_RDONLY), 1)
    t('syncfs', lambda: call('syncfs', f)); t('sync_file_range', lambda: call('sync_file_range', f, 0, 0, 7))
    t('readahead', lambda: call('readahead', f, 0, 100)); t('mincore by preadv2 nowait of nothing', os.preadv, f, [bytearray(0)], 0, os.RWF_NOWAIT)
    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        x = os.open('limited', os.O_CREAT | os.O_RDWR, 0o644)
        return errors(lambda: os.write(x, b'y' * 1500), lambda: os.write(x, b'z'), lambda: os.ftruncate(x, 2000), lambda: fallocate(x, 0, 0, 2000)) + [os.fstat(x).st_size]
    t('file size limit', lambda: as_user(0, limited))


@case
def truncating(t):
    for size in (0, 10, 5000, 70000, 3000000):
        for to in (0, 1, 4096, 65536, 65537, 1500000):
            make('f', b'z' * size); t(f'{size} to {to}', lambda: [os.truncate('f', to), look('f'), read('f') == (b'z' * size)[:to].ljust(to, b'\0')])
    f = os.open('f', os.O_RDONLY)
    t('of read-only', os.ftruncate, f, 1); t('negative', os.truncate, 'f', -1); t('directory', os.truncate, '.', 0); t('missing', os.truncate, 'm', 0)
    os.mkfifo('p'); os.symlink('f', 's'); os.symlink('l', 'l')
    t('fifo', os.truncate, 'p', 0); t('by symlink', lambda: [os.truncate('s', 7), look('f')]); t('loop', os.truncate, 'l', 0)
    t('file as directory', os.truncate, 'f/x', 0); t('not mine', lambda: as_user(USER, lambda: os.truncate('f', 0)))
    t('grown in steps reads as zeros', lambda: [make('g', b'abc'), [os.truncate('g', n) for n in (5000, 4, 9000, 2, 100000)], read('g').strip(b'\0'), look('g')])


@case
def allocating(t):
    modes = {'plain': 0, 'keep': KEEP, 'punch': PUNCH, 'punch keep': PUNCH | KEEP, 'zero': ZERO, 'zero keep': ZERO | KEEP, 'punch zero': PUNCH | ZERO | KEEP,
             'collapse': COLLAPSE, 'insert': INSERT, 'unshare': UNSHARE, 'unknown': 0x800, 'collapse keep': COLLAPSE | KEEP}
    for size in (0, 100, 10000, 200000, 3000000):
        for name, mode in modes.items():
            for offset, length in ((0, 4096), (50, 100), (5000, 100000), (4096, 8192), (size, 5000)):
                make('f', b'd' * size); f = os.open('f', os.O_RDWR)
                t(f'{name} {offset}+{length} of {size}', lambda: [fallocate(f, mode, offset, length), os.fstat(f).st_size, hash_of(read('f'))]); os.close(f)
    make('f', b'x' * 100); f = os.open('f', os.O_RDWR)
    for offset, length in ((0, 0), (-1, 10), (10, -1), (0, 1 << 62), ((1 << 63) - 10, 100)): t(f'range {offset}+{length}', fallocate, f, 0, offset, length)
    t('read-only', fallocate, os.open('f', os.O_RDONLY), 0, 0, 10); t('directory', fallocate, os.open('.', os.O_RDONLY), 0, 0, 10)
    os.mkfifo('p'); t('fifo', fallocate, os.open('p', os.O_RDWR), 0, 0, 10); t('pipe', fallocate, os.pipe()[1], 0, 0, 10)
    make('huge'); t('more than there is', fallocate, os.open('huge', os.O_RDWR), 0, 0, 1 << 40); os.truncate('huge', 0)
    t('posix_fallocate', lambda: [os.posix_fallocate(f, 5, 500), os.fstat(f).st_size])
    g = os.open('g', os.O_RDWR | os.O_CREAT, 0o644)
    t('reserved is held', lambda: [fallocate(g, KEEP, 0, 10 << 20), os.fstat(g).st_size, os.fstat(g).st_blocks >= 20480])
    t('and given back', lambda: [os.ftruncate(g, 0), os.fstat(g).st_blocks])
    t('punched is free', lambda: [os.pwrite(g, b'x' * (4 << 20), 0), os.fsync(g), fallocate(g, PUNCH | KEEP, 0, 4 << 20), os.fstat(g).st_size, os.fstat(g).st_blocks < 100])
    t('append only descriptor', lambda: errors(lambda: fallocate(os.open('f', os.O_WRONLY | os.O_APPEND), 0, 0, 5000), lambda: fallocate(os.open('f', os.O_WRONLY | os.O_APPEND), PUNCH | KEEP, 0, 50)))


def hash_of(data):
    import hashlib
    return hashlib.sha1(data).hexdigest()[:12]


@case
def seeking(t):
    def where(fd):
        out, at, size = [], 0, os.fstat(fd).st_size
        while at < size:
            try: start = libc.lseek(fd, at, 3)
            except OSError: break
            if start < 0: break
            end = libc.lseek(fd, start, 4)
            out.append((start, end)); at = end
        return out
    for pieces, size in (([(0, 4096)], 4096), ([(8192, 4096)], 20480), ([(0, 4096), (12288, 4096)], 32768), ([(1 << 20, 8192)], 3 << 20), ([], 0), ([], 50000), ([], 5 << 20)):
        f = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644); os.ftruncate(f, size)
        for at, n in pieces: os.pwrite(f, b'D' * n, at)
        t(f'data of {pieces} in {size}', where, f); os.fsync(f); t(f'data of {pieces} in {size} synced', where, f); os.close(f)
    f = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644); os.write(f, b'x' * 1000)
    for whence in (0, 1, 2, 3, 4, 5, 9):
        for offset in (0, 10, 999, 1000, 1001, -1, -2000):
            t(f'lseek {offset} {whence}', lambda: [call_checked(libc.lseek(f, 500, 0)), call_checked(libc.lseek(f, offset, whence))])
    t('pipe', os.lseek, os.pipe()[0], 0, 0); os.mkfifo('p'); t('fifo', os.lseek, os.open('p', os.O_RDWR), 0, 0)


@case
def copying(t):
    make('f', bytes(i * 7 % 251 for i in range(100000))); f = os.open('f', os.O_RDWR)
    for offset, n in ((0, 100000), (0, 200000), (500, 4096), (99990, 100), (100000, 10), (200000, 10), (0, 0)):
        g = os.open('g', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
        t(f'{n} from {offset}', lambda: [os.copy_file_range(f, g, n, offset, 3), os.fstat(g).st_size, hash_of(read('g'))]); os.close(g)
    g = os.open('g', os.O_RDWR | os.O_CREAT)
    t('overlapping', os.copy_file_range, f, f, 1000, 0, 500); t('within', lambda: [os.copy_file_range(f, f, 1000, 0, 5000), hash_of(read('f'))])
    t('from write-only', os.copy_file_range, os.open('f', os.O_WRONLY), g, 10); t('to read-only', os.copy_file_range, f, os.open('f', os.O_RDONLY), 10)
    t('to append', os.copy_file_range, f, os.open('g', os.O_WRONLY | os.O_APPEND), 10); t('from directory', os.copy_file_range, os.open('.', os.O_RDONLY), g, 10)
    t('to pipe', os.copy_file_range, f, os.pipe()[1], 10); t('flags', lambda: call_checked(libc.copy_file_range(f, None, g, None, 10, 1)))
    t('moves both positions', lambda: [os.lseek(f, 10, 0), os.lseek(g, 20, 0), os.copy_file_range(f, g, 30), os.lseek(f, 0, 1), os.lseek(g, 0, 1)])
    t('far', lambda: [os.copy_file_range(f, g, 5000, 0, 4 << 20), os.fstat(g).st_size, os.pread(g, 4, (4 << 20) + 1)])


@case
def unnamed(t):
    for flags, text in ((os.O_RDWR, 'rw'), (os.O_WRONLY, 'w'), (os.O_RDONLY, 'r'), (os.O_RDWR | os.O_EXCL, 'excl'), (os.O_RDWR | os.O_CREAT, 'creat')):
        t(f'open {text}', os.open, '.', os.O_TMPFILE | flags, 0o640)
    make('f'); t('in a file', os.open, 'f', os.O_TMPFILE | os.O_RDWR, 0o600); t('missing', os.open, 'm', os.O_TMPFILE | os.O_RDWR, 0o600)
    for size in (0, 5, 50000, 2000000):
        d = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o640); os.write(d, b't' * size)
        t(f'{size} bytes', lambda: [os.fstat(d).st_nlink, os.fstat(d).st_size, oct(os.fstat(d).st_mode), hash_of(os.pread(d, size + 1, 0)), sorted(os.listdir('.'))])
        t(f'{size} named', lambda: [call('linkat', AT_FDCWD, b'/proc/self/fd/%d' % d, AT_FDCWD, b'n%d' % size, AT_SYMLINK_FOLLOW), look(f'n{size}'), hash_of(read(f'n{size}'))])
        t(f'{size} named again', lambda: [call('linkat', d, b'', AT_FDCWD, b'again%d' % size, AT_EMPTY_PATH), look(f'again{size}')])
        t(f'{size} written on', lambda: [os.pwrite(d, b'more', 3), hash_of(read(f'again{size}'))])
        t(f'{size} unlinked', lambda: [os.unlink(f'n{size}'), os.unlink(f'again{size}'), os.fstat(d).st_nlink, call('linkat', d, b'', AT_FDCWD, b'x', AT_EMPTY_PATH)]); os.close(d)
    d = os.open('.', os.O_TMPFILE | os.O_RDWR | os.O_EXCL, 0o600); t('exclusive stays unnamed', lambda: call('linkat', d, b'', AT_FDCWD, b'x', AT_EMPTY_PATH))
    d = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)
    t('taken name', lambda: call('linkat', d, b'', AT_FDCWD, b'f', AT_EMPTY_PATH)); t('chmod, xattr', lambda: [os.fchmod(d, 0o755), os.setxattr(d, 'user.a', b'b'), call('linkat', d, b'', AT_FDCWD, b'kept', AT_EMPTY_PATH), look('kept'), os.getxattr('kept', 'user.a')])
    os.mkdir('gone'); h = os.open('gone', os.O_RDONLY); os.rmdir('gone'); t('in a removed directory', os.open, f'/proc/self/fd/{h}', os.O_TMPFILE | os.O_RDWR, 0o600)
    os.mkdir('w', 0o755); t('no right', lambda: as_user(USER, lambda: os.open('w', os.O_TMPFILE | os.O_RDWR, 0o600)))
    os.mkdir('sg'); os.chown('sg', 0, OTHER); os.chmod('sg', 0o2777); d = os.open('sg', os.O_TMPFILE | os.O_RDWR, 0o666); t('setgid directory', lambda: (os.fstat(d).st_gid, oct(os.fstat(d).st_mode)))


@case
def linking(t):
    make('f', b'data'); os.mkdir('d'); os.symlink('f', 's'); os.symlink('l', 'l')
    for a, b in (('f', 'd/f'), ('f', 'f'), ('f', 'd'), ('d', 'x'), ('m', 'x'), ('f', 'm/x'), ('f', 'f/x'), ('s', 'hs'), ('f', 'x' * 255), ('f', 'x' * 256), ('f', ''), ('', 'x'), ('f/', 'x'), ('f', 'x/'), ('l/x', 'y'), ('.', 'x'), ('f', '.'), ('f', 'd/..')):
        t(f'link {a!r} {b[:9]!r}{len(b)}', lambda: [os.link(a, b, follow_symlinks=False), look(b)])
    t('count', look, 'f'); t('symlink linked', lambda: [os.readlink('hs'), look('s')])
    h = os.open('f', os.O_RDONLY); [os.unlink(n) for n in ('f', 'd/f', 'x' * 255)]
    t('unlinked but open', lambda: [os.fstat(h).st_nlink, os.pread(h, 9, 0), call('linkat', h, b'', AT_FDCWD, b'again', AT_EMPTY_PATH)])
    for name in ('d', 'm', 'm/x', 's/x', '.', '..', 'd/.', '', 'l/x', 'x' * 256): t(f'unlink {name[:5]!r}', os.unlink, name)
    t('symlinks', lambda: [os.symlink('a' * n, f't{n}') or len(os.readlink(f't{n}')) for n in (1, 255, 256, 1000, 4094, 4095)])
    t('symlink of 4096', os.symlink, 'a' * 4096, 'toolong'); t('empty symlink', os.symlink, '', 'e'); t('symlink onto', os.symlink, 'x', 'd'); t('readlink of a file', os.readlink, 'd')
    make('z'); os.mkdir('many')
    def most():
        for i in range(70000):
            try: os.link('z', f'many/{i}')
            except OSError as e: return i, errno.errorcode[e.errno], os.stat('z').st_nlink
    t('most links', most)
    os.symlink('z', 'c0'); [os.symlink(f'c{i}', f'c{i + 1}') for i in range(45)]; t('chain of 40', os.stat, 'c50') ; t('chain of 39', lambda: look('c39', True)); t('chain of 41', lambda: look('c41', True))


@case
def directories(t):
    for name in ('d', 'd', 'm/x', 'd/', '.', '..', '', 'x' * 255, 'x' * 256, 'new/'): t(f'mkdir {name[:5]!r}{len(name)}', os.mkdir, name)
    make('f'); os.mkdir('d/e'); os.symlink('d', 's'); os.symlink('nowhere', 'n')
    t('mkdir over', lambda: errors(*[lambda n=n: os.mkdir(n) for n in ('f', 's', 'n', 'f/x', 's/y')]))
    for name in ('d', 'f', 's', 'm', '.', 'd/e/.', 'd/e/..', '', 'd/e/', 's/', 'f/', 'x' * 256): t(f'rmdir {name[:6]!r}', os.rmdir, name)
    t('nlink', lambda: [look('d'), os.mkdir('d/1'), os.mkdir('d/2'), look('d'), os.rmdir('d/1'), look('d'), os.rename('d/2', 'out'), look('d'), look('out')])
    t('mode', lambda: [oct(os.umask(0)), os.mkdir('m', 0o7777), look('m'), os.umask(0o022), os.mkdir('k', 0o1777), look('k')])
    h = os.open('out', os.O_RDONLY); os.rmdir('out')
    t('removed but open', lambda: [os.fstat(h).st_nlink, os.listdir(h), errors(lambda: os.open('x', os.O_CREAT | os.O_RDWR, dir_fd=h), lambda: os.mkdir('x', dir_fd=h), lambda: os.stat('.', dir_fd=h).st_nlink, lambda: os.stat('..', dir_fd=h).st_nlink > 0)])
    os.makedirs('p/q'); os.chdir('p/q'); os.rmdir('../q')
    t('removed and current', lambda: errors(os.getcwd, lambda: os.listdir('.'), lambda: os.open('x', os.O_CREAT | os.O_RDWR), lambda: os.chdir('..')))
    # Entries that stay are seen once while others come and go, and a position stays good.
    os.mkdir('big'); [make(f'big/k{i:04}') for i in range(2000)]
    seen = []
    with os.scandir('big') as it:
        for i, e in enumerate(it):
            seen.append(e.name)
            if i % 7 == 0: make(f'big/n{i}')
            if i % 11 == 0 and os.path.exists(f'big/k{(i * 13) % 2000:04}') and f'k{(i * 13) % 2000:04}' in seen: os.unlink(f'big/k{(i * 13) % 2000:04}')
    t('listing while changing', lambda: [len([n for n in seen if n[0] == 'k']), len(set(seen)) == len(seen)])
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p; libc.telldir.restype = long; libc.telldir.argtypes = libc.readdir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]; libc.seekdir.argtypes = [ctypes.c_void_p, long]
    def entry(dir):
        p = libc.readdir(dir)
        return ctypes.string_at(p + 19) if p else None
    dir = libc.opendir(b'big'); marks = []
    for i in range(1500):
        at = libc.telldir(dir); name = entry(dir)
        if i % 100 == 0: marks.append((at, name))
    gone = {m[1] for m in marks[::3]} - {b'.', b'..'}; [os.unlink(b'big/' + n) for n in gone]; [make(f'big/z{i}') for i in range(50)]
    good = 0
    for at, name in marks:
        libc.seekdir(dir, at); found = entry(dir)
        good += found == name or (name in gone and found is not None)
    t('telldir stays good', lambda: (good, len(marks)))
    make('big/late'); libc.rewinddir(dir); names = set()
    while (n := entry(dir)) is not None: names.add(n)
    t('rewinddir sees what is new', lambda: (b'late' in names, len(names) == len(os.listdir('big')) + 2))
    t('d_ino and d_type', lambda: all(e.inode() == e.stat(follow_symlinks=False).st_ino and e.is_dir(follow_symlinks=False) == stat.S_ISDIR(e.stat(follow_symlinks=False).st_mode) for e in os.scandir('.')))
    t('rm -rf', lambda: [shutil.rmtree('big'), os.path.exists('big')])


@case
def renaming(t):
    def tree():
        shutil.rmtree('t', ignore_errors=True); os.mkdir('t')
        for d in ('d', 'd/sub', 'e', 'full', 'full/x'): os.mkdir('t/' + d)
        for f in ('f', 'g', 'd/in'): make('t/' + f, f.encode())
        os.link('t/f', 't/hard'); os.symlink('f', 't/s'); os.mkfifo('t/p')
    def listing(): return sorted((os.path.relpath(os.path.join(d, n), 't'), look(os.path.join(d, n))[0], look(os.path.join(d, n))[2]) for d, ds, fs in os.walk('t') for n in ds + fs)
    names = ('f', 'g', 'd', 'e', 'full', 's', 'p', 'm', 'd/sub', 'd/new', 'hard', '.', 'd/..', 'd/', 'f/', 'f/x', 'm/x', 'new/')
    for flags in (0, NOREPLACE, EXCHANGE, WHITEOUT, NOREPLACE | EXCHANGE, WHITEOUT | EXCHANGE, WHITEOUT | NOREPLACE, 8):
        for a in names:
            for b in names:
                if flags not in (0, EXCHANGE) and (len(a) > 4 or len(b) > 5): continue
                tree(); t(f'{flags} {a} {b}', lambda: [renameat2('t/' + a, 't/' + b, flags), hash_of(repr(listing()).encode())])
    tree(); t('contents', lambda: [renameat2('t/f', 't/d/in', EXCHANGE), read('t/f'), read('t/d/in'), renameat2('t/d', 't/full', EXCHANGE), sorted(os.listdir('t/full')), sorted(os.listdir('t/d')), os.stat('t/d/x/..').st_ino == os.stat('t/d').st_ino])
    tree(); t('whiteout', lambda: [renameat2('t/f', 't/w', WHITEOUT), look('t/f'), os.stat('t/f').st_rdev, read('t/w')])
    tree(); t('too long', os.rename, 't/f', 't/' + 'x' * 256); t('across', lambda: os.rename('t/f', '/dev/shm/parity-x'))
    h = os.open('t/g', os.O_RDWR); os.rename('t/f', 't/g'); t('replaced but open', lambda: [os.fstat(h).st_nlink, os.pread(h, 9, 0), os.write(h, b'G'), read('t/g')])
    os.mkdir('t/sticky'); os.chmod('t/sticky', 0o1777); make('t/sticky/r'); make('t/sticky/u'); os.chown('t/sticky/u', USER, USER); os.mkdir('t/open'); os.chmod('t/open', 0o777)
    t('sticky', lambda: as_user(USER, lambda: errors(lambda: os.rename('t/sticky/r', 't/open/r'), lambda: os.unlink('t/sticky/r'), lambda: os.rename('t/sticky/u', 't/sticky/r'), lambda: os.rename('t/sticky/u', 't/sticky/v'), lambda: os.unlink('t/sticky/v'))))
    os.mkdir('t/own'); os.chown('t/own', OTHER, OTHER); t('directory of another to another parent', lambda: as_user(USER, lambda: errors(lambda: os.rename('t/own', 't/open/own'))))
    a, b = os.open('t/d', os.O_RDONLY), os.open('t/e', os.O_RDONLY); os.rmdir('t/e'); t('into a removed directory', lambda: os.rename('in', 'in', src_dir_fd=a, dst_dir_fd=b))


@case
def owners_and_modes(t):
    for mode in (0o644, 0o4755, 0o2755, 0o2745, 0o6777, 0o6711, 0o1777):
        for who, uid in (('root', 0), ('owner', USER), ('group', OTHER)):
            for action, f in (('write', lambda: os.write(os.open('f', os.O_WRONLY), b'x')), ('truncate', lambda: os.truncate('f', 1)), ('otrunc', lambda: os.close(os.open('f', os.O_WRONLY | os.O_TRUNC))), ('chown', lambda: os.chown('f', -1, -1)), ('chgrp', lambda: os.chown('f', -1, USER)),
                              ('chmod', lambda: os.chmod('f', mode)), ('fallocate', lambda: fallocate(os.open('f', os.O_WRONLY), 0, 0, 500)), ('punch', lambda: fallocate(os.open('f', os.O_WRONLY), PUNCH | KEEP, 0, 5)),
                              ('copy', lambda: os.copy_file_range(os.open('src', os.O_RDONLY), os.open('f', os.O_WRONLY), 5)), ('mmap', lambda: mmapped('f')), ('setxattr', lambda: os.setxattr('f', 'user.x', b'1')), ('link', lambda: os.link('f', 'hard')), ('utime', lambda: os.utime('f')), ('nothing', lambda: os.write(os.open('f', os.O_WRONLY), b''))):
                for n in ('f', 'hard', 'src'):
                    if os.path.lexists(n): os.unlink(n)
                make('f', b'0' * 100); make('src', b'1' * 50); os.chown('f', USER, OTHER); os.chmod('f', mode | 0o666 if who == 'group' else mode | 0o200); os.chmod('.', 0o777)
                t(f'{action} of {mode:o} by {who}', lambda: [as_user(uid, lambda: errors(f), groups=[OTHER] if who == 'owner' else []), look('f')])
    make('f'); os.symlink('f', 's'); os.mkdir('d')
    t('lchown', lambda: [os.lchown('s', 5, 6), look('s'), look('f')]); t('chown by symlink', lambda: [os.chown('s', 7, 8), look('f')])
    t('chmod of symlink', lambda: os.chmod('s', 0o600, follow_symlinks=False)) if os.chmod in os.supports_follow_symlinks else None
    for mode in (0, 0o7777, 0o1000, 0o2000, 0o4000, 0o777): t(f'chmod {mode:o}', lambda: [os.chmod('f', mode), look('f'), os.chmod('d', mode), look('d')])
    os.chmod('d', 0o777); os.chown('d', USER, USER)
    t('not owner', lambda: as_user(OTHER, lambda: errors(lambda: os.chmod('f', 0o777), lambda: os.chown('f', OTHER, OTHER), lambda: os.chown('d', -1, OTHER), lambda: os.utime('f'), lambda: os.utime('f', (1, 1)))))
    t('owner gives to a group that is his, and not', lambda: as_user(USER, lambda: errors(lambda: os.chown('d', -1, 50), lambda: os.chown('d', -1, 51), lambda: os.chown('d', OTHER, -1)), groups=[50]))
    # setgid directories hand on their group; a file whose owner is not of the group cannot have the bit.
    os.mkdir('sg'); os.chown('sg', 0, OTHER); os.chmod('sg', 0o2777)
    t('setgid directory', lambda: [as_user(USER, lambda: errors(lambda: os.close(os.open('sg/f', os.O_CREAT | os.O_WRONLY, 0o2755)), lambda: os.mkdir('sg/d', 0o755), lambda: os.mkfifo('sg/p'), lambda: os.symlink('x', 'sg/s'), lambda: os.chmod('sg/f', 0o2755))), [look('sg/' + n) for n in 'fdps']])
    t('setgid directory, member', lambda: [as_user(USER, lambda: errors(lambda: os.close(os.open('sg/g', os.O_CREAT | os.O_WRONLY, 0o2755)), lambda: os.mkdir('sg/e', 0o755)), groups=[OTHER]), [look('sg/' + n) for n in 'ge']])
    t('umask', lambda: [os.umask(0o077), make_raw('u1', 0o666), os.mkdir('u2', 0o777), os.mkfifo('u3', 0o666), os.umask(0o022), [look(n) for n in ('u1', 'u2', 'u3')]])
    # Rights on the way and at the end.
    os.makedirs('closed/in'); make('closed/in/f', b'secret', 0o644); os.chmod('closed', 0o700); os.makedirs('noread'); make('noread/f', b'ok'); os.chmod('noread', 0o711); make('hidden', b'h', 0o600); make('wronly', b'h', 0o222); os.mkdir('nowrite', 0o755); os.mkdir('nox'); make('nox/f'); os.chmod('nox', 0o744)
    t('reach', lambda: as_user(USER, lambda: errors(lambda: read('closed/in/f'), lambda: os.stat('closed/in/f').st_size, lambda: read('noread/f'), lambda: os.listdir('noread'), lambda: read('hidden'), lambda: open('hidden', 'ab'), lambda: os.stat('hidden').st_size, lambda: read('wronly'), lambda: os.close(os.open('wronly', os.O_WRONLY)), lambda: os.mkdir('nowrite/x'), lambda: os.listdir('nox'), lambda: os.stat('nox/f').st_size, lambda: os.chdir('nox'), lambda: os.link('hidden', 'sg/h'), lambda: os.rename('hidden', 'sg/h'))))
    t('access', lambda: as_user(USER, lambda: [[os.access(n, m) for m in (0, 1, 2, 3, 4, 7)] for n in ('closed', 'hidden', 'wronly', 'noread', 'nox', 'f', 'sg')]))
    t('access by root', lambda: [[os.access(n, m) for m in (0, 1, 2, 4)] for n in ('closed', 'hidden', 'wronly', 'f')])
    make('member', b'm', 0o640); os.chown('member', 0, 77); t('group of many', lambda: [as_user(USER, lambda: errors(lambda: read('member')), groups=g) for g in ([77], [76], list(range(40, 78)))])


def make_raw(name, mode): os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode))


def mmapped(name):
    f = os.open(name, os.O_RDWR); m = mmap.mmap(f, 10); m[0:1] = b'M'; m.flush(); m.close(); os.close(f)


@case
def times(t):
    make('f', b'x'); os.symlink('f', 's'); os.mkdir('d')
    for ns in (0, 1, 999999999, 10**9, 1234567890123456789, 2147483647 * 10**9, 2147483648 * 10**9 + 5, 4294967296 * 10**9 + 7, -1, -10**9, -1500000000, 253402300799 * 10**9, -5000000000 * 10**9):
        t(f'utime {ns}', lambda: [os.utime('f', ns=(ns, ns)), os.stat('f').st_mtime_ns, os.stat('f').st_atime_ns])
    def utimens(a, m, name=b'f', flags=0): return call('utimensat', AT_FDCWD, name, struct.pack('qqqq', *a, *m), flags)
    NOW, OMIT = (0, (1 << 30) - 1), (0, (1 << 30) - 2)
    for label, a, m in (('omit both', OMIT, OMIT), ('omit a', OMIT, (5, 6)), ('omit m', (7, 8), OMIT), ('bad ns', (1, 10**9), (1, 1)), ('negative ns', (1, -1), (1, 1))):
        t(label, lambda: [utimens((1, 1), (2, 2)), utimens(a, m), os.stat('f').st_atime_ns, os.stat('f').st_mtime_ns])
    t('now', lambda: [utimens((1, 1), (2, 2)), utimens(NOW, OMIT), abs(os.stat('f').st_atime - time.time()) < 5, os.stat('f').st_mtime_ns])
    t('symlink itself', lambda: [utimens((3, 4), (5, 6), b's', AT_SYMLINK_NOFOLLOW), os.lstat('s').st_mtime_ns, os.stat('f').st_mtime_ns])
    os.chmod('f', 0o666); t('writer, not owner', lambda: as_user(USER, lambda: errors(lambda: utimens(NOW, NOW), lambda: utimens((1, 1), (1, 1)), lambda: utimens(NOW, OMIT), lambda: utimens(OMIT, OMIT))))
    t('ctime moves', lambda: changed(lambda: utimens((1, 1), (1, 1)), 'f')); t('negative statx', lambda: [utimens((-5, 3), (-6, 4)), os.stat('f').st_mtime_ns])
    t('birth', lambda: [birth('f') is not None, birth('d') is not None, birth('s') is not None, abs(birth('f') - time.time()) < 60])
    def before_after():
        b = birth('f'); os.write(os.open('f', os.O_WRONLY), b'y'); os.chmod('f', 0o600); os.rename('f', 'f2'); same = birth('f2') == b; os.rename('f2', 'f'); return same
    t('birth stays', before_after)


def birth(name):
    buffer = ctypes.create_string_buffer(256)
    call('statx', AT_FDCWD, os.fsencode(name), AT_SYMLINK_NOFOLLOW, 0x800, buffer)
    if struct.unpack_from('I', buffer, 0)[0] & 0x800 == 0: return None
    s, ns = struct.unpack_from('qI', buffer, 64 + 16)
    return s + ns / 1e9


def changed(action, *names):
    """Which times of which names an action moves: names -> subset of 'amc'."""
    before = {}
    for n in names:
        s = os.lstat(n); before[n] = (s.st_ino, s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)
    time.sleep(0.012)
    action()
    out = {}
    for n in names:
        try: s = os.lstat(n)
        except OSError: out[n] = 'gone'; continue
        out[n] = ''.join(c for c, x, y in zip('amc', before[n][1:], (s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)) if x != y)
    return out


@case
def which_times_move(t):
    os.mkdir('d'); os.mkdir('e'); make('d/f', b'x' * 100); make('d/big', b'x' * 3000000); os.symlink('f', 'd/s'); f = os.open('d/f', os.O_RDWR); os.mkdir('d/sub')
    time.sleep(0.02)
    for label, action, names in (
            ('write', lambda: os.pwrite(f, b'y', 0), ['d', 'd/f']), ('write nothing', lambda: os.pwrite(f, b'', 0), ['d/f']), ('append', lambda: os.pwrite(f, b'yyy', 100), ['d/f']), ('write big', lambda: os.pwrite(os.open('d/big', os.O_WRONLY), b'y', 5), ['d/big']),
            ('truncate same', lambda: os.ftruncate(f, 103), ['d/f']), ('truncate path same', lambda: os.truncate('d/f', 103), ['d/f']), ('truncate shorter', lambda: os.ftruncate(f, 50), ['d/f']), ('truncate longer', lambda: os.truncate('d/f', 60), ['d/f']), ('otrunc', lambda: os.close(os.open('d/f', os.O_WRONLY | os.O_TRUNC)), ['d/f']), ('otrunc empty', lambda: os.close(os.open('d/f', os.O_WRONLY | os.O_TRUNC)), ['d/f']),
            ('chmod', lambda: os.chmod('d/f', 0o600), ['d', 'd/f']), ('chmod same', lambda: os.chmod('d/f', 0o600), ['d/f']), ('chown', lambda: os.chown('d/f', 1, 1), ['d/f']), ('chown nobody', lambda: os.chown('d/f', -1, -1), ['d/f']), ('setxattr', lambda: os.setxattr('d/f', 'user.a', b'1'), ['d', 'd/f']), ('removexattr', lambda: os.removexattr('d/f', 'user.a'), ['d/f']),
            ('link', lambda: os.link('d/f', 'e/l'), ['d', 'e', 'd/f']), ('unlink a link', lambda: os.unlink('e/l'), ['e', 'd/f']), ('create', lambda: make_raw('d/n', 0o600), ['d', 'd/f']), ('open', lambda: os.close(os.open('d/n', os.O_RDWR | os.O_CREAT)), ['d', 'd/n']), ('mkdir', lambda: os.mkdir('d/m'), ['d', 'd/sub']), ('rmdir', lambda: os.rmdir('d/m'), ['d']), ('symlink', lambda: os.symlink('x', 'd/y'), ['d']), ('mknod', lambda: os.mkfifo('d/p'), ['d']),
            ('rename', lambda: os.rename('d/n', 'd/n2'), ['d', 'e']), ('rename to', lambda: os.rename('d/n2', 'e/n'), ['d', 'e']), ('rename over', lambda: os.rename('e/n', 'd/y'), ['d', 'e']), ('rename directory', lambda: os.rename('d/sub', 'e/sub'), ['d', 'e']), ('unlink', lambda: os.unlink('d/y'), ['d', 'd/f']),
            ('failed create', lambda: errors(lambda: os.mkdir('d/f')), ['d', 'd/f']), ('failed unlink', lambda: errors(lambda: os.unlink('d/zz')), ['d']), ('failed rename', lambda: errors(lambda: os.rename('d/zz', 'd/yy')), ['d']), ('rename onto itself', lambda: os.rename('d/f', 'd/f'), ['d', 'd/f']),
            ('fallocate', lambda: fallocate(f, 0, 0, 5000), ['d/f']), ('fallocate within', lambda: fallocate(f, 0, 0, 500), ['d/f']), ('fallocate keep', lambda: fallocate(f, KEEP, 0, 9000), ['d/f']), ('punch', lambda: fallocate(f, PUNCH | KEEP, 0, 100), ['d/f']), ('mmap', lambda: mmapped('d/f'), ['d/f']), ('copy', lambda: os.copy_file_range(os.open('d/big', os.O_RDONLY), f, 100), ['d/f']),
            ('fsync', lambda: os.fsync(f), ['d/f']), ('stat', lambda: os.stat('d/f'), ['d', 'd/f']), ('acl', lambda: subprocess.run(['setfacl', '-m', 'u:5:r', 'd/f']), ['d/f']), ('acl again', lambda: subprocess.run(['setfacl', '-m', 'u:5:r', 'd/f']), ['d/f']), ('exec', lambda: errors(lambda: subprocess.run(['d/f'])), ['d'])):
        t(label, changed, action, *names)
    # Access times, as relatime wants them.
    make('r', b'x' * 5000); os.mkdir('rd'); make('rd/x'); os.symlink('r', 'rs'); old, new = (10**9, 2 * 10**9)
    def reads(n=10): return lambda: (lambda h: (os.pread(h, n, 0), os.close(h)))(os.open('r', os.O_RDONLY))
    for label, name, action in (('read', 'r', reads()), ('readlink', 'rs', lambda: os.readlink('rs')), ('readdir', 'rd', lambda: os.listdir('rd'))):
        os.utime(name, ns=(10**18, 2 * 10**18), follow_symlinks=False); t(f'{label}, older than the change', changed, action, name)
    os.utime('r', ns=(10**18, 2 * 10**18)); t('read of nothing', changed, lambda: os.pread(os.open('r', os.O_RDONLY), 10, 10000), 'r')
    make('rn', b'x' * 50); os.utime('rn', ns=(10**18, 2 * 10**18)); t('noatime', changed, lambda: os.read(os.open('rn', os.O_RDONLY | os.O_NOATIME), 5), 'rn')
    make('rx', b'#!/bin/true\n', 0o755); os.utime('rx', ns=(10**18, 2 * 10**18)); t('exec reads', changed, lambda: subprocess.run(['./rx']), 'rx')
    make('ra', b'x' * 50); time.sleep(0.02); read('ra'); t('read again soon', changed, lambda: read('ra'), 'ra')
    make('rm', b'x' * 50); os.utime('rm', ns=(10**18, 2 * 10**18))
    def mapped():
        h = os.open('rm', os.O_RDONLY); m = mmap.mmap(h, 50, prot=mmap.PROT_READ); m[:5]; m.close()
    t('mapped reads', changed, mapped, 'rm')


@case
def attributes(t):
    make('f'); os.mkdir('d'); os.symlink('f', 's'); os.mkfifo('p')
    for target in ('f', 'd', 's', 'p'):
        for name in ('user.a', 'trusted.a', 'security.a', 'system.a', 'nothing.a', 'user.', 'trusted.', 'plain', 'user.' + 'n' * 250, 'user.' + 'n' * 251):
            t(f'{target} {name[:12]}{len(name)}', lambda: [os.setxattr(target, name, b'v', follow_symlinks=False), os.getxattr(target, name, follow_symlinks=False), os.listxattr(target, follow_symlinks=False), os.removexattr(target, name, follow_symlinks=False)])
            t(f'{target} get {name[:12]}{len(name)}', os.getxattr, target, name, follow_symlinks=False); t(f'{target} remove {name[:12]}{len(name)}', os.removexattr, target, name, follow_symlinks=False)
    for n in (0, 1, 100, 2000, 3900, 4000, 5000, 65536, 65537): t(f'value of {n}', lambda: [os.setxattr('f', 'user.v', b'v' * n), len(os.getxattr('f', 'user.v')), os.removexattr('f', 'user.v')])
    t('create', lambda: errors(lambda: os.setxattr('f', 'user.c', b'1', os.XATTR_CREATE), lambda: os.setxattr('f', 'user.c', b'2', os.XATTR_CREATE), lambda: os.setxattr('f', 'user.c', b'3', os.XATTR_REPLACE), lambda: os.setxattr('f', 'user.m', b'3', os.XATTR_REPLACE), lambda: os.setxattr('f', 'user.c', b'4', 3), lambda: os.getxattr('f', 'user.c').decode(), lambda: os.setxattr('f', 'user.c', b'4', 8)))
    def sized(size, name=b'user.c'):
        buffer = ctypes.create_string_buffer(max(size, 1)); return call('getxattr', b'f', name, buffer, size)
    os.setxattr('f', 'user.c', b'12345'); t('sizes', lambda: errors(*[lambda n=n: str(sized(n)) for n in (0, 1, 4, 5, 100)]))
    t('list sizes', lambda: errors(*[lambda n=n: str(call('listxattr', b'f', ctypes.create_string_buffer(100), n)) for n in (0, 1, 6, 7, 100)]))
    t('many', lambda: [[os.setxattr('f', f'user.x{i}', b'%d' % i) for i in range(40)], sorted(os.listxattr('f'))[:5], len(os.listxattr('f')), [os.removexattr('f', f'user.x{i}') for i in range(40)], os.listxattr('f')])
    os.setxattr('f', 'trusted.t', b'1'); os.setxattr('f', 'security.s', b'1')
    os.chmod('f', 0o644); t('as another', lambda: as_user(USER, lambda: errors(lambda: sorted(os.listxattr('f')), lambda: os.getxattr('f', 'trusted.t').decode(), lambda: os.getxattr('f', 'security.s').decode(), lambda: os.getxattr('f', 'user.c').decode(), lambda: os.setxattr('f', 'user.c', b'x'), lambda: os.setxattr('f', 'trusted.t', b'x'), lambda: os.setxattr('f', 'security.s', b'x'), lambda: os.removexattr('f', 'user.c'))))
    os.chmod('f', 0o600); t('unreadable', lambda: as_user(USER, lambda: errors(lambda: sorted(os.listxattr('f')), lambda: os.getxattr('f', 'user.c'), lambda: os.getxattr('f', 'security.s').decode())))
    os.chmod('d', 0o1777); t('sticky directory', lambda: as_user(USER, lambda: errors(lambda: os.setxattr('d', 'user.a', b'1')))); t('missing', os.getxattr, 'm', 'user.a'); t('null name', lambda: os.setxattr('f', 'x', b''))
    # Capabilities go when the content or the owner changes.
    CAP = struct.pack('<IIIII', 0x02000001, 1 << 13, 0, 0, 0)
    for label, action in (('write', lambda: os.write(os.open('c', os.O_WRONLY), b'x')), ('truncate', lambda: os.truncate('c', 1)), ('chown', lambda: os.chown('c', 1, 1)), ('chmod', lambda: os.chmod('c', 0o755)), ('fallocate', lambda: fallocate(os.open('c', os.O_WRONLY), 0, 0, 50)), ('rename', lambda: [os.rename('c', 'c2'), os.rename('c2', 'c')]), ('link', lambda: os.link('c', 'c3')), ('utime', lambda: os.utime('c')), ('nothing', lambda: None)):
        make('c', b'123'); os.setxattr('c', 'security.capability', CAP); t(f'capability after {label}', lambda: [errors(action), 'security.capability' in os.listxattr('c'), look('c')])
        for n in ('c', 'c3'):
            if os.path.exists(n): os.unlink(n)


@case
def access_lists(t):
    def acl(name, *more):
        r = subprocess.run(['getfacl', '-n', '-p', *more, name], capture_output=True, text=True); return r.stdout.strip().split('\n')[1:]
    def setfacl(*a): r = subprocess.run(['setfacl', *a], capture_output=True, text=True); return r.returncode, re.sub(r'^.*: ', '', r.stderr.strip())
    make('f', b'data', 0o640); os.mkdir('d'); os.symlink('f', 's')
    for args in (['-m', 'u:1:rw', 'f'], ['-m', 'g:7:r,u:65534:-', 'f'], ['-m', 'm::r', 'f'], ['-x', 'u:1', 'f'], ['-m', 'u::rwx,g::rx,o::-', 'f'], ['-d', '-m', 'u:1:rwx', 'd'], ['-d', '-m', 'u:1:r', 'f'], ['-m', 'd:g:9:rx,u:3:x', 'd'], ['-k', 'd'], ['-b', 'f'], ['-b', 'f'], ['-k', 'f'], ['-b', 'd'], ['-m', 'u:1:rwx', 's'], ['-b', 's'], ['-m', 'u:1:rwx,m::-', 'f'], ['-m', 'o::r', 'f'], ['--set', 'u::rw,g::r,o::-', 'f']):
        t(' '.join(args), lambda: [setfacl(*args), acl('f'), acl('d'), look('f'), look('d')])
    for mode in (0o600, 0o777, 0o070, 0o4750, 0o2775):
        setfacl('-m', 'u:1:rwx,g:7:rx', 'f'); t(f'chmod {mode:o}', lambda: [os.chmod('f', mode), acl('f'), look('f')])
    setfacl('--set', 'u::rwx,u:1:rw,u:65534:-,g::r,g:77:rw,m::rw,o::r', 'f'); os.chmod('.', 0o777)
    def rights(): return errors(lambda: read('f').decode(), lambda: os.close(os.open('f', os.O_WRONLY)), lambda: os.access('f', 4), lambda: os.access('f', 2), lambda: os.access('f', 1))
    t('named user', lambda: as_user(1, rights)); t('denied user', lambda: as_user(USER, rights)); t('named group', lambda: as_user(500, rights, groups=[77])); t('others', lambda: as_user(500, rights)); t('owning group', lambda: as_user(500, rights, groups=[0]))
    setfacl('-m', 'm::r', 'f'); t('masked', lambda: [as_user(1, rights), as_user(500, rights, groups=[77])])
    os.mkdir('def'); setfacl('-d', '--set', 'u::rwx,u:1:rwx,g::rx,g:7:rwx,m::rwx,o::-', 'def')
    for umask in (0o022, 0o077, 0):
        for mode in (0o666, 0o640, 0o777, 0o400):
            def inherits():
                os.umask(umask); make_raw('def/f', mode); os.mkdir('def/d', mode); os.mkfifo('def/p', mode); os.symlink('x', 'def/s'); os.umask(0o022)
                out = [(look('def/' + n), acl('def/' + n) if n != 's' else None) for n in 'fdps']; subprocess.run('rm -rf def/*', shell=True); return out
            t(f'inherits with umask {umask:o}, mode {mode:o}', inherits)
    def unnamed_inherits():
        h = os.open('def', os.O_TMPFILE | os.O_RDWR, 0o666); call('linkat', h, b'', AT_FDCWD, b'def/t', AT_EMPTY_PATH); return acl('def/t'), look('def/t')
    t('unnamed file', unnamed_inherits)
    os.mkdir('min'); setfacl('-d', '--set', 'u::rwx,g::r,o::-', 'min'); t('minimal default', lambda: [make_raw('min/f', 0o666), os.mkdir('min/d', 0o777), acl('min/f'), acl('min/d'), os.listxattr('min/f')])
    os.mkdir('minm'); setfacl('-d', '--set', 'u::rwx,g::rwx,m::r,o::-', 'minm'); t('default with a mask', lambda: [make_raw('minm/f', 0o666), acl('minm/f'), os.listxattr('minm/f')])
    t('xattr is seen', lambda: [os.listxattr('def'), len(os.getxattr('def', 'system.posix_acl_default')), os.listxattr('f')])
    ok = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in ((1, 6, 0xffffffff), (4, 4, 0xffffffff), (0x20, 4, 0xffffffff)))
    named = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in ((1, 6, 0xffffffff), (2, 7, 5), (4, 4, 0xffffffff), (0x20, 4, 0xffffffff)))
    for label, value in (('minimal', ok), ('no mask', named), ('short', ok[:11]), ('version', struct.pack('<I', 1) + ok[4:]), ('empty', b''), ('header', ok[:4]), ('no others', ok[:20]), ('bad perm', ok[:6] + b'\xff\xff' + ok[8:]), ('unsorted', ok[:4] + ok[12:20] + ok[4:12] + ok[20:])):
        make('x', b'', 0o644); t(f'raw {label}', lambda: [os.setxattr('x', 'system.posix_acl_access', value), look('x'), os.listxattr('x')])
    t('remove absent', lambda: errors(lambda: os.removexattr('x', 'system.posix_acl_access'), lambda: os.removexattr('d', 'system.posix_acl_default'), lambda: os.getxattr('x', 'system.posix_acl_access')))
    make('y', b'', 0o2775); os.chown('y', USER, OTHER); os.chmod('y', 0o2775); t('setgid goes with a list by a stranger to the group', lambda: [as_user(USER, lambda: setfacl('-m', 'u:5:r', 'y')), look('y')])
    os.chown('y', USER, OTHER); os.chmod('y', 0o2775); t('and stays for a member', lambda: [as_user(USER, lambda: setfacl('-m', 'u:5:rw', 'y'), groups=[OTHER]), look('y')])
    t('not owner', lambda: as_user(OTHER, lambda: setfacl('-m', 'u:1:rwx', 'f'))); t('cp -p', lambda: [subprocess.run(['cp', '-p', 'f', 'copy']).returncode, acl('copy')])
    os.mkdir('way'); make('way/f', b'w', 0o644); os.chmod('way', 0o700); t('directory opened to one', lambda: [setfacl('-m', 'u:1:x', 'way'), as_user(1, lambda: errors(lambda: read('way/f').decode(), lambda: os.listdir('way'))), as_user(500, lambda: errors(lambda: read('way/f').decode()))])


@case
def locks(t):
    make('f', b'x' * 1000)
    def other(action):
        """What another process gets."""
        return as_user(0, action)
    f = os.open('f', os.O_RDWR)
    def lockf(fd, kind, start=0, length=0, command=fcntl.F_SETLK): return fcntl.fcntl(fd, command, struct.pack('hhqqi4x', kind, 0, start, length, 0))
    def held_by_other(kind, start, length, command=fcntl.F_GETLK):
        k, w, s, l, p = struct.unpack('hhqqi4x', fcntl.fcntl(os.open('f', os.O_RDWR), command, struct.pack('hhqqi4x', kind, 0, start, length, 0))); return k, s, l, p == os.getppid()
    t('posix write lock', lambda: [lockf(f, fcntl.F_WRLCK, 10, 20) and 'ok', other(lambda: errors(lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_WRLCK, 15, 1), lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_RDLCK, 29, 5), lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_WRLCK, 30, 5) and 'ok')), other(lambda: held_by_other(fcntl.F_WRLCK, 0, 0))])
    t('split', lambda: [lockf(f, fcntl.F_UNLCK, 15, 5) and 'ok', other(lambda: [held_by_other(fcntl.F_WRLCK, a, 5) for a in (10, 15, 20)])])
    t('closing any descriptor lets go', lambda: [os.close(os.open('f', os.O_RDONLY)), other(lambda: held_by_other(fcntl.F_WRLCK, 0, 0))])
    t('shared', lambda: [lockf(f, fcntl.F_RDLCK, 0, 0) and 'ok', other(lambda: errors(lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_RDLCK, 5, 5) and 'ok', lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_WRLCK, 5, 5)))])
    r = os.open('f', os.O_RDONLY); t('wrong mode', lambda: errors(lambda: lockf(r, fcntl.F_WRLCK))); lockf(f, fcntl.F_UNLCK)
    OFD_GETLK, OFD_SETLK = 36, 37
    g = os.open('f', os.O_RDWR); h = os.open('f', os.O_RDWR)
    t('ofd', lambda: [lockf(g, fcntl.F_WRLCK, 0, 10, OFD_SETLK) and 'ok', errors(lambda: lockf(h, fcntl.F_WRLCK, 5, 10, OFD_SETLK), lambda: lockf(f, fcntl.F_WRLCK, 5, 10), lambda: lockf(h, fcntl.F_WRLCK, 10, 10, OFD_SETLK) and 'ok')]); t('ofd goes with its description', lambda: [os.close(g), errors(lambda: lockf(f, fcntl.F_WRLCK, 0, 10) and 'ok')])
    os.close(h); a, b = os.open('f', os.O_RDONLY), os.open('f', os.O_RDONLY)
    t('flock', lambda: [fcntl.flock(a, fcntl.LOCK_EX), errors(lambda: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.flock(b, fcntl.LOCK_SH | fcntl.LOCK_NB)), fcntl.flock(a, fcntl.LOCK_SH), errors(lambda: fcntl.flock(b, fcntl.LOCK_SH | fcntl.LOCK_NB), lambda: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)), fcntl.flock(a, fcntl.LOCK_UN), errors(lambda: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB))])
    def waits():
        pid = os.fork()
        if pid == 0: h2 = os.open('f', os.O_RDONLY); fcntl.flock(h2, fcntl.LOCK_EX); os._exit(7)
        time.sleep(0.1); first = os.waitpid(pid, os.WNOHANG)[0]; fcntl.flock(b, fcntl.LOCK_UN); return first, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    t('waits', waits)
    def deadlock():
        lockf(f, fcntl.F_UNLCK); lockf(f, fcntl.F_WRLCK, 0, 1); pr, pw = os.pipe(); pid = os.fork()
        if pid == 0:
            x = os.open('f', os.O_RDWR); lockf(x, fcntl.F_WRLCK, 1, 1); os.write(pw, b'.')
            os._exit(3 if errors(lambda: lockf(x, fcntl.F_WRLCK, 0, 1, fcntl.F_SETLKW) and 'ok') == ['ok'] else 4)
        os.read(pr, 1); time.sleep(0.1); mine = errors(lambda: lockf(f, fcntl.F_WRLCK, 1, 1, fcntl.F_SETLKW)); lockf(f, fcntl.F_UNLCK); return mine, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    t('deadlock is seen', deadlock)
    def interrupted():
        lockf(f, fcntl.F_WRLCK); pid = os.fork()
        if pid == 0:
            def ring(*_): raise InterruptedError
            signal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.1); x = os.open('f', os.O_RDWR)
            try: lockf(x, fcntl.F_WRLCK, 0, 0, fcntl.F_SETLKW); os._exit(1)
            except InterruptedError: os._exit(2)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    t('a waiting lock can be interrupted', interrupted)
    t('lease', lambda: errors(lambda: fcntl.fcntl(os.open('f', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)))


@case
def mapping(t):
    for size in (100, 5000, 70000, 3000000):
        make('f', b'0' * size); f = os.open('f', os.O_RDWR); m = mmap.mmap(f, 0); p = mmap.mmap(f, 0, flags=mmap.MAP_PRIVATE)
        t(f'{size}: written by map, read', lambda: [m.__setitem__(slice(10, 15), b'SHARE'), os.pread(f, 5, 10), read('f')[10:15]])
        t(f'{size}: written, read by map', lambda: [os.pwrite(f, b'WRITE', 20), m[20:25], p[20:25]]); t(f'{size}: private', lambda: [p.__setitem__(slice(30, 35), b'PRIVA'), os.pread(f, 5, 30), m[30:35], p[30:35]])
        t(f'{size}: two maps', lambda: [m2 := None or mmap.mmap(os.open('f', os.O_RDWR), 0), m2.__setitem__(slice(40, 45), b'OTHER'), m[40:45]][1:]); t(f'{size}: after msync and drop', lambda: [m.flush(), os.posix_fadvise(f, 0, 0, 4), os.pread(f, 40, 8)])
        t(f'{size}: past the end in the last page', lambda: [size % 4096 and mmap.mmap(f, size)[size - 1:size], os.fstat(f).st_size]); m.flush()
        t(f'{size}: appended, then mapped', lambda: [os.pwrite(f, b'tail', size), mmap.mmap(f, size + 4)[size:size + 4]]); t(f'{size}: shrunk', lambda: [os.ftruncate(f, 50), os.ftruncate(f, 100), os.pread(f, 100, 45)]); os.close(f)
    def bus():
        make('b', b'x' * 8192); f = os.open('b', os.O_RDWR); m = mmap.mmap(f, 8192); os.ftruncate(f, 100); m[200]; m[5000]
    def dies():
        pid = os.fork()
        if pid == 0:
            try: bus()
            finally: os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    t('SIGBUS past the end', dies); make('r', b'x' * 10); r = os.open('r', os.O_RDONLY); w = os.open('r', os.O_WRONLY)
    t('rights', lambda: errors(lambda: mmap.mmap(r, 10) and 'ok', lambda: mmap.mmap(r, 10, prot=mmap.PROT_READ) and 'ok', lambda: mmap.mmap(r, 10, flags=mmap.MAP_PRIVATE) and 'ok', lambda: mmap.mmap(w, 10) and 'ok', lambda: mmap.mmap(os.open('.', os.O_RDONLY), 10, prot=mmap.PROT_READ) and 'ok'))
    make('u', b'u' * 5000); h = os.open('u', os.O_RDWR); m = mmap.mmap(h, 0); os.close(h); os.unlink('u'); t('unlinked and closed', lambda: [m[:3], m.__setitem__(0, 65), m[:3]])
    make('held', b'h' * 5000); h = os.open('held', os.O_RDWR); m = mmap.mmap(h, 0); os.rename('held', 'moved'); m[0:1] = b'H'; m.flush(); t('renamed while mapped', lambda: read('moved')[:2])
    make('i', b'i' * 4096 * 4); h = os.open('i', os.O_RDWR); m = mmap.mmap(h, 0); m[5000] = 66
    t('direct I/O sees the map', lambda: [(d := os.open('i', os.O_RDONLY | os.O_DIRECT)), (b := mmap.mmap(-1, 4096)), os.preadv(d, [b], 4096), b[904]][2:])
    t('the map sees direct I/O', lambda: [(d := os.open('i', os.O_WRONLY | os.O_DIRECT)), (b := mmap.mmap(-1, 4096)), b.write(b'D' * 4096), os.pwrite(d, b, 8192), m[8192:8194], os.pread(h, 2, 8192)][2:])


@case
def concurrent_writers(t):
    f = os.open('log', os.O_CREAT | os.O_WRONLY, 0o644); os.close(f); pids = []
    for w in range(4):
        pid = os.fork()
        if pid == 0:
            h = os.open('log', os.O_WRONLY | os.O_APPEND)
            for i in range(300): os.write(h, (b'%d %04d ' % (w, i)).ljust(50 + w * 37, b'.') + b'\n')
            os._exit(0)
        pids.append(pid)
    [os.waitpid(p, 0) for p in pids]; lines = read('log').split(b'\n')
    t('every line whole, in order of its writer', lambda: [len(lines), [[int(l.split()[1]) for l in lines if l[:1] == b'%d' % w] == list(range(300)) for w in range(4)], {len(l) for l in lines}])
    pids = []
    for w in range(4):
        pid = os.fork()
        if pid == 0:
            for i in range(100):
                try: os.close(os.open(f'once{i}', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)); os.write(os.open('won', os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), b'.')
                except FileExistsError: pass
            os._exit(0)
        pids.append(pid)
    [os.waitpid(p, 0) for p in pids]; t('each made once', lambda: len(read('won')))
    pids = []
    os.mkdir('r'); make('r/0', b'x')
    for w in range(3):
        pid = os.fork()
        if pid == 0:
            for i in range(200):
                make(f'r/t{w}', b'%d' % w * 5000); os.rename(f'r/t{w}', 'r/target')
            os._exit(0)
        pids.append(pid)
    torn = 0
    for _ in range(300):
        try: c = read('r/target'); torn += len(c) != 5000 or len(set(c)) != 1
        except FileNotFoundError: pass
    [os.waitpid(p, 0) for p in pids]; t('a replaced file is one or the other', lambda: [torn, len(read('r/target'))])


@case
def programs(t):
    shutil.copy('/bin/true', 'true'); h = os.open('true', os.O_RDONLY); t('exec', lambda: subprocess.run(['./true']).returncode); w = os.open('true', os.O_RDWR); t('exec of a file open for writing', lambda: errors(lambda: subprocess.run(['./true']).returncode)); os.close(w)
    shutil.copy('/bin/sleep', 'sleep'); p = subprocess.Popen(['./sleep', '5']); time.sleep(0.2); t('writing to a running program', lambda: errors(lambda: os.open('sleep', os.O_WRONLY), lambda: os.truncate('sleep', 0), lambda: os.unlink('sleep'))); p.kill(); p.wait()
    make('script', b'#!/bin/sh\nid -u\n', 0o755); t('script', lambda: subprocess.run(['./script'], capture_output=True).stdout); make('noexec', b'#!/bin/sh\n', 0o644); t('not executable', lambda: errors(lambda: subprocess.run(['./noexec']).returncode))
    shutil.copy('/usr/bin/id', 'suid'); os.chown('suid', 0, 0); os.chmod('suid', 0o4755); t('suid', lambda: as_user(USER, lambda: subprocess.run(['./suid', '-u'], capture_output=True, text=True).stdout))
    os.chown('suid', USER, OTHER); os.chmod('suid', 0o2755); t('sgid', lambda: as_user(USER, lambda: subprocess.run(['./suid', '-g'], capture_output=True, text=True).stdout)); s = socket.socket(socket.AF_UNIX); t('socket', lambda: [s.bind('sock'), look('sock')[0]]); t('socket twice', lambda: errors(lambda: socket.socket(socket.AF_UNIX).bind('sock')))
    os.mkfifo('fifo'); r = os.open('fifo', os.O_RDONLY | os.O_NONBLOCK); w = os.open('fifo', os.O_WRONLY); t('fifo', lambda: [os.write(w, b'through'), os.read(r, 20)]); t('null device', lambda: [os.mknod('null', stat.S_IFCHR | 0o666, os.makedev(1, 3)), os.write(os.open('null', os.O_WRONLY), b'x'), look('null')[0], os.stat('null').st_rdev]); t('devices', lambda: [os.mknod('big', stat.S_IFBLK | 0o600, os.makedev(4000, 70000)), os.major(os.stat('big').st_rdev), os.minor(os.stat('big').st_rdev)])
    t('mknod', lambda: errors(lambda: os.mknod('reg', stat.S_IFREG | 0o644), lambda: os.mknod('dir', stat.S_IFDIR | 0o755), lambda: os.mknod('lnk', stat.S_IFLNK | 0o777), lambda: os.mknod('reg'), lambda: as_user(USER, lambda: errors(lambda: os.mknod('n', stat.S_IFCHR | 0o666, os.makedev(1, 3))))))


@case
def notification(t):
    libc.inotify_init1(0); fd = libc.inotify_init1(os.O_NONBLOCK); os.mkdir('d'); call('inotify_add_watch', fd, b'd', 0xfff)
    make('d/f', b'x'); os.rename('d/f', 'd/g'); read('d/g'); os.chmod('d/g', 0o600); os.link('d/g', 'd/h'); os.unlink('d/g'); os.mkdir('d/s'); os.rmdir('d/s'); os.truncate('d/h', 0)
    data = os.read(fd, 65536); out, at = [], 0
    while at < len(data):
        wd, mask, cookie, n = struct.unpack_from('iIII', data, at); out.append((hex(mask), data[at + 16:at + 16 + n].rstrip(b'\0'))); at += 16 + n
    t('inotify', lambda: out)


@case
def handles(t):
    def handle(name):
        buffer = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128), 136); mount = ctypes.c_int(); call('name_to_handle_at', AT_FDCWD, os.fsencode(name), buffer, ctypes.byref(mount), 0); return buffer
    where = os.open('.', os.O_RDONLY)
    def by_handle(h, flags=os.O_RDONLY): return call('open_by_handle_at', where, h, flags)
    def drop(): os.sync(); open('/proc/sys/vm/drop_caches', 'w').write('3')
    os.makedirs('d/e'); made = {n: make(n, n.encode() * 10) for n in ('f', 'd/g', 'd/e/h')}; os.link('f', 'd/l'); os.symlink('f', 's'); kept = {n: handle(n) for n in (*made, 'd', 'd/e')}
    def opens(): return {n: (lambda h: [os.read(h, 5) if stat.S_ISREG(os.fstat(h).st_mode) else sorted(os.listdir(h)), os.fstat(h).st_ino == os.stat(n).st_ino, os.close(h)][:2])(by_handle(kept[n])) for n in kept}
    t('open', opens); t('open after the caches were dropped', lambda: [drop(), opens()][1])
    def moved(): os.rename('d/e/h', 'moved'); os.rename('d', 'D'); drop(); return [os.read(by_handle(kept['d/e/h']), 5), os.read(by_handle(kept['d/g']), 5), sorted(os.listdir(by_handle(kept['d'])))]
    t('after renames', moved); os.unlink('f'); t('one of two names gone', lambda: [drop(), os.read(by_handle(kept['f']), 2)][1]); os.unlink('D/l'); t('removed', lambda: errors(drop, lambda: by_handle(kept['f']))); h = os.open('moved', os.O_RDONLY); os.unlink('moved'); t('removed but open', lambda: [os.read(by_handle(kept['d/e/h']), 5), os.close(h), errors(lambda: by_handle(kept['d/e/h']))])
    t('writing', lambda: [os.write(by_handle(kept['d/g'], os.O_WRONLY), b'W'), read('D/g')[:3]]); t('..', lambda: [drop(), os.stat('..', dir_fd=by_handle(kept['d/e'])).st_ino == os.stat('D').st_ino][1]); t('not root', lambda: as_user(USER, lambda: errors(lambda: by_handle(kept['d/g']))))


@case
def sizes_and_space(t):
    make('empty'); make('one', b'x'); make('page', b'x' * 4096); make('big', b'x' * 5000000); f = os.open('sparse', os.O_CREAT | os.O_RDWR, 0o644); os.ftruncate(f, 50 << 20); os.sync()
    t('blocks of nothing', lambda: os.stat('empty').st_blocks); t('blocks of something', lambda: [os.stat('one').st_blocks > 0, 8 <= os.stat('page').st_blocks <= 16, 9766 <= os.stat('big').st_blocks <= 9800]); t('blocks of a hole', lambda: os.stat('sparse').st_blocks)
    v = os.statvfs('.'); t('statvfs', lambda: [v.f_namemax, v.f_bsize, v.f_frsize, v.f_blocks > v.f_bfree >= v.f_bavail > 0, v.f_files > v.f_ffree > 0]); used = lambda: (lambda x: x.f_files - x.f_ffree)(os.statvfs('.'))
    n = used(); [make(f'n{i}') for i in range(50)]; os.mkdir('nd'); os.symlink('x', 'ns'); os.link('n0', 'nl'); t('df -i counts', lambda: used() - n); [os.unlink(f'n{i}') for i in range(50)]; t('and uncounts', lambda: used() - n); t('block size', lambda: os.stat('one').st_blksize); t('inode numbers differ', lambda: len({os.stat(x).st_ino for x in ('empty', 'one', 'page', 'big', 'nd')}))
    t('st_dev', lambda: len({os.lstat(x).st_dev for x in os.listdir('.')})); t('pathconf', lambda: [os.pathconf('.', x) for x in ('PC_NAME_MAX', 'PC_PATH_MAX', 'PC_LINK_MAX', 'PC_CHOWN_RESTRICTED', 'PC_NO_TRUNC', 'PC_SYMLINK_MAX')])


@case
def control(t):
    make('f', b'x' * 5000); f = os.open('f', os.O_RDWR); b = ctypes.create_string_buffer(64)
    for label, number in (('FS_IOC_GETFLAGS', 0x80086601), ('FS_IOC_GETVERSION', 0x80087601), ('FIGETBSZ', 2), ('FIBMAP', 1), ('FIONREAD', 0x541B), ('FICLONE', 0x40049409), ('FITRIM', 0xC0185879), ('FS_IOC_FIEMAP', 0xC020660B), ('unknown', 0x12345)):
        t(label, lambda: errors(lambda: str(call('ioctl', f, number, b))))
    t('getlabel', lambda: errors(lambda: call('ioctl', f, 0x81009431, ctypes.create_string_buffer(300)) and 'ok')); t('swapon', lambda: errors(lambda: call('swapon', b'f', 0))); t('O_DIRECT of odd length', lambda: errors(lambda: os.pread(os.open('f', os.O_RDONLY | os.O_DIRECT), 10, 1)))


@case
def read_only(t):
    """Runs last, on directories made before and now read-only."""


def state_for_read_only():
    make('f', b'x' * 10); os.mkdir('d'); os.symlink('f', 's')


def read_only_calls(t):
    r = os.open('f', os.O_RDONLY)
    t('calls', lambda: errors(lambda: os.open('f', os.O_WRONLY), lambda: os.open('new', os.O_CREAT | os.O_RDONLY), lambda: os.close(os.open('f', os.O_CREAT | os.O_RDONLY)), lambda: os.mkdir('n'), lambda: os.mkdir('d'), lambda: os.rmdir('d'), lambda: os.unlink('f'), lambda: os.unlink('m'), lambda: os.rename('f', 'g'), lambda: os.link('f', 'g'), lambda: os.symlink('x', 'y'), lambda: os.chmod('f', 0), lambda: os.chown('f', 1, 1), lambda: os.utime('f'), lambda: os.truncate('f', 0), lambda: os.setxattr('f', 'user.a', b''), lambda: os.mkfifo('p'), lambda: os.access('f', os.W_OK), lambda: os.read(r, 5).decode(), lambda: os.listdir('.').sort(), lambda: os.open('.', os.O_TMPFILE | os.O_RDWR), lambda: os.fsync(r), lambda: os.statvfs('.').f_flag & 1))


def run(function, directory):
    """The notes of a case, taken in a child so that nothing leaks from one to the next."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        code = 0
        try:
            os.umask(0o022); os.chdir(directory); notes = Notes()
            try: function(notes)
            except BaseException as e:
                import traceback
                notes.note('case ended early', f'{type(e).__name__}: {e} at {traceback.extract_tb(e.__traceback__)[-1].lineno}')
            with os.fdopen(w, 'w') as out: json.dump(notes.list, out)
        finally:
            os._exit(code)
    os.close(w)
    with os.fdopen(r) as f: text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else [('case died', '')]


def main():
    args = sys.argv[1:]
    known = {}
    if args[0] == '--differences':
        for line in open(args[1]):
            m = re.match(r'\| `([a-z_]+: [^`]+)` \|', line)
            if m: known[m[1].replace('¦', '|')] = 0
        args = args[2:]
    native, mount, wanted = args[0], args[1], args[2:] or [c for c in CASES if c != 'read_only']
    failures = total = 0
    for name in wanted:
        results = []
        started = time.time()
        for top in (native, mount):
            directory = os.path.join(top, name)
            if name == 'read_only':
                results.append(run(read_only_calls, top))
                continue
            shutil.rmtree(directory, ignore_errors=True); os.mkdir(directory)
            results.append(run(CASES[name], directory))
            shutil.rmtree(directory, ignore_errors=True)
        differing = 0
        for i in range(max(len(r) for r in results)):
            pair = [r[i] if i < len(r) else ('nothing', '') for r in results]
            total += 1
            if pair[0] == pair[1]: continue
            matches = [k for k in known if fnmatch.fnmatchcase(f'{name}: {pair[0][0]}', k.replace('[', '[[]'))]
            for k in matches: known[k] += 1
            if matches: continue
            differing += 1
            if differing <= 12: print(f'  {name}: {pair[0][0]}\n    native {pair[0][1][:300]}\n    mount  {pair[1][1][:300]}' + ('' if pair[0][0] == pair[1][0] else f' ({pair[1][0]})'))
        failures += differing
        print(f'{name}: {len(results[0])} calls, {differing} differ, {time.time() - started:.1f} s', flush=True)
    for k, n in known.items():
        if n == 0 and k.split(':')[0] in wanted:
            print(f'  listed as a difference but none: {k}'); failures += 1
    print(f'{total} outcomes compared, {sum(known.values())} differ as listed, {failures} otherwise')
    sys.exit(1 if failures else 0)


if __name__ == '__main__':
    main()
