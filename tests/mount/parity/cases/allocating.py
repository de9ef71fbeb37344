"""fallocate in all its modes."""

import os

from harness import COLLAPSE, errors, fallocate, hash_of, INSERT, KEEP, make, PUNCH, read, UNSHARE, ZERO


def allocating(t):
    modes = {
        'plain': 0,
        'keep': KEEP,
        'punch': PUNCH,
        'punch keep': PUNCH | KEEP,
        'zero': ZERO,
        'zero keep': ZERO | KEEP,
        'punch zero': PUNCH | ZERO | KEEP,
        'collapse': COLLAPSE,
        'insert': INSERT,
        'unshare': UNSHARE,
        'unknown': 0x800,
        'collapse keep': COLLAPSE | KEEP,
    }
    for size in (0, 100, 10000, 200000, 3000000):
        for name, mode in modes.items():
            for offset, length in ((0, 4096), (50, 100), (5000, 100000), (4096, 8192), (size, 5000)):
                make('f', b'd' * size)
                f = os.open('f', os.O_RDWR)
                t(
                    f'{name} {offset}+{length} of {size}',
                    lambda: [fallocate(f, mode, offset, length), os.fstat(f).st_size, hash_of(read('f'))],
                )
                os.close(f)
    make('f', b'x' * 100)
    f = os.open('f', os.O_RDWR)
    for offset, length in ((0, 0), (-1, 10), (10, -1), (0, 1 << 62), ((1 << 63) - 10, 100)):
        t(f'range {offset}+{length}', fallocate, f, 0, offset, length)
    t('read-only', fallocate, os.open('f', os.O_RDONLY), 0, 0, 10)
    t('directory', fallocate, os.open('.', os.O_RDONLY), 0, 0, 10)
    os.mkfifo('p')
    t('fifo', fallocate, os.open('p', os.O_RDWR), 0, 0, 10)
    t('pipe', fallocate, os.pipe()[1], 0, 0, 10)
    make('huge')
    t('more than there is', fallocate, os.open('huge', os.O_RDWR), 0, 0, 1 << 40)
    os.truncate('huge', 0)
    t('posix_fallocate', lambda: [os.posix_fallocate(f, 5, 500), os.fstat(f).st_size])
    g = os.open('g', os.O_RDWR | os.O_CREAT, 0o644)
    t(
        'reserved is held',
        lambda: [fallocate(g, KEEP, 0, 10 << 20), os.fstat(g).st_size, os.fstat(g).st_blocks >= 20480],
    )
    t('and given back', lambda: [os.ftruncate(g, 0), os.fstat(g).st_blocks])
    t(
        'punched is free',
        lambda: [
            os.pwrite(g, b'x' * (4 << 20), 0),
            os.fsync(g),
            fallocate(g, PUNCH | KEEP, 0, 4 << 20),
            os.fstat(g).st_size,
            os.fstat(g).st_blocks < 100,
        ],
    )
    t(
        'append only descriptor',
        lambda: errors(
            lambda: fallocate(os.open('f', os.O_WRONLY | os.O_APPEND), 0, 0, 5000),
            lambda: fallocate(os.open('f', os.O_WRONLY | os.O_APPEND), PUNCH | KEEP, 0, 50),
        ),
    )
