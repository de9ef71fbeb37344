"""POSIX ACLs."""

import os
import re
import struct
import subprocess

from harness import as_user, AT_EMPTY_PATH, AT_FDCWD, call, errors, look, make, make_raw, OTHER, read, USER


def access_lists(t):
    def acl(name, *more):
        r = subprocess.run(['getfacl', '-n', '-p', *more, name], capture_output=True, text=True)
        return r.stdout.strip().split('\n')[1:]

    def setfacl(*a):
        r = subprocess.run(['setfacl', *a], capture_output=True, text=True)
        return r.returncode, re.sub(r'^.*: ', '', r.stderr.strip())

    make('f', b'data', 0o640)
    os.mkdir('d')
    os.symlink('f', 's')
    for args in (
        ['-m', 'u:1:rw', 'f'],
        ['-m', 'g:7:r,u:65534:-', 'f'],
        ['-m', 'm::r', 'f'],
        ['-x', 'u:1', 'f'],
        ['-m', 'u::rwx,g::rx,o::-', 'f'],
        ['-d', '-m', 'u:1:rwx', 'd'],
        ['-d', '-m', 'u:1:r', 'f'],
        ['-m', 'd:g:9:rx,u:3:x', 'd'],
        ['-k', 'd'],
        ['-b', 'f'],
        ['-b', 'f'],
        ['-k', 'f'],
        ['-b', 'd'],
        ['-m', 'u:1:rwx', 's'],
        ['-b', 's'],
        ['-m', 'u:1:rwx,m::-', 'f'],
        ['-m', 'o::r', 'f'],
        ['--set', 'u::rw,g::r,o::-', 'f'],
    ):
        t(' '.join(args), lambda: [setfacl(*args), acl('f'), acl('d'), look('f'), look('d')])
    for mode in (0o600, 0o777, 0o070, 0o4750, 0o2775):
        setfacl('-m', 'u:1:rwx,g:7:rx', 'f')
        t(f'chmod {mode:o}', lambda: [os.chmod('f', mode), acl('f'), look('f')])
    setfacl('--set', 'u::rwx,u:1:rw,u:65534:-,g::r,g:77:rw,m::rw,o::r', 'f')
    os.chmod('.', 0o777)

    def rights():
        return errors(
            lambda: read('f').decode(),
            lambda: os.close(os.open('f', os.O_WRONLY)),
            lambda: os.access('f', 4),
            lambda: os.access('f', 2),
            lambda: os.access('f', 1),
        )

    t('named user', lambda: as_user(1, rights))
    t('denied user', lambda: as_user(USER, rights))
    t('named group', lambda: as_user(500, rights, groups=[77]))
    t('others', lambda: as_user(500, rights))
    t('owning group', lambda: as_user(500, rights, groups=[0]))
    setfacl('-m', 'm::r', 'f')
    t('masked', lambda: [as_user(1, rights), as_user(500, rights, groups=[77])])
    os.mkdir('def')
    setfacl('-d', '--set', 'u::rwx,u:1:rwx,g::rx,g:7:rwx,m::rwx,o::-', 'def')
    for umask in (0o022, 0o077, 0):
        for mode in (0o666, 0o640, 0o777, 0o400):

            def inherits():
                os.umask(umask)
                make_raw('def/f', mode)
                os.mkdir('def/d', mode)
                os.mkfifo('def/p', mode)
                os.symlink('x', 'def/s')
                os.umask(0o022)
                out = [(look('def/' + n), acl('def/' + n) if n != 's' else None) for n in 'fdps']
                subprocess.run('rm -rf def/*', shell=True)
                return out

            t(f'inherits with umask {umask:o}, mode {mode:o}', inherits)

    def unnamed_inherits():
        h = os.open('def', os.O_TMPFILE | os.O_RDWR, 0o666)
        call('linkat', h, b'', AT_FDCWD, b'def/t', AT_EMPTY_PATH)
        return acl('def/t'), look('def/t')

    t('unnamed file', unnamed_inherits)
    os.mkdir('min')
    setfacl('-d', '--set', 'u::rwx,g::r,o::-', 'min')
    t(
        'minimal default',
        lambda: [
            make_raw('min/f', 0o666),
            os.mkdir('min/d', 0o777),
            acl('min/f'),
            acl('min/d'),
            os.listxattr('min/f'),
        ],
    )
    os.mkdir('minm')
    setfacl('-d', '--set', 'u::rwx,g::rwx,m::r,o::-', 'minm')
    t('default with a mask', lambda: [make_raw('minm/f', 0o666), acl('minm/f'), os.listxattr('minm/f')])
    t(
        'xattr is seen',
        lambda: [os.listxattr('def'), len(os.getxattr('def', 'system.posix_acl_default')), os.listxattr('f')],
    )
    ok = struct.pack('<I', 2) + b''.join(
        struct.pack('<HHI', *e) for e in ((1, 6, 0xFFFFFFFF), (4, 4, 0xFFFFFFFF), (0x20, 4, 0xFFFFFFFF))
    )
    named = struct.pack('<I', 2) + b''.join(
        struct.pack('<HHI', *e)
        for e in ((1, 6, 0xFFFFFFFF), (2, 7, 5), (4, 4, 0xFFFFFFFF), (0x20, 4, 0xFFFFFFFF))
    )
    for label, value in (
        ('minimal', ok),
        ('no mask', named),
        ('short', ok[:11]),
        ('version', struct.pack('<I', 1) + ok[4:]),
        ('empty', b''),
        ('header', ok[:4]),
        ('no others', ok[:20]),
        ('bad perm', ok[:6] + b'\xff\xff' + ok[8:]),
        ('unsorted', ok[:4] + ok[12:20] + ok[4:12] + ok[20:]),
    ):
        make('x', b'', 0o644)
        t(
            f'raw {label}',
            lambda: [os.setxattr('x', 'system.posix_acl_access', value), look('x'), os.listxattr('x')],
        )
    t(
        'remove absent',
        lambda: errors(
            lambda: os.removexattr('x', 'system.posix_acl_access'),
            lambda: os.removexattr('d', 'system.posix_acl_default'),
            lambda: os.getxattr('x', 'system.posix_acl_access'),
        ),
    )
    make('y', b'', 0o2775)
    os.chown('y', USER, OTHER)
    os.chmod('y', 0o2775)
    t(
        'setgid goes with a list by a stranger to the group',
        lambda: [as_user(USER, lambda: setfacl('-m', 'u:5:r', 'y')), look('y')],
    )
    os.chown('y', USER, OTHER)
    os.chmod('y', 0o2775)
    t(
        'and stays for a member',
        lambda: [as_user(USER, lambda: setfacl('-m', 'u:5:rw', 'y'), groups=[OTHER]), look('y')],
    )
    t('not owner', lambda: as_user(OTHER, lambda: setfacl('-m', 'u:1:rwx', 'f')))
    t('cp -p', lambda: [subprocess.run(['cp', '-p', 'f', 'copy']).returncode, acl('copy')])
    os.mkdir('way')
    make('way/f', b'w', 0o644)
    os.chmod('way', 0o700)
    t(
        'directory opened to one',
        lambda: [
            setfacl('-m', 'u:1:x', 'way'),
            as_user(1, lambda: errors(lambda: read('way/f').decode(), lambda: os.listdir('way'))),
            as_user(500, lambda: errors(lambda: read('way/f').decode())),
        ],
    )
