"""ioctl, and calls that a file system may refuse."""

import ctypes
import os

from harness import call, errors, make


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
