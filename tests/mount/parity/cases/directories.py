"""mkdir, rmdir, readdir."""

import ctypes
import os
import shutil
import stat

from harness import errors, libc, long, look, make


def directories(t):
    for name in ('d', 'd', 'm/x', 'd/', '.', '..', '', 'x' * 255, 'x' * 256, 'new/'):
        t(f'mkdir {name[:5]!r}{len(name)}', os.mkdir, name)
    make('f')
    os.mkdir('d/e')
    os.symlink('d', 's')
    os.symlink('nowhere', 'n')
    t('mkdir over', lambda: errors(*[lambda n=n: os.mkdir(n) for n in ('f', 's', 'n', 'f/x', 's/y')]))
    for name in ('d', 'f', 's', 'm', '.', 'd/e/.', 'd/e/..', '', 'd/e/', 's/', 'f/', 'x' * 256):
        t(f'rmdir {name[:6]!r}', os.rmdir, name)
    t(
        'nlink',
        lambda: [
            look('d'),
            os.mkdir('d/1'),
            os.mkdir('d/2'),
            look('d'),
            os.rmdir('d/1'),
            look('d'),
            os.rename('d/2', 'out'),
            look('d'),
            look('out'),
        ],
    )
    t(
        'mode',
        lambda: [
            oct(os.umask(0)),
            os.mkdir('m', 0o7777),
            look('m'),
            os.umask(0o022),
            os.mkdir('k', 0o1777),
            look('k'),
        ],
    )
    h = os.open('out', os.O_RDONLY)
    os.rmdir('out')
    t(
        'removed but open',
        lambda: [
            os.fstat(h).st_nlink,
            os.listdir(h),
            errors(
                lambda: os.open('x', os.O_CREAT | os.O_RDWR, dir_fd=h),
                lambda: os.mkdir('x', dir_fd=h),
                lambda: os.stat('.', dir_fd=h).st_nlink,
                lambda: os.stat('..', dir_fd=h).st_nlink > 0,
            ),
        ],
    )
    os.makedirs('p/q')
    os.chdir('p/q')
    os.rmdir('../q')
    t(
        'removed and current',
        lambda: errors(
            os.getcwd,
            lambda: os.listdir('.'),
            lambda: os.open('x', os.O_CREAT | os.O_RDWR),
            lambda: os.chdir('..'),
        ),
    )
    # Entries that stay are seen once while others come and go, and a position stays good.
    os.mkdir('big')
    [make(f'big/k{i:04}') for i in range(2000)]
    seen = []
    with os.scandir('big') as it:
        for i, e in enumerate(it):
            seen.append(e.name)
            if i % 7 == 0:
                make(f'big/n{i}')
            if (
                i % 11 == 0
                and os.path.exists(f'big/k{(i * 13) % 2000:04}')
                and f'k{(i * 13) % 2000:04}' in seen
            ):
                os.unlink(f'big/k{(i * 13) % 2000:04}')
    t('listing while changing', lambda: [len([n for n in seen if n[0] == 'k']), len(set(seen)) == len(seen)])
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
    libc.telldir.restype = long
    libc.telldir.argtypes = libc.readdir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]
    libc.seekdir.argtypes = [ctypes.c_void_p, long]

    def entry(dir):
        p = libc.readdir(dir)
        return ctypes.string_at(p + 19) if p else None

    dir = libc.opendir(b'big')
    marks = []
    for i in range(1500):
        at = libc.telldir(dir)
        name = entry(dir)
        if i % 100 == 0:
            marks.append((at, name))
    gone = {m[1] for m in marks[::3]} - {b'.', b'..'}
    [os.unlink(b'big/' + n) for n in gone]
    [make(f'big/z{i}') for i in range(50)]
    good = 0
    for at, name in marks:
        libc.seekdir(dir, at)
        found = entry(dir)
        while found is not None and found.startswith(b'z'):  # made since, it may come or not (POSIX, readdir)
            found = entry(dir)
        good += found == name or (name in gone and found is not None)
    t('telldir stays good', lambda: (good, len(marks)))
    make('big/late')
    libc.rewinddir(dir)
    names = set()
    while (n := entry(dir)) is not None:
        names.add(n)
    t('rewinddir sees what is new', lambda: (b'late' in names, len(names) == len(os.listdir('big')) + 2))
    t(
        'd_ino and d_type',
        lambda: all(
            e.inode() == e.stat(follow_symlinks=False).st_ino
            and e.is_dir(follow_symlinks=False) == stat.S_ISDIR(e.stat(follow_symlinks=False).st_mode)
            for e in os.scandir('.')
        ),
    )
    t('rm -rf', lambda: [shutil.rmtree('big'), os.path.exists('big')])
