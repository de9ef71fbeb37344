"""copy_file_range and the like."""

import os

from harness import call_checked, hash_of, libc, make, read


def copying(t):
    make('f', bytes(i * 7 % 251 for i in range(100000)))
    f = os.open('f', os.O_RDWR)
    for offset, n in (
        (0, 100000),
        (0, 200000),
        (500, 4096),
        (99990, 100),
        (100000, 10),
        (200000, 10),
        (0, 0),
    ):
        g = os.open('g', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
        t(
            f'{n} from {offset}',
            lambda: [os.copy_file_range(f, g, n, offset, 3), os.fstat(g).st_size, hash_of(read('g'))],
        )
        os.close(g)
    g = os.open('g', os.O_RDWR | os.O_CREAT)
    t('overlapping', os.copy_file_range, f, f, 1000, 0, 500)
    t('within', lambda: [os.copy_file_range(f, f, 1000, 0, 5000), hash_of(read('f'))])
    t('from write-only', os.copy_file_range, os.open('f', os.O_WRONLY), g, 10)
    t('to read-only', os.copy_file_range, f, os.open('f', os.O_RDONLY), 10)
    t('to append', os.copy_file_range, f, os.open('g', os.O_WRONLY | os.O_APPEND), 10)
    t('from directory', os.copy_file_range, os.open('.', os.O_RDONLY), g, 10)
    t('to pipe', os.copy_file_range, f, os.pipe()[1], 10)
    t('flags', lambda: call_checked(libc.copy_file_range(f, None, g, None, 10, 1)))
    t(
        'moves both positions',
        lambda: [
            os.lseek(f, 10, 0),
            os.lseek(g, 20, 0),
            os.copy_file_range(f, g, 30),
            os.lseek(f, 0, 1),
            os.lseek(g, 0, 1),
        ],
    )
    t(
        'far',
        lambda: [
            os.copy_file_range(f, g, 5000, 0, 4 << 20),
            os.fstat(g).st_size,
            os.pread(g, 4, (4 << 20) + 1),
        ],
    )
