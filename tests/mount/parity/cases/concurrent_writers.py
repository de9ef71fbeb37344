"""Several processes on the same files."""

import os

from harness import make, read


def concurrent_writers(t):
    f = os.open('log', os.O_CREAT | os.O_WRONLY, 0o644)
    os.close(f)
    pids = []
    for w in range(4):
        pid = os.fork()
        if pid == 0:
            h = os.open('log', os.O_WRONLY | os.O_APPEND)
            for i in range(300):
                os.write(h, (b'%d %04d ' % (w, i)).ljust(50 + w * 37, b'.') + b'\n')
            os._exit(0)
        pids.append(pid)
    [os.waitpid(p, 0) for p in pids]
    lines = read('log').split(b'\n')
    t(
        'every line whole, in order of its writer',
        lambda: [
            len(lines),
            [[int(l.split()[1]) for l in lines if l[:1] == b'%d' % w] == list(range(300)) for w in range(4)],
            {len(l) for l in lines},
        ],
    )
    pids = []
    for w in range(4):
        pid = os.fork()
        if pid == 0:
            for i in range(100):
                try:
                    os.close(os.open(f'once{i}', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                    os.write(os.open('won', os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), b'.')
                except FileExistsError:
                    pass
            os._exit(0)
        pids.append(pid)
    [os.waitpid(p, 0) for p in pids]
    t('each made once', lambda: len(read('won')))
    pids = []
    os.mkdir('r')
    make('r/0', b'x')
    for w in range(3):
        pid = os.fork()
        if pid == 0:
            for i in range(200):
                make(f'r/t{w}', b'%d' % w * 5000)
                os.rename(f'r/t{w}', 'r/target')
            os._exit(0)
        pids.append(pid)
    torn = 0
    for _ in range(300):
        try:
            c = read('r/target')
            torn += len(c) != 5000 or len(set(c)) != 1
        except FileNotFoundError:
            pass
    [os.waitpid(p, 0) for p in pids]
    t('a replaced file is one or the other', lambda: [torn, len(read('r/target'))])
