"""read, write and their kin; what is synced, sent and spliced."""

import mmap
import os
import resource
import signal

from harness import as_user, call, errors, fallocate, look, make


def reading_and_writing(t):
    make('f', bytes(range(256)) * 40)
    f = os.open('f', os.O_RDWR)
    r = os.open('f', os.O_RDONLY)
    w = os.open('f', os.O_WRONLY)
    t('pread past end', os.pread, f, 10, 20000)
    t('pread at end', os.pread, f, 10, 10235)
    t('negative', os.pread, f, 10, -1)
    t('pwrite negative', os.pwrite, f, b'x', -1)
    t('read of write-only', os.read, w, 1)
    t('write to read-only', os.write, r, b'x')
    t('write nothing', os.write, f, b'')
    t('gap', os.pwrite, f, b'end', 30000)
    t('gap reads', os.pread, f, 8, 10236)
    t('size', look, 'f')
    t(
        'readv',
        lambda: [
            os.lseek(f, 0, 0),
            os.readv(f, [b1 := bytearray(3), b2 := bytearray(5)]),
            bytes(b1),
            bytes(b2),
        ],
    )
    t('writev', lambda: [os.lseek(f, 5, 0), os.writev(f, [b'ab', b'', b'cde']), os.pread(f, 8, 4)])
    a = os.open('a', os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    t(
        'append',
        lambda: [
            os.write(a, b'one'),
            os.lseek(a, 0, 0),
            os.write(a, b'two'),
            os.pwrite(a, b'three', 0),
            os.pread(a, 50, 0),
        ],
    )
    t('rwf append', lambda: [os.pwritev(f, [b'tail'], 0, 0x10), os.fstat(f).st_size, os.pread(f, 4, 30003)])
    for flag, text in (
        (os.RWF_DSYNC, 'dsync'),
        (os.RWF_SYNC, 'sync'),
        (os.RWF_HIPRI, 'hipri'),
        (0x4000, 'unknown'),
    ):
        t(f'pwritev2 {text}', os.pwritev, f, [b'x'], 0, flag)
    for flags in (os.O_SYNC, os.O_DSYNC, os.O_DIRECT | os.O_SYNC):
        d = os.open('sync', os.O_CREAT | os.O_RDWR | flags, 0o644)
        m = mmap.mmap(-1, 4096)
        m[:] = b'q' * 4096
        t(f'write with flags {flags:o}', lambda: [os.write(d, m), os.fstat(d).st_size])
        os.close(d)
    big = 1 << 43
    t(
        'far',
        lambda: [
            os.pwrite(f, b'far', big),
            os.fstat(f).st_size,
            os.pread(f, 10, big - 3),
            os.ftruncate(f, 100),
            os.pread(f, 10, 96),
        ],
    )
    t('past the largest offset', os.pwrite, f, b'xx', (1 << 63) - 2)
    t('sendfile', lambda: [os.sendfile(a, f, 0, 50)])
    b = os.open('b', os.O_CREAT | os.O_RDWR, 0o644)
    t(
        'sendfile to file',
        lambda: [os.sendfile(b, f, 0, 50), look('b'), os.pread(b, 50, 0) == os.pread(f, 50, 0)],
    )
    pr, pw = os.pipe()
    t('splice', lambda: [os.splice(f, pw, 30), os.read(pr, 100)])
    t('fadvise', lambda: [os.posix_fadvise(f, 0, 0, a) for a in range(6)])
    t('fsync', os.fsync, f)
    t('fdatasync read-only', os.fdatasync, r)
    t('fsync directory', os.fsync, os.open('.', os.O_RDONLY))
    t('read directory', os.read, os.open('.', os.O_RDONLY), 1)
    t('syncfs', lambda: call('syncfs', f))
    t('sync_file_range', lambda: call('sync_file_range', f, 0, 0, 7))
    t('readahead', lambda: call('readahead', f, 0, 100))
    t('mincore by preadv2 nowait of nothing', os.preadv, f, [bytearray(0)], 0, os.RWF_NOWAIT)

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        x = os.open('limited', os.O_CREAT | os.O_RDWR, 0o644)
        return errors(
            lambda: os.write(x, b'y' * 1500),
            lambda: os.write(x, b'z'),
            lambda: os.ftruncate(x, 2000),
            lambda: fallocate(x, 0, 0, 2000),
        ) + [os.fstat(x).st_size]

    t('file size limit', lambda: as_user(0, limited))
