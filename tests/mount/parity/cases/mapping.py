"""mmap."""

import mmap
import os

from harness import errors, make, read


def mapping(t):
    for size in (100, 5000, 70000, 3000000):
        make('f', b'0' * size)
        f = os.open('f', os.O_RDWR)
        m = mmap.mmap(f, 0)
        p = mmap.mmap(f, 0, flags=mmap.MAP_PRIVATE)
        t(
            f'{size}: written by map, read',
            lambda: [m.__setitem__(slice(10, 15), b'SHARE'), os.pread(f, 5, 10), read('f')[10:15]],
        )
        t(f'{size}: written, read by map', lambda: [os.pwrite(f, b'WRITE', 20), m[20:25], p[20:25]])
        t(
            f'{size}: private',
            lambda: [p.__setitem__(slice(30, 35), b'PRIVA'), os.pread(f, 5, 30), m[30:35], p[30:35]],
        )
        t(
            f'{size}: two maps',
            lambda: [
                m2 := None or mmap.mmap(os.open('f', os.O_RDWR), 0),
                m2.__setitem__(slice(40, 45), b'OTHER'),
                m[40:45],
            ][1:],
        )
        t(
            f'{size}: after msync and drop',
            lambda: [m.flush(), os.posix_fadvise(f, 0, 0, 4), os.pread(f, 40, 8)],
        )
        t(
            f'{size}: past the end in the last page',
            lambda: [size % 4096 and mmap.mmap(f, size)[size - 1 : size], os.fstat(f).st_size],
        )
        m.flush()
        t(
            f'{size}: appended, then mapped',
            lambda: [os.pwrite(f, b'tail', size), mmap.mmap(f, size + 4)[size : size + 4]],
        )
        t(f'{size}: shrunk', lambda: [os.ftruncate(f, 50), os.ftruncate(f, 100), os.pread(f, 100, 45)])
        os.close(f)

    def bus():
        make('b', b'x' * 8192)
        f = os.open('b', os.O_RDWR)
        m = mmap.mmap(f, 8192)
        os.ftruncate(f, 100)
        m[200]
        m[5000]

    def dies():
        pid = os.fork()
        if pid == 0:
            try:
                bus()
            finally:
                os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    t('SIGBUS past the end', dies)
    make('r', b'x' * 10)
    r = os.open('r', os.O_RDONLY)
    w = os.open('r', os.O_WRONLY)
    t(
        'rights',
        lambda: errors(
            lambda: mmap.mmap(r, 10) and 'ok',
            lambda: mmap.mmap(r, 10, prot=mmap.PROT_READ) and 'ok',
            lambda: mmap.mmap(r, 10, flags=mmap.MAP_PRIVATE) and 'ok',
            lambda: mmap.mmap(w, 10) and 'ok',
            lambda: mmap.mmap(os.open('.', os.O_RDONLY), 10, prot=mmap.PROT_READ) and 'ok',
        ),
    )
    make('u', b'u' * 5000)
    h = os.open('u', os.O_RDWR)
    m = mmap.mmap(h, 0)
    os.close(h)
    os.unlink('u')
    t('unlinked and closed', lambda: [m[:3], m.__setitem__(0, 65), m[:3]])
    make('held', b'h' * 5000)
    h = os.open('held', os.O_RDWR)
    m = mmap.mmap(h, 0)
    os.rename('held', 'moved')
    m[0:1] = b'H'
    m.flush()
    t('renamed while mapped', lambda: read('moved')[:2])
    make('i', b'i' * 4096 * 4)
    h = os.open('i', os.O_RDWR)
    m = mmap.mmap(h, 0)
    m[5000] = 66
    t(
        'direct I/O sees the map',
        lambda: [
            (d := os.open('i', os.O_RDONLY | os.O_DIRECT)),
            (b := mmap.mmap(-1, 4096)),
            os.preadv(d, [b], 4096),
            b[904],
        ][2:],
    )
    t(
        'the map sees direct I/O',
        lambda: [
            (d := os.open('i', os.O_WRONLY | os.O_DIRECT)),
            (b := mmap.mmap(-1, 4096)),
            b.write(b'D' * 4096),
            os.pwrite(d, b, 8192),
            m[8192:8194],
            os.pread(h, 2, 8192),
        ][2:],
    )
