"""Which call moves which time."""

import mmap
import os
import subprocess
import time

from harness import changed, errors, fallocate, KEEP, make, make_raw, mmapped, PUNCH, read


def which_times_move(t):
    os.mkdir('d')
    os.mkdir('e')
    make('d/f', b'x' * 100)
    make('d/big', b'x' * 3000000)
    os.symlink('f', 'd/s')
    f = os.open('d/f', os.O_RDWR)
    os.mkdir('d/sub')
    time.sleep(0.02)
    for label, action, names in (
        ('write', lambda: os.pwrite(f, b'y', 0), ['d', 'd/f']),
        ('write nothing', lambda: os.pwrite(f, b'', 0), ['d/f']),
        ('append', lambda: os.pwrite(f, b'yyy', 100), ['d/f']),
        ('write big', lambda: os.pwrite(os.open('d/big', os.O_WRONLY), b'y', 5), ['d/big']),
        ('truncate same', lambda: os.ftruncate(f, 103), ['d/f']),
        ('truncate path same', lambda: os.truncate('d/f', 103), ['d/f']),
        ('truncate shorter', lambda: os.ftruncate(f, 50), ['d/f']),
        ('truncate longer', lambda: os.truncate('d/f', 60), ['d/f']),
        ('otrunc', lambda: os.close(os.open('d/f', os.O_WRONLY | os.O_TRUNC)), ['d/f']),
        ('otrunc empty', lambda: os.close(os.open('d/f', os.O_WRONLY | os.O_TRUNC)), ['d/f']),
        ('chmod', lambda: os.chmod('d/f', 0o600), ['d', 'd/f']),
        ('chmod same', lambda: os.chmod('d/f', 0o600), ['d/f']),
        ('chown', lambda: os.chown('d/f', 1, 1), ['d/f']),
        ('chown nobody', lambda: os.chown('d/f', -1, -1), ['d/f']),
        ('setxattr', lambda: os.setxattr('d/f', 'user.a', b'1'), ['d', 'd/f']),
        ('removexattr', lambda: os.removexattr('d/f', 'user.a'), ['d/f']),
        ('link', lambda: os.link('d/f', 'e/l'), ['d', 'e', 'd/f']),
        ('unlink a link', lambda: os.unlink('e/l'), ['e', 'd/f']),
        ('create', lambda: make_raw('d/n', 0o600), ['d', 'd/f']),
        ('open', lambda: os.close(os.open('d/n', os.O_RDWR | os.O_CREAT)), ['d', 'd/n']),
        ('mkdir', lambda: os.mkdir('d/m'), ['d', 'd/sub']),
        ('rmdir', lambda: os.rmdir('d/m'), ['d']),
        ('symlink', lambda: os.symlink('x', 'd/y'), ['d']),
        ('mknod', lambda: os.mkfifo('d/p'), ['d']),
        ('rename', lambda: os.rename('d/n', 'd/n2'), ['d', 'e']),
        ('rename to', lambda: os.rename('d/n2', 'e/n'), ['d', 'e']),
        ('rename over', lambda: os.rename('e/n', 'd/y'), ['d', 'e']),
        ('rename directory', lambda: os.rename('d/sub', 'e/sub'), ['d', 'e']),
        ('unlink', lambda: os.unlink('d/y'), ['d', 'd/f']),
        ('failed create', lambda: errors(lambda: os.mkdir('d/f')), ['d', 'd/f']),
        ('failed unlink', lambda: errors(lambda: os.unlink('d/zz')), ['d']),
        ('failed rename', lambda: errors(lambda: os.rename('d/zz', 'd/yy')), ['d']),
        ('rename onto itself', lambda: os.rename('d/f', 'd/f'), ['d', 'd/f']),
        ('fallocate', lambda: fallocate(f, 0, 0, 5000), ['d/f']),
        ('fallocate within', lambda: fallocate(f, 0, 0, 500), ['d/f']),
        ('fallocate keep', lambda: fallocate(f, KEEP, 0, 9000), ['d/f']),
        ('punch', lambda: fallocate(f, PUNCH | KEEP, 0, 100), ['d/f']),
        ('mmap', lambda: mmapped('d/f'), ['d/f']),
        ('copy', lambda: os.copy_file_range(os.open('d/big', os.O_RDONLY), f, 100), ['d/f']),
        ('fsync', lambda: os.fsync(f), ['d/f']),
        ('stat', lambda: os.stat('d/f'), ['d', 'd/f']),
        ('acl', lambda: subprocess.run(['setfacl', '-m', 'u:5:r', 'd/f']), ['d/f']),
        ('acl again', lambda: subprocess.run(['setfacl', '-m', 'u:5:r', 'd/f']), ['d/f']),
        ('exec', lambda: errors(lambda: subprocess.run(['d/f'])), ['d']),
    ):
        t(label, changed, action, *names)
    # Access times, as relatime wants them.
    make('r', b'x' * 5000)
    os.mkdir('rd')
    make('rd/x')
    os.symlink('r', 'rs')

    def reads(n=10):
        return lambda: (lambda h: (os.pread(h, n, 0), os.close(h)))(os.open('r', os.O_RDONLY))

    for label, name, action in (
        ('read', 'r', reads()),
        ('readlink', 'rs', lambda: os.readlink('rs')),
        ('readdir', 'rd', lambda: os.listdir('rd')),
    ):
        os.utime(name, ns=(10**18, 2 * 10**18), follow_symlinks=False)
        t(f'{label}, older than the change', changed, action, name)
    os.utime('r', ns=(10**18, 2 * 10**18))
    t('read of nothing', changed, lambda: os.pread(os.open('r', os.O_RDONLY), 10, 10000), 'r')
    make('rn', b'x' * 50)
    os.utime('rn', ns=(10**18, 2 * 10**18))
    t('noatime', changed, lambda: os.read(os.open('rn', os.O_RDONLY | os.O_NOATIME), 5), 'rn')
    make('rx', b'#!/bin/true\n', 0o755)
    os.utime('rx', ns=(10**18, 2 * 10**18))
    t('exec reads', changed, lambda: subprocess.run(['./rx']), 'rx')
    make('ra', b'x' * 50)
    time.sleep(0.02)
    read('ra')
    t('read again soon', changed, lambda: read('ra'), 'ra')
    make('rm', b'x' * 50)
    os.utime('rm', ns=(10**18, 2 * 10**18))

    def mapped():
        h = os.open('rm', os.O_RDONLY)
        m = mmap.mmap(h, 50, prot=mmap.PROT_READ)
        m[:5]
        m.close()

    t('mapped reads', changed, mapped, 'rm')
