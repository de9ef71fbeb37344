"""What a read-only file system refuses; on directories that were made before."""

import os

from harness import errors


IN_PLACE = True  # not in a directory of its own; only where asked for


def read_only(t):
    r = os.open('f', os.O_RDONLY)
    t(
        'calls',
        lambda: errors(
            lambda: os.open('f', os.O_WRONLY),
            lambda: os.open('new', os.O_CREAT | os.O_RDONLY),
            lambda: os.close(os.open('f', os.O_CREAT | os.O_RDONLY)),
            lambda: os.mkdir('n'),
            lambda: os.mkdir('d'),
            lambda: os.rmdir('d'),
            lambda: os.unlink('f'),
            lambda: os.unlink('m'),
            lambda: os.rename('f', 'g'),
            lambda: os.link('f', 'g'),
            lambda: os.symlink('x', 'y'),
            lambda: os.chmod('f', 0),
            lambda: os.chown('f', 1, 1),
            lambda: os.utime('f'),
            lambda: os.truncate('f', 0),
            lambda: os.setxattr('f', 'user.a', b''),
            lambda: os.mkfifo('p'),
            lambda: os.access('f', os.W_OK),
            lambda: os.read(r, 5).decode(),
            lambda: os.listdir('.').sort(),
            lambda: os.open('.', os.O_TMPFILE | os.O_RDWR),
            lambda: os.fsync(r),
            lambda: os.statvfs('.').f_flag & 1,
        ),
    )
