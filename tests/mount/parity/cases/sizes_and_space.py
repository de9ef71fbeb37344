"""Blocks, statvfs, pathconf."""

import os

from harness import make


def sizes_and_space(t):
    make('empty')
    make('one', b'x')
    make('page', b'x' * 4096)
    make('big', b'x' * 5000000)
    f = os.open('sparse', os.O_CREAT | os.O_RDWR, 0o644)
    os.ftruncate(f, 50 << 20)
    os.sync()
    t('blocks of nothing', lambda: os.stat('empty').st_blocks)
    t(
        'blocks of something',
        lambda: [
            os.stat('one').st_blocks > 0,
            8 <= os.stat('page').st_blocks <= 16,
            9766 <= os.stat('big').st_blocks <= 9800,
        ],
    )
    t('blocks of a hole', lambda: os.stat('sparse').st_blocks)
    v = os.statvfs('.')
    t(
        'statvfs',
        lambda: [
            v.f_namemax,
            v.f_bsize,
            v.f_frsize,
            v.f_blocks > v.f_bfree >= v.f_bavail > 0,
            v.f_files > v.f_ffree > 0,
        ],
    )
    used = lambda: (lambda x: x.f_files - x.f_ffree)(os.statvfs('.'))
    n = used()
    [make(f'n{i}') for i in range(50)]
    os.mkdir('nd')
    os.symlink('x', 'ns')
    os.link('n0', 'nl')
    t('df -i counts', lambda: used() - n)
    [os.unlink(f'n{i}') for i in range(50)]
    t('and uncounts', lambda: used() - n)
    t('block size', lambda: os.stat('one').st_blksize)
    t('inode numbers differ', lambda: len({os.stat(x).st_ino for x in ('empty', 'one', 'page', 'big', 'nd')}))
    t('st_dev', lambda: len({os.lstat(x).st_dev for x in os.listdir('.')}))
    t(
        'pathconf',
        lambda: [
            os.pathconf('.', x)
            for x in (
                'PC_NAME_MAX',
                'PC_PATH_MAX',
                'PC_LINK_MAX',
                'PC_CHOWN_RESTRICTED',
                'PC_NO_TRUNC',
                'PC_SYMLINK_MAX',
            )
        ],
    )
