#!/usr/bin/env python3
"""A long day of a store, in short: several processes work in trees of their own and know what must be there, while the store is consolidated, compacted,
regrouped and scrubbed, its daemon killed and its mount made anew. usage: soak.py CFFS STORE MNT SECONDS SEED
What was acknowledged must be there after every kill; of the one call that each process had under way any part may. Memory and descriptors of the
daemon must not grow. Prints a line for each life of the daemon; the first difference ends it."""
import errno, multiprocessing, os, random, signal, subprocess, sys, time

WRITERS = 3
LONG = 300  # seconds of a life in which memory must have stopped to grow: caches and write buffers fill in two to three minutes
# What a call on a dead mount answers; ENOENT where it has been taken away.
DEAD = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ESHUTDOWN, errno.ENODEV, errno.ENOENT}


class Difference(Exception):
    pass


class Writer:
    """One process's tree below the mount, and what it knows of it."""

    def __init__(self, top, number, seed):
        self.root = os.path.join(top, f'w{number}')
        self.r = random.Random(seed * 100 + number)
        self.files, self.directories = {}, {''}  # path -> content; paths of directories
        self.under_way = None                    # the call that may or may not have happened
        self.calls = 0

    def at(self, path):
        return os.path.join(self.root, path)

    def new_name(self):
        d = self.r.choice(sorted(self.directories))
        name = f'{self.r.choice("abcdefgh")}{self.r.randrange(60)}{self.r.choice(("", ".html", ".c"))}'
        return os.path.join(d, name)

    def some_file(self):
        return self.r.choice(sorted(self.files)) if self.files else None

    def data(self):
        n = self.r.choice((10, 200, 1500, 4000, 4097, 9000, 30000, 200000, 900000))
        return self.r.randbytes(self.r.randrange(1, n + 1))

    def step(self):
        """Makes one call. Before it, under_way says what it is going to be; after it the tree is what it was to become."""
        kind = self.r.choices(('write', 'append', 'patch', 'truncate', 'rename', 'unlink', 'mkdir', 'rmdir', 'read', 'list', 'sync'),
                              (20, 8, 8, 4, 5, 8, 2, 1, 20, 3, 1))[0]
        getattr(self, kind)()
        self.under_way = None
        self.calls += 1

    def put(self, path, offset, data):
        """A write: until it is acknowledged, any part of it may have happened."""
        old = self.files.get(path)
        self.under_way = ('write', path, old, offset, data)
        h = os.open(self.at(path), os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            if os.pwrite(h, data, offset) != len(data): raise OSError(errno.ENOTCONN, 'cut short')  # the daemon died in it
        finally: os.close(h)
        base = (old or b'').ljust(offset, b'\0')
        self.files[path] = base[:offset] + data + base[offset + len(data):]

    def write(self):
        path = self.new_name()
        if path not in self.directories and path not in self.files and len(self.files) < 400: self.put(path, 0, self.data())

    def append(self):
        path = self.some_file()
        if path and len(self.files[path]) < 3 << 20: self.put(path, len(self.files[path]), self.data())

    def patch(self):
        path = self.some_file()
        if path: self.put(path, self.r.randrange(len(self.files[path]) + 1), self.data()[:50000])

    def truncate(self):
        path = self.some_file()
        if not path: return
        size = self.r.randrange(2 * len(self.files[path]) + 1)
        new = self.files[path][:size].ljust(size, b'\0')
        self.under_way = ('either', {path: new}, [])
        os.truncate(self.at(path), size)
        self.files[path] = new

    def rename(self):
        a, b = self.some_file(), self.new_name()
        if not a or b in self.directories or a == b: return
        self.under_way = ('either', {b: self.files[a]}, [a])
        os.rename(self.at(a), self.at(b))
        self.files[b] = self.files.pop(a)

    def unlink(self):
        path = self.some_file()
        if not path: return
        self.under_way = ('either', {}, [path])
        os.unlink(self.at(path))
        del self.files[path]

    def mkdir(self):
        path = self.new_name()
        if path in self.files or path in self.directories or path.count('/') > 3 or len(self.directories) > 40: return
        self.under_way = ('mkdir', path)
        os.mkdir(self.at(path))
        self.directories.add(path)

    def rmdir(self):
        empty = [d for d in sorted(self.directories) if d and not any(p.startswith(d + '/') for p in list(self.files) + list(self.directories))]
        if not empty: return
        path = self.r.choice(empty)
        self.under_way = ('rmdir', path)
        os.rmdir(self.at(path))
        self.directories.remove(path)

    def read(self):
        path = self.some_file()
        if not path: return
        with open(self.at(path), 'rb') as f: found = f.read()
        if found != self.files[path]: raise Difference(self.how_they_differ(path, found))

    def list(self):
        d = self.r.choice(sorted(self.directories))
        inside = {os.path.basename(p) for p in list(self.files) + list(self.directories) if p and os.path.dirname(p) == d}
        if set(os.listdir(self.at(d))) != inside: raise Difference(f'{d or "/"} lists something else')

    def sync(self):
        path = self.some_file()
        if not path: return
        h = os.open(self.at(path), os.O_RDONLY)
        try: os.fsync(h)
        finally: os.close(h)

    def how_they_differ(self, path, found):
        known = self.files[path]
        at = next((i for i, (a, b) in enumerate(zip(found, known)) if a != b), min(len(found), len(known)))
        return f'{path}: {len(found)} bytes, should be {len(known)}; the first that differs is {at}'

    def settle(self):
        """After a kill: what became of the call that was under way is what is there, where it is something that may be."""
        call, self.under_way = self.under_way, None
        if call is None: return
        if call[0] == 'mkdir':
            if os.path.isdir(self.at(call[1])): self.directories.add(call[1])
        elif call[0] == 'rmdir':
            if not os.path.isdir(self.at(call[1])): self.directories.discard(call[1])
        elif call[0] == 'either':
            new, gone = call[1:]
            happened = [os.path.exists(self.at(p)) and open(self.at(p), 'rb').read() == c for p, c in new.items()] + [not os.path.lexists(self.at(p)) for p in gone]
            if all(happened):
                for p in gone: self.files.pop(p, None)
                self.files.update(new)
        else:
            path, old, offset, data = call[1:]
            if not os.path.lexists(self.at(path)):
                if old is not None: raise Difference(f'{path} is gone')
                return
            with open(self.at(path), 'rb') as f: found = f.read()
            was = old or b''
            if not min(len(was), len(found)) == len(was) or len(found) > max(len(was), offset + len(data)): raise Difference(f'{path}: {len(found)} bytes after a write that was cut off')
            for i, byte in enumerate(found):
                may = {was[i] if i < len(was) else 0}
                if offset <= i < offset + len(data): may.add(data[i - offset])
                if byte not in may: raise Difference(f'{path}: byte {i} is neither of before nor of the write that was cut off')
            self.files[path] = found

    def verify(self):
        files, directories = {}, set()
        for d, names, inside in os.walk(self.root, onerror=lambda e: (_ for _ in ()).throw(e)):
            below = os.path.relpath(d, self.root)
            below = '' if below == '.' else below
            directories.add(below)
            files.update({os.path.join(below, n): os.path.join(d, n) for n in inside})
        if directories != self.directories: raise Difference(f'directories differ: {sorted(directories ^ self.directories)[:5]}')
        if set(files) != set(self.files): raise Difference(f'names differ: {sorted(set(files) ^ set(self.files))[:5]}')
        for path, where in files.items():
            with open(where, 'rb') as f: found = f.read()
            if found != self.files[path]: raise Difference(self.how_they_differ(path, found))


def writer(top, number, seed, pipe):
    """Obeys: 'go' works until 'stop' or until the mount dies, then answers with what it knows; 'verify' compares everything."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    w = Writer(top, number, seed)
    os.makedirs(w.root, exist_ok=True)
    try:
        while True:
            order = pipe.recv()
            if order == 'end': return
            if order == 'verify':
                w.settle()
                w.verify()
                pipe.send(('good', w.calls, len(w.files)))
                continue
            while not pipe.poll():
                try: w.step()
                except OSError as e:
                    if e.errno not in DEAD: raise
                    break
            while pipe.recv() != 'stop': pass
            pipe.send(('stopped', w.calls, len(w.files)))
    except (Difference, OSError) as e:
        pipe.send(('bad', f'process {number}: {e}; it was about to {str(w.under_way and w.under_way[:2])[:200]}', 0))


class Soak:
    def __init__(self, cffs, store, mnt, seconds, seed):
        self.cffs, self.store, self.mnt, self.end, self.seed = cffs, store, mnt, time.monotonic() + seconds, seed
        self.r = random.Random(seed)
        self.pipes = []
        self.lives = self.kills = 0
        self.flat = []  # of each long life: what memory and descriptors were early and late

    def run(self, *words, may_fail=False):
        done = subprocess.run([self.cffs, *words], capture_output=True, text=True, timeout=300)
        if done.returncode != 0 and not may_fail: raise Difference(f'cffs {" ".join(words)}: {done.returncode}: {(done.stdout + done.stderr).strip()[-400:]}')
        return done

    def mount(self):
        policy = self.r.choice(('none', 'directory', 'reference', 'frequency'))
        self.run('mount', f'--policy={policy}', '--quiet=0.3', '--commit-interval=0.5', self.store, self.mnt)
        self.lives += 1
        return policy

    def daemon(self):
        with open(os.path.join(self.store, 'lock')) as f: return int(f.read().split()[1])

    def holds(self):
        """Resident memory in KiB that is the daemon's own, and descriptors."""
        pid = self.daemon()
        with open(f'/proc/{pid}/status') as f: rss = next(int(line.split()[1]) for line in f if line.startswith('RssAnon'))
        return rss, len(os.listdir(f'/proc/{pid}/fd'))

    def tell(self, order):
        for p in self.pipes: p.send(order)

    def answers(self):
        calls = files = 0
        for p in self.pipes:
            if not p.poll(300): raise Difference('a process hangs')
            kind, n, m = p.recv()
            if kind == 'bad': raise Difference(n)
            calls, files = calls + n, files + m
        return calls, files

    def disturb(self):
        """Something that moves data, at the same time as all else. One that a kill cuts off may fail."""
        words = self.r.choice((['compact', self.mnt], ['scrub', self.mnt], ['regroup', f'--policy={self.r.choice(("none", "directory", "reference"))}', self.mnt]))
        return subprocess.Popen([self.cffs, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def life(self):
        """One daemon: work, disturbances, and its end: killed, or unmounted."""
        policy = self.mount()
        self.tell('verify')
        self.answers()
        self.tell('go')
        started = time.monotonic()
        left = self.end - started
        length = self.r.choice((2, 4, 8, 8, 8, 8, 60, LONG)) if left > LONG + 100 else self.r.uniform(2, 5)
        early = late = self.holds()
        busy = []
        while time.monotonic() - started < length:
            time.sleep(0.5)
            busy = [b for b in busy if b.poll() is None]
            if len(busy) < 2: busy.append(self.disturb())
            late = self.holds()
            if time.monotonic() - started < length / 2: early = tuple(map(max, early, late))
        kill = self.r.random() < 0.7
        if kill:
            self.kills += 1
            os.kill(self.daemon(), signal.SIGKILL)
        self.tell('stop')
        calls, files = self.answers()
        for b in busy: b.wait(timeout=300)
        if kill: subprocess.run(['umount', '-l', self.mnt], check=True)
        else: self.run('umount', self.mnt)
        subprocess.run(['flock', '--wait', '60', os.path.join(self.store, 'lock'), 'true'], check=True)
        checked = self.r.random() < 0.3
        if checked: self.run('fsck', self.store)
        if length >= LONG: self.flat.append((early, late))
        print(f'{self.lives}: {policy}, {time.monotonic() - started:.0f} s, {"killed" if kill else "unmounted"}{", fsck" if checked else ""}; '
              f'{calls} calls so far, {files} files; {late[0] >> 10} MiB, {late[1]} descriptors', flush=True)

    def go(self):
        self.run('mount', self.store, self.mnt)
        workers = []
        for n in range(WRITERS):
            mine, theirs = multiprocessing.Pipe()
            workers.append(multiprocessing.Process(target=writer, args=(self.mnt, n, self.seed, theirs), daemon=True))
            self.pipes.append(mine)
            workers[-1].start()
        while not all(os.path.isdir(os.path.join(self.mnt, f'w{n}')) for n in range(WRITERS)): time.sleep(0.05)
        self.run('umount', self.mnt)
        while time.monotonic() < self.end: self.life()
        self.mount()
        self.tell('verify')
        calls, files = self.answers()
        self.tell('end')
        self.run('umount', self.mnt)
        self.run('fsck', self.store)
        # Caches fill by calls, not by the clock: one life of a machine that has other work may fill them in its second half. What leaks
        # ends each life higher than any first half was.
        most = tuple(max(early[i] for early, _ in self.flat) for i in (0, 1)) if self.flat else None
        for early, late in self.flat:
            if late[0] > most[0] * 1.25 + (32 << 10): raise Difference(f'memory grew in the second half of a long life from {early[0] >> 10} (in others up to {most[0] >> 10}) to {late[0] >> 10} MiB')
            if late[1] > most[1] + 200: raise Difference(f'descriptors grew in the second half of a long life from {early[1]} (in others up to {most[1]}) to {late[1]}')
        print(f'no difference: {calls} calls, {files} files at the end, {self.lives} mounts, {self.kills} kills')


if __name__ == '__main__':
    try: Soak(*sys.argv[1:4], float(sys.argv[4]), int(sys.argv[5])).go()
    except Difference as e: sys.exit(f'soak.py: {e}')
