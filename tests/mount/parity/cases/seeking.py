"""lseek, holes included."""

import os

from harness import call_checked, libc


def seeking(t):
    def where(fd):
        out, at, size = [], 0, os.fstat(fd).st_size
        while at < size:
            try:
                start = libc.lseek(fd, at, 3)
            except OSError:
                break
            if start < 0:
                break
            end = libc.lseek(fd, start, 4)
            out.append((start, end))
            at = end
        return out

    for pieces, size in (
        ([(0, 4096)], 4096),
        ([(8192, 4096)], 20480),
        ([(0, 4096), (12288, 4096)], 32768),
        ([(1 << 20, 8192)], 3 << 20),
        ([], 0),
        ([], 50000),
        ([], 5 << 20),
    ):
        f = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
        os.ftruncate(f, size)
        for at, n in pieces:
            os.pwrite(f, b'D' * n, at)
        t(f'data of {pieces} in {size}', where, f)
        os.fsync(f)
        t(f'data of {pieces} in {size} synced', where, f)
        os.close(f)
    f = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
    os.write(f, b'x' * 1000)
    for whence in (0, 1, 2, 3, 4, 5, 9):
        for offset in (0, 10, 999, 1000, 1001, -1, -2000):
            t(
                f'lseek {offset} {whence}',
                lambda: [call_checked(libc.lseek(f, 500, 0)), call_checked(libc.lseek(f, offset, whence))],
            )
    t('pipe', os.lseek, os.pipe()[0], 0, 0)
    os.mkfifo('p')
    t('fifo', os.lseek, os.open('p', os.O_RDWR), 0, 0)
