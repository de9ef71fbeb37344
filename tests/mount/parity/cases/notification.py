"""inotify."""

import os
import struct

from harness import call, libc, make, read


def notification(t):
    libc.inotify_init1(0)
    fd = libc.inotify_init1(os.O_NONBLOCK)
    os.mkdir('d')
    call('inotify_add_watch', fd, b'd', 0xFFF)
    make('d/f', b'x')
    os.rename('d/f', 'd/g')
    read('d/g')
    os.chmod('d/g', 0o600)
    os.link('d/g', 'd/h')
    os.unlink('d/g')
    os.mkdir('d/s')
    os.rmdir('d/s')
    os.truncate('d/h', 0)
    data = os.read(fd, 65536)
    out, at = [], 0
    while at < len(data):
        wd, mask, cookie, n = struct.unpack_from('iIII', data, at)
        out.append((hex(mask), data[at + 16 : at + 16 + n].rstrip(b'\0')))
        at += 16 + n
    t('inotify', lambda: out)
