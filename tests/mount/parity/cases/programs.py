"""Running programs from the file system; sockets, fifos, devices."""

import os
import shutil
import socket
import stat
import subprocess
import time

from harness import as_user, errors, look, make, OTHER, USER


def programs(t):
    shutil.copy('/bin/true', 'true')
    h = os.open('true', os.O_RDONLY)
    t('exec', lambda: subprocess.run(['./true']).returncode)
    w = os.open('true', os.O_RDWR)
    t('exec of a file open for writing', lambda: errors(lambda: subprocess.run(['./true']).returncode))
    os.close(w)
    shutil.copy('/bin/sleep', 'sleep')
    p = subprocess.Popen(['./sleep', '5'])
    time.sleep(0.2)
    t(
        'writing to a running program',
        lambda: errors(
            lambda: os.open('sleep', os.O_WRONLY), lambda: os.truncate('sleep', 0), lambda: os.unlink('sleep')
        ),
    )
    p.kill()
    p.wait()
    make('script', b'#!/bin/sh\nid -u\n', 0o755)
    t('script', lambda: subprocess.run(['./script'], capture_output=True).stdout)
    make('noexec', b'#!/bin/sh\n', 0o644)
    t('not executable', lambda: errors(lambda: subprocess.run(['./noexec']).returncode))
    shutil.copy('/usr/bin/id', 'suid')
    os.chown('suid', 0, 0)
    os.chmod('suid', 0o4755)
    t(
        'suid',
        lambda: as_user(
            USER, lambda: subprocess.run(['./suid', '-u'], capture_output=True, text=True).stdout
        ),
    )
    os.chown('suid', USER, OTHER)
    os.chmod('suid', 0o2755)
    t(
        'sgid',
        lambda: as_user(
            USER, lambda: subprocess.run(['./suid', '-g'], capture_output=True, text=True).stdout
        ),
    )
    s = socket.socket(socket.AF_UNIX)
    t('socket', lambda: [s.bind('sock'), look('sock')[0]])
    t('socket twice', lambda: errors(lambda: socket.socket(socket.AF_UNIX).bind('sock')))
    os.mkfifo('fifo')
    r = os.open('fifo', os.O_RDONLY | os.O_NONBLOCK)
    w = os.open('fifo', os.O_WRONLY)
    t('fifo', lambda: [os.write(w, b'through'), os.read(r, 20)])
    t(
        'null device',
        lambda: [
            os.mknod('null', stat.S_IFCHR | 0o666, os.makedev(1, 3)),
            os.write(os.open('null', os.O_WRONLY), b'x'),
            look('null')[0],
            os.stat('null').st_rdev,
        ],
    )
    t(
        'devices',
        lambda: [
            os.mknod('big', stat.S_IFBLK | 0o600, os.makedev(4000, 70000)),
            os.major(os.stat('big').st_rdev),
            os.minor(os.stat('big').st_rdev),
        ],
    )
    t(
        'mknod',
        lambda: errors(
            lambda: os.mknod('reg', stat.S_IFREG | 0o644),
            lambda: os.mknod('dir', stat.S_IFDIR | 0o755),
            lambda: os.mknod('lnk', stat.S_IFLNK | 0o777),
            lambda: os.mknod('reg'),
            lambda: as_user(
                USER, lambda: errors(lambda: os.mknod('n', stat.S_IFCHR | 0o666, os.makedev(1, 3)))
            ),
        ),
    )
