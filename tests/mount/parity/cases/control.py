"""ioctl, and calls that a file system may refuse."""

import ctypes
import os
import select
import struct
import subprocess

from harness import AT_FDCWD, call, call_checked, errors, libc, long, make

# Of x86-64 and of everything newer alike (no C function before glibc 2.28 and 2.36).
STATX, OPEN_TREE, MOUNT_SETATTR = {'x86_64': 332, 'aarch64': 291}[os.uname().machine], 428, 442


def direct_alignment(path):
    """What statx says of the memory and the offsets that direct I/O wants; None where it says nothing."""
    b = ctypes.create_string_buffer(256)
    dioalign = 0x2000
    call_checked(libc.syscall(long(STATX), long(AT_FDCWD), path, long(0), long(dioalign), b))
    return struct.unpack_from('II', b, 0x98) if struct.unpack_from('I', b)[0] & dioalign else None


def mapped_owners():
    """A mount of the directory whose owners are others, as containers with their own user namespace want it."""
    tree = call_checked(libc.syscall(long(OPEN_TREE), long(AT_FDCWD), b'.', long(1)))
    p = subprocess.Popen(
        ['unshare', '-U', 'sh', '-c', 'echo; read x'], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        p.stdout.readline()
        for ids in ('uid_map', 'gid_map'):
            with open(f'/proc/{p.pid}/{ids}', 'w') as m:
                m.write('0 100000 65536')
        users = os.open(f'/proc/{p.pid}/ns/user', os.O_RDONLY)
        idmap = struct.pack('QQQQ', 0x100000, 0, 0, users)
        call_checked(
            libc.syscall(long(MOUNT_SETATTR), long(tree), b'', long(0x1000), idmap, long(len(idmap)))
        )
        os.close(users)
    finally:
        p.communicate()
        os.close(tree)


def control(t):
    make('f', b'x' * 5000)
    f = os.open('f', os.O_RDWR)
    b = ctypes.create_string_buffer(64)
    for label, number in (
        ('FS_IOC_GETFLAGS', 0x80086601),
        ('FS_IOC_GETVERSION', 0x80087601),
        ('FIGETBSZ', 2),
        ('FIBMAP', 1),
        ('FIONREAD', 0x541B),
        ('FICLONE', 0x40049409),
        ('FITRIM', 0xC0185879),
        ('FS_IOC_FIEMAP', 0xC020660B),
        ('unknown', 0x12345),
    ):
        t(label, lambda: errors(lambda: str(call('ioctl', f, number, b))))
    t(
        'getlabel',
        lambda: errors(lambda: call('ioctl', f, 0x81009431, ctypes.create_string_buffer(300)) and 'ok'),
    )
    t('swapon', lambda: errors(lambda: call('swapon', b'f', 0)))
    t(
        'O_DIRECT of odd length',
        lambda: errors(lambda: os.pread(os.open('f', os.O_RDONLY | os.O_DIRECT), 10, 1)),
    )
    t('epoll', lambda: errors(lambda: select.epoll().register(f)))
    t('statx of direct I/O', lambda: direct_alignment(b'f'))
    t('owners mapped by a mount', lambda: errors(mapped_owners))
