"""link, unlink, symlink, readlink."""

import errno
import os

from harness import AT_EMPTY_PATH, AT_FDCWD, call, look, make


def linking(t):
    make('f', b'data')
    os.mkdir('d')
    os.symlink('f', 's')
    os.symlink('l', 'l')
    for a, b in (
        ('f', 'd/f'),
        ('f', 'f'),
        ('f', 'd'),
        ('d', 'x'),
        ('m', 'x'),
        ('f', 'm/x'),
        ('f', 'f/x'),
        ('s', 'hs'),
        ('f', 'x' * 255),
        ('f', 'x' * 256),
        ('f', ''),
        ('', 'x'),
        ('f/', 'x'),
        ('f', 'x/'),
        ('l/x', 'y'),
        ('.', 'x'),
        ('f', '.'),
        ('f', 'd/..'),
    ):
        t(f'link {a!r} {b[:9]!r}{len(b)}', lambda: [os.link(a, b, follow_symlinks=False), look(b)])
    t('count', look, 'f')
    t('symlink linked', lambda: [os.readlink('hs'), look('s')])
    h = os.open('f', os.O_RDONLY)
    [os.unlink(n) for n in ('f', 'd/f', 'x' * 255)]
    t(
        'unlinked but open',
        lambda: [
            os.fstat(h).st_nlink,
            os.pread(h, 9, 0),
            call('linkat', h, b'', AT_FDCWD, b'again', AT_EMPTY_PATH),
        ],
    )
    for name in ('d', 'm', 'm/x', 's/x', '.', '..', 'd/.', '', 'l/x', 'x' * 256):
        t(f'unlink {name[:5]!r}', os.unlink, name)
    t(
        'symlinks',
        lambda: [
            os.symlink('a' * n, f't{n}') or len(os.readlink(f't{n}')) for n in (1, 255, 256, 1000, 4094, 4095)
        ],
    )
    t('symlink of 4096', os.symlink, 'a' * 4096, 'toolong')
    t('empty symlink', os.symlink, '', 'e')
    t('symlink onto', os.symlink, 'x', 'd')
    t('readlink of a file', os.readlink, 'd')
    make('z')
    os.mkdir('many')

    def most():
        for i in range(70000):
            try:
                os.link('z', f'many/{i}')
            except OSError as e:
                return i, errno.errorcode[e.errno], os.stat('z').st_nlink

    t('most links', most)
    os.symlink('z', 'c0')
    [os.symlink(f'c{i}', f'c{i + 1}') for i in range(45)]
    t('chain of 40', os.stat, 'c50')
    t('chain of 39', lambda: look('c39', True))
    t('chain of 41', lambda: look('c41', True))
