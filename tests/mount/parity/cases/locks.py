"""flock, fcntl locks, leases."""

import fcntl
import os
import signal
import struct
import time

from harness import as_user, errors, make


def locks(t):
    make('f', b'x' * 1000)

    def other(action):
        """What another process gets."""
        return as_user(0, action)

    f = os.open('f', os.O_RDWR)

    def lockf(fd, kind, start=0, length=0, command=fcntl.F_SETLK):
        return fcntl.fcntl(fd, command, struct.pack('hhqqi4x', kind, 0, start, length, 0))

    def held_by_other(kind, start, length, command=fcntl.F_GETLK):
        k, w, s, l, p = struct.unpack(
            'hhqqi4x',
            fcntl.fcntl(os.open('f', os.O_RDWR), command, struct.pack('hhqqi4x', kind, 0, start, length, 0)),
        )
        return k, s, l, p == os.getppid()

    t(
        'posix write lock',
        lambda: [
            lockf(f, fcntl.F_WRLCK, 10, 20) and 'ok',
            other(
                lambda: errors(
                    lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_WRLCK, 15, 1),
                    lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_RDLCK, 29, 5),
                    lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_WRLCK, 30, 5) and 'ok',
                )
            ),
            other(lambda: held_by_other(fcntl.F_WRLCK, 0, 0)),
        ],
    )
    t(
        'split',
        lambda: [
            lockf(f, fcntl.F_UNLCK, 15, 5) and 'ok',
            other(lambda: [held_by_other(fcntl.F_WRLCK, a, 5) for a in (10, 15, 20)]),
        ],
    )
    t(
        'closing any descriptor lets go',
        lambda: [os.close(os.open('f', os.O_RDONLY)), other(lambda: held_by_other(fcntl.F_WRLCK, 0, 0))],
    )
    t(
        'shared',
        lambda: [
            lockf(f, fcntl.F_RDLCK, 0, 0) and 'ok',
            other(
                lambda: errors(
                    lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_RDLCK, 5, 5) and 'ok',
                    lambda: lockf(os.open('f', os.O_RDWR), fcntl.F_WRLCK, 5, 5),
                )
            ),
        ],
    )
    r = os.open('f', os.O_RDONLY)
    t('wrong mode', lambda: errors(lambda: lockf(r, fcntl.F_WRLCK)))
    lockf(f, fcntl.F_UNLCK)
    OFD_SETLK = 37
    g = os.open('f', os.O_RDWR)
    h = os.open('f', os.O_RDWR)
    t(
        'ofd',
        lambda: [
            lockf(g, fcntl.F_WRLCK, 0, 10, OFD_SETLK) and 'ok',
            errors(
                lambda: lockf(h, fcntl.F_WRLCK, 5, 10, OFD_SETLK),
                lambda: lockf(f, fcntl.F_WRLCK, 5, 10),
                lambda: lockf(h, fcntl.F_WRLCK, 10, 10, OFD_SETLK) and 'ok',
            ),
        ],
    )
    t(
        'ofd goes with its description',
        lambda: [os.close(g), errors(lambda: lockf(f, fcntl.F_WRLCK, 0, 10) and 'ok')],
    )
    os.close(h)
    a, b = os.open('f', os.O_RDONLY), os.open('f', os.O_RDONLY)
    t(
        'flock',
        lambda: [
            fcntl.flock(a, fcntl.LOCK_EX),
            errors(
                lambda: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB),
                lambda: fcntl.flock(b, fcntl.LOCK_SH | fcntl.LOCK_NB),
            ),
            fcntl.flock(a, fcntl.LOCK_SH),
            errors(
                lambda: fcntl.flock(b, fcntl.LOCK_SH | fcntl.LOCK_NB),
                lambda: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB),
            ),
            fcntl.flock(a, fcntl.LOCK_UN),
            errors(lambda: fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)),
        ],
    )

    def waits():
        pid = os.fork()
        if pid == 0:
            h2 = os.open('f', os.O_RDONLY)
            fcntl.flock(h2, fcntl.LOCK_EX)
            os._exit(7)
        time.sleep(0.1)
        first = os.waitpid(pid, os.WNOHANG)[0]
        fcntl.flock(b, fcntl.LOCK_UN)
        return first, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    t('waits', waits)

    def deadlock():
        lockf(f, fcntl.F_UNLCK)
        lockf(f, fcntl.F_WRLCK, 0, 1)
        pr, pw = os.pipe()
        pid = os.fork()
        if pid == 0:
            x = os.open('f', os.O_RDWR)
            lockf(x, fcntl.F_WRLCK, 1, 1)
            os.write(pw, b'.')
            os._exit(
                3 if errors(lambda: lockf(x, fcntl.F_WRLCK, 0, 1, fcntl.F_SETLKW) and 'ok') == ['ok'] else 4
            )
        os.read(pr, 1)
        time.sleep(0.1)
        mine = errors(lambda: lockf(f, fcntl.F_WRLCK, 1, 1, fcntl.F_SETLKW))
        lockf(f, fcntl.F_UNLCK)
        return mine, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    t('deadlock is seen', deadlock)

    def interrupted():
        lockf(f, fcntl.F_WRLCK)
        pid = os.fork()
        if pid == 0:

            def ring(*_):
                raise InterruptedError

            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            x = os.open('f', os.O_RDWR)
            try:
                lockf(x, fcntl.F_WRLCK, 0, 0, fcntl.F_SETLKW)
                os._exit(1)
            except InterruptedError:
                os._exit(2)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    t('a waiting lock can be interrupted', interrupted)
    t(
        'lease',
        lambda: errors(lambda: fcntl.fcntl(os.open('f', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)),
    )
