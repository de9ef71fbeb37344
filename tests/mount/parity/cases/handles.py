"""name_to_handle_at and open_by_handle_at."""

import ctypes
import os
import stat
import struct

from harness import as_user, AT_FDCWD, call, errors, make, read, USER


def handles(t):
    def handle(name):
        buffer = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128), 136)
        mount = ctypes.c_int()
        call('name_to_handle_at', AT_FDCWD, os.fsencode(name), buffer, ctypes.byref(mount), 0)
        return buffer

    where = os.open('.', os.O_RDONLY)

    def by_handle(h, flags=os.O_RDONLY):
        return call('open_by_handle_at', where, h, flags)

    def drop():
        os.sync()
        open('/proc/sys/vm/drop_caches', 'w').write('3')

    os.makedirs('d/e')
    made = {n: make(n, n.encode() * 10) for n in ('f', 'd/g', 'd/e/h')}
    os.link('f', 'd/l')
    os.symlink('f', 's')
    kept = {n: handle(n) for n in (*made, 'd', 'd/e')}

    def opens():
        return {
            n: (
                lambda h: [
                    os.read(h, 5) if stat.S_ISREG(os.fstat(h).st_mode) else sorted(os.listdir(h)),
                    os.fstat(h).st_ino == os.stat(n).st_ino,
                    os.close(h),
                ][:2]
            )(by_handle(kept[n]))
            for n in kept
        }

    t('open', opens)
    t('open after the caches were dropped', lambda: [drop(), opens()][1])

    def moved():
        os.rename('d/e/h', 'moved')
        os.rename('d', 'D')
        drop()
        return [
            os.read(by_handle(kept['d/e/h']), 5),
            os.read(by_handle(kept['d/g']), 5),
            sorted(os.listdir(by_handle(kept['d']))),
        ]

    t('after renames', moved)
    os.unlink('f')
    t('one of two names gone', lambda: [drop(), os.read(by_handle(kept['f']), 2)][1])
    os.unlink('D/l')
    t('removed', lambda: errors(drop, lambda: by_handle(kept['f'])))
    h = os.open('moved', os.O_RDONLY)
    os.unlink('moved')
    t(
        'removed but open',
        lambda: [os.read(by_handle(kept['d/e/h']), 5), os.close(h), errors(lambda: by_handle(kept['d/e/h']))],
    )
    t('writing', lambda: [os.write(by_handle(kept['d/g'], os.O_WRONLY), b'W'), read('D/g')[:3]])
    t('..', lambda: [drop(), os.stat('..', dir_fd=by_handle(kept['d/e'])).st_ino == os.stat('D').st_ino][1])
    t('not root', lambda: as_user(USER, lambda: errors(lambda: by_handle(kept['d/g']))))
