"""Files without a name: O_TMPFILE, unlinked ones, linkat."""

import os

from harness import (
    as_user,
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_FOLLOW,
    call,
    hash_of,
    look,
    make,
    OTHER,
    read,
    USER,
)


def unnamed(t):
    for flags, text in (
        (os.O_RDWR, 'rw'),
        (os.O_WRONLY, 'w'),
        (os.O_RDONLY, 'r'),
        (os.O_RDWR | os.O_EXCL, 'excl'),
        (os.O_RDWR | os.O_CREAT, 'creat'),
    ):
        t(f'open {text}', os.open, '.', os.O_TMPFILE | flags, 0o640)
    make('f')
    t('in a file', os.open, 'f', os.O_TMPFILE | os.O_RDWR, 0o600)
    t('missing', os.open, 'm', os.O_TMPFILE | os.O_RDWR, 0o600)
    for size in (0, 5, 50000, 2000000):
        d = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o640)
        os.write(d, b't' * size)
        t(
            f'{size} bytes',
            lambda: [
                os.fstat(d).st_nlink,
                os.fstat(d).st_size,
                oct(os.fstat(d).st_mode),
                hash_of(os.pread(d, size + 1, 0)),
                sorted(os.listdir('.')),
            ],
        )
        t(
            f'{size} named',
            lambda: [
                call('linkat', AT_FDCWD, b'/proc/self/fd/%d' % d, AT_FDCWD, b'n%d' % size, AT_SYMLINK_FOLLOW),
                look(f'n{size}'),
                hash_of(read(f'n{size}')),
            ],
        )
        t(
            f'{size} named again',
            lambda: [
                call('linkat', d, b'', AT_FDCWD, b'again%d' % size, AT_EMPTY_PATH),
                look(f'again{size}'),
            ],
        )
        t(f'{size} written on', lambda: [os.pwrite(d, b'more', 3), hash_of(read(f'again{size}'))])
        t(
            f'{size} unlinked',
            lambda: [
                os.unlink(f'n{size}'),
                os.unlink(f'again{size}'),
                os.fstat(d).st_nlink,
                call('linkat', d, b'', AT_FDCWD, b'x', AT_EMPTY_PATH),
            ],
        )
        os.close(d)
    d = os.open('.', os.O_TMPFILE | os.O_RDWR | os.O_EXCL, 0o600)
    t('exclusive stays unnamed', lambda: call('linkat', d, b'', AT_FDCWD, b'x', AT_EMPTY_PATH))
    d = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)
    t('taken name', lambda: call('linkat', d, b'', AT_FDCWD, b'f', AT_EMPTY_PATH))
    t(
        'chmod, xattr',
        lambda: [
            os.fchmod(d, 0o755),
            os.setxattr(d, 'user.a', b'b'),
            call('linkat', d, b'', AT_FDCWD, b'kept', AT_EMPTY_PATH),
            look('kept'),
            os.getxattr('kept', 'user.a'),
        ],
    )
    os.mkdir('gone')
    h = os.open('gone', os.O_RDONLY)
    os.rmdir('gone')
    t('in a removed directory', os.open, f'/proc/self/fd/{h}', os.O_TMPFILE | os.O_RDWR, 0o600)
    os.mkdir('w', 0o755)
    t('no right', lambda: as_user(USER, lambda: os.open('w', os.O_TMPFILE | os.O_RDWR, 0o600)))
    os.mkdir('sg')
    os.chown('sg', 0, OTHER)
    os.chmod('sg', 0o2777)
    d = os.open('sg', os.O_TMPFILE | os.O_RDWR, 0o666)
    t('setgid directory', lambda: (os.fstat(d).st_gid, oct(os.fstat(d).st_mode)))
    for mode in (0o2750, 0o2640, 0o6755, 0o2010):
        for groups in ([OTHER], []):
            for how, flags in (('unnamed', os.O_TMPFILE | os.O_RDWR), ('named', os.O_CREAT | os.O_RDWR)):
                place = 'sg' if how == 'unnamed' else f'sg/{mode:o}{len(groups)}'
                t(
                    f'{how} {mode:o} in a setgid directory by ' + ('a member' if groups else 'no member'),
                    lambda: as_user(
                        USER, lambda: oct(os.fstat(os.open(place, flags, mode)).st_mode), groups=groups
                    ),
                )
