"""open: kinds of files, flags, creation, paths."""

import os

from harness import look, make


def opening(t):
    make('f', b'content')
    os.mkdir('d')
    os.symlink('f', 's')
    os.symlink('nowhere', 'dangling')
    os.symlink('loop', 'loop')
    os.mkfifo('p')
    for name in (
        'f',
        'd',
        's',
        'dangling',
        'loop',
        'missing',
        'f/x',
        'f/',
        'd/',
        'missing/',
        '',
        '.',
        'd/..',
    ):
        for flags, text in (
            (os.O_RDONLY, 'r'),
            (os.O_WRONLY, 'w'),
            (os.O_RDWR, 'rw'),
            (os.O_RDONLY | os.O_DIRECTORY, 'dir'),
            (os.O_RDONLY | os.O_NOFOLLOW, 'nofollow'),
            (os.O_PATH | os.O_NOFOLLOW, 'path'),
            (os.O_RDONLY | os.O_TRUNC, 'r trunc'),
            (os.O_RDONLY | os.O_NOATIME, 'noatime'),
            (os.O_RDWR | os.O_DIRECT, 'direct'),
        ):
            t(f'open {name!r} {text}', os.open, name, flags)
    for name in ('f', 'd', 's', 'dangling', 'loop', 'new/', 'd/', 'f/x', 'nodir/x', 'x' * 255, 'x' * 256):
        t(f'create {name[:9]!r}{len(name)} excl', os.open, name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    for name in ('f', 'd', 's', 'dangling', 'loop', 'new/'):
        t(f'create {name!r}', os.open, name, os.O_CREAT | os.O_WRONLY, 0o600)
    t('create directory flag', os.open, 'q', os.O_CREAT | os.O_DIRECTORY | os.O_RDWR, 0o600)
    t('fifo for writing, nobody reads', os.open, 'p', os.O_WRONLY | os.O_NONBLOCK)
    t('dangling made', look, 'nowhere')
    t('path too long', os.open, '/'.join(['x' * 200] * 21), os.O_RDONLY)
    t(
        'mode',
        lambda: [
            oct(os.umask(0o027)),
            os.close(os.open('m', os.O_CREAT | os.O_WRONLY, 0o7777)),
            look('m'),
            oct(os.umask(0o022)),
        ],
    )
    t('truncate', lambda: [os.close(os.open('f', os.O_WRONLY | os.O_TRUNC)), look('f')])
