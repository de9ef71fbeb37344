"""truncate and ftruncate."""

import os

from harness import as_user, look, make, read, USER


def truncating(t):
    for size in (0, 10, 5000, 70000, 3000000):
        for to in (0, 1, 4096, 65536, 65537, 1500000):
            make('f', b'z' * size)
            t(
                f'{size} to {to}',
                lambda: [os.truncate('f', to), look('f'), read('f') == (b'z' * size)[:to].ljust(to, b'\0')],
            )
    f = os.open('f', os.O_RDONLY)
    t('of read-only', os.ftruncate, f, 1)
    t('negative', os.truncate, 'f', -1)
    t('directory', os.truncate, '.', 0)
    t('missing', os.truncate, 'm', 0)
    os.mkfifo('p')
    os.symlink('f', 's')
    os.symlink('l', 'l')
    t('fifo', os.truncate, 'p', 0)
    t('by symlink', lambda: [os.truncate('s', 7), look('f')])
    t('loop', os.truncate, 'l', 0)
    t('file as directory', os.truncate, 'f/x', 0)
    t('not mine', lambda: as_user(USER, lambda: os.truncate('f', 0)))
    t(
        'grown in steps reads as zeros',
        lambda: [
            make('g', b'abc'),
            [os.truncate('g', n) for n in (5000, 4, 9000, 2, 100000)],
            read('g').strip(b'\0'),
            look('g'),
        ],
    )
