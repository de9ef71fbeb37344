"""rename and renameat2."""

import os
import shutil

from harness import (
    as_user,
    errors,
    EXCHANGE,
    hash_of,
    look,
    make,
    NOREPLACE,
    OTHER,
    read,
    renameat2,
    USER,
    WHITEOUT,
)


def renaming(t):
    def tree():
        shutil.rmtree('t', ignore_errors=True)
        os.mkdir('t')
        for d in ('d', 'd/sub', 'e', 'full', 'full/x'):
            os.mkdir('t/' + d)
        for f in ('f', 'g', 'd/in'):
            make('t/' + f, f.encode())
        os.link('t/f', 't/hard')
        os.symlink('f', 't/s')
        os.mkfifo('t/p')

    def listing():
        return sorted(
            (
                os.path.relpath(os.path.join(d, n), 't'),
                look(os.path.join(d, n))[0],
                look(os.path.join(d, n))[2],
            )
            for d, ds, fs in os.walk('t')
            for n in ds + fs
        )

    names = (
        'f',
        'g',
        'd',
        'e',
        'full',
        's',
        'p',
        'm',
        'd/sub',
        'd/new',
        'hard',
        '.',
        'd/..',
        'd/',
        'f/',
        'f/x',
        'm/x',
        'new/',
    )
    for flags in (
        0,
        NOREPLACE,
        EXCHANGE,
        WHITEOUT,
        NOREPLACE | EXCHANGE,
        WHITEOUT | EXCHANGE,
        WHITEOUT | NOREPLACE,
        8,
    ):
        for a in names:
            for b in names:
                if flags not in (0, EXCHANGE) and (len(a) > 4 or len(b) > 5):
                    continue
                tree()
                t(
                    f'{flags} {a} {b}',
                    lambda: [renameat2('t/' + a, 't/' + b, flags), hash_of(repr(listing()).encode())],
                )
    tree()
    t(
        'contents',
        lambda: [
            renameat2('t/f', 't/d/in', EXCHANGE),
            read('t/f'),
            read('t/d/in'),
            renameat2('t/d', 't/full', EXCHANGE),
            sorted(os.listdir('t/full')),
            sorted(os.listdir('t/d')),
            os.stat('t/d/x/..').st_ino == os.stat('t/d').st_ino,
        ],
    )
    tree()
    t(
        'whiteout',
        lambda: [renameat2('t/f', 't/w', WHITEOUT), look('t/f'), os.stat('t/f').st_rdev, read('t/w')],
    )
    tree()
    t('too long', os.rename, 't/f', 't/' + 'x' * 256)
    t('across', lambda: os.rename('t/f', '/dev/shm/parity-x'))
    h = os.open('t/g', os.O_RDWR)
    os.rename('t/f', 't/g')
    t('replaced but open', lambda: [os.fstat(h).st_nlink, os.pread(h, 9, 0), os.write(h, b'G'), read('t/g')])
    os.mkdir('t/sticky')
    os.chmod('t/sticky', 0o1777)
    make('t/sticky/r')
    make('t/sticky/u')
    os.chown('t/sticky/u', USER, USER)
    os.mkdir('t/open')
    os.chmod('t/open', 0o777)
    t(
        'sticky',
        lambda: as_user(
            USER,
            lambda: errors(
                lambda: os.rename('t/sticky/r', 't/open/r'),
                lambda: os.unlink('t/sticky/r'),
                lambda: os.rename('t/sticky/u', 't/sticky/r'),
                lambda: os.rename('t/sticky/u', 't/sticky/v'),
                lambda: os.unlink('t/sticky/v'),
            ),
        ),
    )
    os.mkdir('t/own')
    os.chown('t/own', OTHER, OTHER)
    t(
        'directory of another to another parent',
        lambda: as_user(USER, lambda: errors(lambda: os.rename('t/own', 't/open/own'))),
    )
    a, b = os.open('t/d', os.O_RDONLY), os.open('t/e', os.O_RDONLY)
    os.rmdir('t/e')
    t('into a removed directory', lambda: os.rename('in', 'in', src_dir_fd=a, dst_dir_fd=b))
