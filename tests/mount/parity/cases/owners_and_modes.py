"""chmod, chown, access, and who may do what."""

import os

from harness import as_user, errors, fallocate, KEEP, look, make, make_raw, mmapped, OTHER, PUNCH, read, USER


def owners_and_modes(t):
    for mode in (0o644, 0o4755, 0o2755, 0o2745, 0o6777, 0o6711, 0o1777):
        for who, uid in (('root', 0), ('owner', USER), ('group', OTHER)):
            for action, f in (
                ('write', lambda: os.write(os.open('f', os.O_WRONLY), b'x')),
                ('truncate', lambda: os.truncate('f', 1)),
                ('otrunc', lambda: os.close(os.open('f', os.O_WRONLY | os.O_TRUNC))),
                ('chown', lambda: os.chown('f', -1, -1)),
                ('chgrp', lambda: os.chown('f', -1, USER)),
                ('chmod', lambda: os.chmod('f', mode)),
                ('fallocate', lambda: fallocate(os.open('f', os.O_WRONLY), 0, 0, 500)),
                ('punch', lambda: fallocate(os.open('f', os.O_WRONLY), PUNCH | KEEP, 0, 5)),
                (
                    'copy',
                    lambda: os.copy_file_range(os.open('src', os.O_RDONLY), os.open('f', os.O_WRONLY), 5),
                ),
                ('mmap', lambda: mmapped('f')),
                ('setxattr', lambda: os.setxattr('f', 'user.x', b'1')),
                ('link', lambda: os.link('f', 'hard')),
                ('utime', lambda: os.utime('f')),
                ('nothing', lambda: os.write(os.open('f', os.O_WRONLY), b'')),
            ):
                for n in ('f', 'hard', 'src'):
                    if os.path.lexists(n):
                        os.unlink(n)
                make('f', b'0' * 100)
                make('src', b'1' * 50)
                os.chown('f', USER, OTHER)
                os.chmod('f', mode | 0o666 if who == 'group' else mode | 0o200)
                os.chmod('.', 0o777)
                t(
                    f'{action} of {mode:o} by {who}',
                    lambda: [
                        as_user(uid, lambda: errors(f), groups=[OTHER] if who == 'owner' else []),
                        look('f'),
                    ],
                )
    # The kernel may know from an earlier write that there was nothing to take away.
    capability = b'\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0'  # cap_net_bind_service, effective
    for who, uid in (('root', 0), ('owner', USER), ('others', OTHER)):
        make('again', b'0' * 100, 0o666)
        os.chown('again', USER, USER)

        def again(to):
            fd = os.open('again', os.O_WRONLY)
            as_user(uid, lambda: [os.write(fd, b'x'), os.write(fd, b'y')])
            os.chmod('again', to)
            os.setxattr('again', 'security.capability', capability)
            as_user(uid, lambda: [os.write(fd, b'z'), os.pwrite(fd, b'z', 50)])
            os.close(fd)
            return [look('again'), errors(lambda: os.getxattr('again', 'security.capability'))]

        for to in (0o666, 0o6777, 0o4666, 0o2766):
            t(f'written again as {to:o} by {who}', lambda: again(to))
        os.unlink('again')
    make('f')
    os.symlink('f', 's')
    os.mkdir('d')
    t('lchown', lambda: [os.lchown('s', 5, 6), look('s'), look('f')])
    t('chown by symlink', lambda: [os.chown('s', 7, 8), look('f')])
    t(
        'chmod of symlink', lambda: os.chmod('s', 0o600, follow_symlinks=False)
    ) if os.chmod in os.supports_follow_symlinks else None
    for mode in (0, 0o7777, 0o1000, 0o2000, 0o4000, 0o777):
        t(f'chmod {mode:o}', lambda: [os.chmod('f', mode), look('f'), os.chmod('d', mode), look('d')])
    os.chmod('d', 0o777)
    os.chown('d', USER, USER)
    t(
        'not owner',
        lambda: as_user(
            OTHER,
            lambda: errors(
                lambda: os.chmod('f', 0o777),
                lambda: os.chown('f', OTHER, OTHER),
                lambda: os.chown('d', -1, OTHER),
                lambda: os.utime('f'),
                lambda: os.utime('f', (1, 1)),
            ),
        ),
    )
    t(
        'owner gives to a group that is his, and not',
        lambda: as_user(
            USER,
            lambda: errors(
                lambda: os.chown('d', -1, 50), lambda: os.chown('d', -1, 51), lambda: os.chown('d', OTHER, -1)
            ),
            groups=[50],
        ),
    )
    # setgid directories hand on their group; a file whose owner is not of the group cannot have the bit.
    os.mkdir('sg')
    os.chown('sg', 0, OTHER)
    os.chmod('sg', 0o2777)
    t(
        'setgid directory',
        lambda: [
            as_user(
                USER,
                lambda: errors(
                    lambda: os.close(os.open('sg/f', os.O_CREAT | os.O_WRONLY, 0o2755)),
                    lambda: os.mkdir('sg/d', 0o755),
                    lambda: os.mkfifo('sg/p'),
                    lambda: os.symlink('x', 'sg/s'),
                    lambda: os.chmod('sg/f', 0o2755),
                ),
            ),
            [look('sg/' + n) for n in 'fdps'],
        ],
    )
    t(
        'setgid directory, member',
        lambda: [
            as_user(
                USER,
                lambda: errors(
                    lambda: os.close(os.open('sg/g', os.O_CREAT | os.O_WRONLY, 0o2755)),
                    lambda: os.mkdir('sg/e', 0o755),
                ),
                groups=[OTHER],
            ),
            [look('sg/' + n) for n in 'ge'],
        ],
    )
    t(
        'umask',
        lambda: [
            os.umask(0o077),
            make_raw('u1', 0o666),
            os.mkdir('u2', 0o777),
            os.mkfifo('u3', 0o666),
            os.umask(0o022),
            [look(n) for n in ('u1', 'u2', 'u3')],
        ],
    )
    # Rights on the way and at the end.
    os.makedirs('closed/in')
    make('closed/in/f', b'secret', 0o644)
    os.chmod('closed', 0o700)
    os.makedirs('noread')
    make('noread/f', b'ok')
    os.chmod('noread', 0o711)
    make('hidden', b'h', 0o600)
    make('wronly', b'h', 0o222)
    os.mkdir('nowrite', 0o755)
    os.mkdir('nox')
    make('nox/f')
    os.chmod('nox', 0o744)
    t(
        'reach',
        lambda: as_user(
            USER,
            lambda: errors(
                lambda: read('closed/in/f'),
                lambda: os.stat('closed/in/f').st_size,
                lambda: read('noread/f'),
                lambda: os.listdir('noread'),
                lambda: read('hidden'),
                lambda: open('hidden', 'ab'),
                lambda: os.stat('hidden').st_size,
                lambda: read('wronly'),
                lambda: os.close(os.open('wronly', os.O_WRONLY)),
                lambda: os.mkdir('nowrite/x'),
                lambda: os.listdir('nox'),
                lambda: os.stat('nox/f').st_size,
                lambda: os.chdir('nox'),
                lambda: os.link('hidden', 'sg/h'),
                lambda: os.rename('hidden', 'sg/h'),
            ),
        ),
    )
    t(
        'access',
        lambda: as_user(
            USER,
            lambda: [
                [os.access(n, m) for m in (0, 1, 2, 3, 4, 7)]
                for n in ('closed', 'hidden', 'wronly', 'noread', 'nox', 'f', 'sg')
            ],
        ),
    )
    t(
        'access by root',
        lambda: [[os.access(n, m) for m in (0, 1, 2, 4)] for n in ('closed', 'hidden', 'wronly', 'f')],
    )
    make('member', b'm', 0o640)
    os.chown('member', 0, 77)
    t(
        'group of many',
        lambda: [
            as_user(USER, lambda: errors(lambda: read('member')), groups=g)
            for g in ([77], [76], list(range(40, 78)))
        ],
    )
