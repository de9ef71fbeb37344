"""utimensat, and which times are kept."""

import ctypes
import os
import struct
import time

from harness import as_user, AT_FDCWD, AT_SYMLINK_NOFOLLOW, call, changed, errors, make, USER


def birth(name):
    buffer = ctypes.create_string_buffer(256)
    call('statx', AT_FDCWD, os.fsencode(name), AT_SYMLINK_NOFOLLOW, 0x800, buffer)
    if struct.unpack_from('I', buffer, 0)[0] & 0x800 == 0:
        return None
    s, ns = struct.unpack_from('qI', buffer, 64 + 16)
    return s + ns / 1e9


def times(t):
    make('f', b'x')
    os.symlink('f', 's')
    os.mkdir('d')
    for ns in (
        0,
        1,
        999999999,
        10**9,
        1234567890123456789,
        2147483647 * 10**9,
        2147483648 * 10**9 + 5,
        4294967296 * 10**9 + 7,
        -1,
        -(10**9),
        -1500000000,
        253402300799 * 10**9,
        -5000000000 * 10**9,
    ):
        t(
            f'utime {ns}',
            lambda: [os.utime('f', ns=(ns, ns)), os.stat('f').st_mtime_ns, os.stat('f').st_atime_ns],
        )

    def utimens(a, m, name=b'f', flags=0):
        return call('utimensat', AT_FDCWD, name, struct.pack('qqqq', *a, *m), flags)

    NOW, OMIT = (0, (1 << 30) - 1), (0, (1 << 30) - 2)
    for label, a, m in (
        ('omit both', OMIT, OMIT),
        ('omit a', OMIT, (5, 6)),
        ('omit m', (7, 8), OMIT),
        ('bad ns', (1, 10**9), (1, 1)),
        ('negative ns', (1, -1), (1, 1)),
    ):
        t(
            label,
            lambda: [
                utimens((1, 1), (2, 2)),
                utimens(a, m),
                os.stat('f').st_atime_ns,
                os.stat('f').st_mtime_ns,
            ],
        )
    t(
        'now',
        lambda: [
            utimens((1, 1), (2, 2)),
            utimens(NOW, OMIT),
            abs(os.stat('f').st_atime - time.time()) < 5,
            os.stat('f').st_mtime_ns,
        ],
    )
    t(
        'symlink itself',
        lambda: [
            utimens((3, 4), (5, 6), b's', AT_SYMLINK_NOFOLLOW),
            os.lstat('s').st_mtime_ns,
            os.stat('f').st_mtime_ns,
        ],
    )
    os.chmod('f', 0o666)
    t(
        'writer, not owner',
        lambda: as_user(
            USER,
            lambda: errors(
                lambda: utimens(NOW, NOW),
                lambda: utimens((1, 1), (1, 1)),
                lambda: utimens(NOW, OMIT),
                lambda: utimens(OMIT, OMIT),
            ),
        ),
    )
    t('ctime moves', lambda: changed(lambda: utimens((1, 1), (1, 1)), 'f'))
    t('negative statx', lambda: [utimens((-5, 3), (-6, 4)), os.stat('f').st_mtime_ns])
    t(
        'birth',
        lambda: [
            birth('f') is not None,
            birth('d') is not None,
            birth('s') is not None,
            abs(birth('f') - time.time()) < 60,
        ],
    )

    def before_after():
        b = birth('f')
        os.write(os.open('f', os.O_WRONLY), b'y')
        os.chmod('f', 0o600)
        os.rename('f', 'f2')
        same = birth('f2') == b
        os.rename('f2', 'f')
        return same

    t('birth stays', before_after)
