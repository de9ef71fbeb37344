"""Extended attributes."""

import ctypes
import os
import struct

from harness import as_user, call, errors, fallocate, look, make, USER


def attributes(t):
    make('f')
    os.mkdir('d')
    os.symlink('f', 's')
    os.mkfifo('p')
    for target in ('f', 'd', 's', 'p'):
        for name in (
            'user.a',
            'trusted.a',
            'security.a',
            'system.a',
            'nothing.a',
            'user.',
            'trusted.',
            'plain',
            'user.' + 'n' * 250,
            'user.' + 'n' * 251,
        ):
            t(
                f'{target} {name[:12]}{len(name)}',
                lambda: [
                    os.setxattr(target, name, b'v', follow_symlinks=False),
                    os.getxattr(target, name, follow_symlinks=False),
                    os.listxattr(target, follow_symlinks=False),
                    os.removexattr(target, name, follow_symlinks=False),
                ],
            )
            t(f'{target} get {name[:12]}{len(name)}', os.getxattr, target, name, follow_symlinks=False)
            t(f'{target} remove {name[:12]}{len(name)}', os.removexattr, target, name, follow_symlinks=False)
            t(
                f'{target} replace {name[:12]}{len(name)}',
                lambda: os.setxattr(target, name, b'v', os.XATTR_REPLACE, follow_symlinks=False),
            )
    for n in (0, 1, 100, 2000, 3900, 4000, 5000, 65536, 65537):
        t(
            f'value of {n}',
            lambda: [
                os.setxattr('f', 'user.v', b'v' * n),
                len(os.getxattr('f', 'user.v')),
                os.removexattr('f', 'user.v'),
            ],
        )
    t(
        'create',
        lambda: errors(
            lambda: os.setxattr('f', 'user.c', b'1', os.XATTR_CREATE),
            lambda: os.setxattr('f', 'user.c', b'2', os.XATTR_CREATE),
            lambda: os.setxattr('f', 'user.c', b'3', os.XATTR_REPLACE),
            lambda: os.setxattr('f', 'user.m', b'3', os.XATTR_REPLACE),
            lambda: os.setxattr('f', 'user.c', b'4', 3),
            lambda: os.getxattr('f', 'user.c').decode(),
            lambda: os.setxattr('f', 'user.c', b'4', 8),
        ),
    )

    def sized(size, name=b'user.c'):
        buffer = ctypes.create_string_buffer(max(size, 1))
        return call('getxattr', b'f', name, buffer, size)

    os.setxattr('f', 'user.c', b'12345')
    t('sizes', lambda: errors(*[lambda n=n: str(sized(n)) for n in (0, 1, 4, 5, 100)]))
    t(
        'list sizes',
        lambda: errors(
            *[
                lambda n=n: str(call('listxattr', b'f', ctypes.create_string_buffer(100), n))
                for n in (0, 1, 6, 7, 100)
            ]
        ),
    )
    t(
        'many',
        lambda: [
            [os.setxattr('f', f'user.x{i}', b'%d' % i) for i in range(40)],
            sorted(os.listxattr('f'))[:5],
            len(os.listxattr('f')),
            [os.removexattr('f', f'user.x{i}') for i in range(40)],
            os.listxattr('f'),
        ],
    )
    os.setxattr('f', 'trusted.t', b'1')
    os.setxattr('f', 'security.s', b'1')
    os.chmod('f', 0o644)
    t(
        'as another',
        lambda: as_user(
            USER,
            lambda: errors(
                lambda: sorted(os.listxattr('f')),
                lambda: os.getxattr('f', 'trusted.t').decode(),
                lambda: os.getxattr('f', 'security.s').decode(),
                lambda: os.getxattr('f', 'user.c').decode(),
                lambda: os.setxattr('f', 'user.c', b'x'),
                lambda: os.setxattr('f', 'trusted.t', b'x'),
                lambda: os.setxattr('f', 'security.s', b'x'),
                lambda: os.removexattr('f', 'user.c'),
            ),
        ),
    )
    os.chmod('f', 0o600)
    t(
        'unreadable',
        lambda: as_user(
            USER,
            lambda: errors(
                lambda: sorted(os.listxattr('f')),
                lambda: os.getxattr('f', 'user.c'),
                lambda: os.getxattr('f', 'security.s').decode(),
            ),
        ),
    )
    os.chmod('d', 0o1777)
    t('sticky directory', lambda: as_user(USER, lambda: errors(lambda: os.setxattr('d', 'user.a', b'1'))))
    t('missing', os.getxattr, 'm', 'user.a')
    t('no label', os.getxattr, 'f', 'security.selinux')
    t(
        'a label',
        lambda: [
            os.setxattr('f', 'security.selinux', b'a'),
            os.getxattr('f', 'security.selinux'),
            os.removexattr('f', 'security.selinux'),
        ],
    )
    t('null name', lambda: os.setxattr('f', 'x', b''))
    # Capabilities go when the content or the owner changes.
    CAP = struct.pack('<IIIII', 0x02000001, 1 << 13, 0, 0, 0)
    for label, action in (
        ('write', lambda: os.write(os.open('c', os.O_WRONLY), b'x')),
        ('truncate', lambda: os.truncate('c', 1)),
        ('chown', lambda: os.chown('c', 1, 1)),
        ('chmod', lambda: os.chmod('c', 0o755)),
        ('fallocate', lambda: fallocate(os.open('c', os.O_WRONLY), 0, 0, 50)),
        ('rename', lambda: [os.rename('c', 'c2'), os.rename('c2', 'c')]),
        ('link', lambda: os.link('c', 'c3')),
        ('utime', lambda: os.utime('c')),
        ('nothing', lambda: None),
    ):
        make('c', b'123')
        os.setxattr('c', 'security.capability', CAP)
        t(
            f'capability after {label}',
            lambda: [errors(action), 'security.capability' in os.listxattr('c'), look('c')],
        )
        for n in ('c', 'c3'):
            if os.path.exists(n):
                os.unlink(n)
