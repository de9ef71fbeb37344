"""Power cuts below a real kernel: a mount of cffs works on a file system (region: on none) on a disk whose every write is recorded; the disk is then made anew as a
cut at many moments would have left it, and what the store then holds is held against what its user was promised (docs/CONSISTENCY.md).

  power_cuts.py CFFS RECORDER WORK FILE_SYSTEM SEED OPERATIONS CUTS

Each cut: what was written before the last flush is there; of what was written after it, any subset of sectors. One number, the seed, replays all
but the kernel's own timing. Exit status 1 and a line for each difference."""
import sys

sys.dont_write_bytecode = True  # the tree is left as it was
import os, random, signal, struct, subprocess, time

from power_cut_oracle import SECTOR, Tree, differences, observe

# What reaches the medium whole: a sector; of XFS and Btrfs a block, since neither stands the tearing of its own metadata blocks.
WHOLE = {"ext4": SECTOR, "xfs": 4096, "btrfs": 4096, "region": SECTOR}
FLUSH = (1 << 64) - 1
LARGE = 65_537         # from here on a file is a blob
LARGE_ALONE = 4_097    # under policy none


def run(*words, check=True, timeout=120):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}: {done.stdout[-2000:]}")
    return done


class Workload:
    def __init__(self, cffs, work, kind, seed):
        self.cffs, self.work, self.random = cffs, work, random.Random(seed)
        self.tree = Tree()
        self.image, self.log = f"{work}/image", f"{work}/log"
        self.disk, self.below, self.mnt = f"{work}/served", f"{work}/below", f"{work}/mnt"
        for directory in (self.disk, self.below, self.mnt):
            os.makedirs(directory, exist_ok=True)
        self.kind = kind
        # Half of the runs know policy none, under which files become blobs early.
        self.policies = ("none", "directory", "reference") if seed % 2 else ("directory", "reference")
        self.tree.blob_from = LARGE_ALONE if seed % 2 else LARGE
        self.loop = None

    def begin(self, recorder):
        with open(self.image, "wb") as image:
            image.truncate({"ext4": 96 << 20, "xfs": 320 << 20, "btrfs": 128 << 20, "region": 96 << 20}[self.kind])
        run(recorder, self.image, self.log, self.disk)
        self.loop = run("losetup", "--find", "--show", f"{self.disk}/disk").stdout.strip()
        if self.kind == "region":
            self.store = self.loop
            run(self.cffs, "format", "--backend=region", "--region-size=4M", self.store)
        else:
            self.store = f"{self.below}/store"
            run(f"mkfs.{self.kind}", *(["-q", "-F", "-E", "lazy_itable_init=0"] if self.kind == "ext4" else ["-q"]), self.loop)
            run("mount", "-t", self.kind, self.loop, self.below)
            run(self.cffs, "format", self.store)
        os.sync()
        self.mount()
        self.start = os.path.getsize(self.log)
        self.tree.promise_all(0)

    def mount(self):
        run(self.cffs, "mount", "--quiet=0.2", "--commit-interval=0.5", self.store, self.mnt)

    def end(self):
        for words in ((self.cffs, "umount", self.mnt), ("umount", "-l", self.mnt), ("umount", self.below), ("umount", "-l", self.below)):
            run(*words, check=False)
        for _ in range(100):
            if self.loop is None or run("losetup", "-d", self.loop, check=False).returncode == 0:
                break
            time.sleep(0.1)
        run("umount", "-l", self.disk, check=False)

    def position(self):
        return os.path.getsize(self.log)

    def call(self, function, *arguments):
        """One call of the system, that happened to the tree as a whole when it returns."""
        started = self.position()
        result = function(*arguments)
        self.pending = started
        return result

    def done(self):
        self.tree.called(self.pending, self.position())

    def bytes(self, size):
        return self.random.randbytes(size)

    def size(self):
        return self.random.choice((1, 200, 4096, 5000, 20_000)) if self.random.random() < 0.75 else self.random.randrange(LARGE, 400_000)

    def pick(self):
        return self.random.choice(sorted(self.tree.names)) if self.tree.names else None

    def new_path(self):
        directory = self.random.choice([""] + [d + "/" for d in sorted(self.tree.directories)])
        return f"{directory}f{self.random.randrange(60)}"

    def step(self):
        t, r = self.tree, self.random
        what = r.choices(("write", "append", "inside", "truncate", "rename", "unlink", "link", "mkdir", "rmdir", "fsync", "compact", "regroup", "kill", "wait"),
                         (20, 8, 10, 4, 10, 8, 3, 3, 2, 8, 2, 1, 1, 3))[0]
        path = self.pick()
        if what == "write" or path is None:
            return self.write(self.new_path())
        full = f"{self.mnt}/{path}"
        if what == "append":
            return self.pwrite(path, len(t.content(path)), self.bytes(self.size()))
        if what == "inside":
            content = t.content(path)
            if content:
                at = r.randrange(len(content))
                self.pwrite(path, at, self.bytes(min(len(content) - at, r.choice((10, 600, 4096, 50_000)))))
        elif what == "truncate":
            content, size = t.content(path), r.randrange(len(t.content(path)) + 3000)
            self.call(os.truncate, full, size)
            t.change(path, content[:size].ljust(size, b"\0"))
            self.done()
        elif what == "rename":
            to = self.new_path()
            if to in t.names and t.names[to] == t.names[path]:
                return
            self.call(os.rename, full, f"{self.mnt}/{to}")
            t.names[to] = t.names.pop(path)
            self.done()
        elif what == "unlink":
            self.call(os.unlink, full)
            del t.names[path]
            self.done()
        elif what == "link":
            to = self.new_path()
            if to not in t.names:
                self.call(os.link, full, f"{self.mnt}/{to}")
                t.names[to] = t.names[path]
                self.done()
        elif what == "mkdir":
            name = f"d{r.randrange(6)}"
            if name not in t.directories:
                self.call(os.mkdir, f"{self.mnt}/{name}")
                t.directories.add(name)
                self.done()
        elif what == "rmdir":
            empty = [d for d in sorted(t.directories) if not any(p.startswith(d + "/") for p in t.names)]
            if empty:
                self.call(os.rmdir, f"{self.mnt}/{empty[0]}")
                t.directories.remove(empty[0])
                self.done()
        elif what == "fsync":
            fd = os.open(full, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
            t.promise(path, self.position())
        elif what == "compact":
            run(self.cffs, "compact", self.mnt)
        elif what == "regroup":
            run(self.cffs, "regroup", "--policy=" + r.choice(self.policies), self.mnt)
        elif what == "kill":
            self.kill()
        else:
            time.sleep(r.random())

    def write(self, path):
        """Anew: made or emptied, then written."""
        t, full = self.tree, f"{self.mnt}/{path}"
        if path in t.names:
            fd = self.call(os.open, full, os.O_WRONLY | os.O_TRUNC)
            t.change(path, b"")
        else:
            fd = self.call(os.open, full, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            t.names[path] = t.file()
        self.done()
        content = self.bytes(self.size())
        self.call(os.write, fd, content)
        t.change(path, content)
        self.done()
        os.close(fd)

    def pwrite(self, path, at, piece):
        content = self.tree.content(path)
        fd = os.open(f"{self.mnt}/{path}", os.O_WRONLY)
        self.call(os.pwrite, fd, piece, at)
        os.close(fd)
        self.tree.change(path, content[:at] + piece + content[at + len(piece):])
        self.done()

    def kill(self):
        """The daemon dies, not the machine: all that was acknowledged is there, and durable once the next one has opened the store."""
        with open(self.store if self.kind == "region" else f"{self.store}/lock", "rb") as lock:
            lock.seek(8192 if self.kind == "region" else 0)
            pid = int(lock.read(256).split()[1])
        os.kill(pid, 9)
        run("umount", "-l", self.mnt)
        for _ in range(100):
            if not os.path.exists(f"/proc/{pid}"):
                break
            time.sleep(0.05)
        self.mount()
        self.tree.promise_all(self.position())
        found = observe(self.mnt)
        state = len(self.tree.calls) - 1
        for line in differences(self.tree, found, state, state, self.position(), exact=True):
            raise RuntimeError("after kill -9: " + line)


class Cuts:
    def __init__(self, workload, seed):
        self.w, self.random = workload, random.Random(seed + 1)
        self.image = f"{workload.work}/cut"
        self.mnt, self.below = workload.mnt, workload.below

    def positions(self, count):
        """Record borders, evenly over the run, with what was flushed before each."""
        borders, flushed, at = [], 0, 0
        with open(self.w.log, "rb") as log:
            while head := log.read(16):
                offset, length = struct.unpack("<QQ", head)
                log.seek(length, 1)
                at = log.tell()
                if offset == FLUSH:
                    flushed = at
                if at > self.w.start:
                    borders.append((at, flushed))
        chosen = sorted(self.random.sample(borders, min(count, len(borders))))
        return chosen

    def make(self, chosen):
        """Yields (position) with the image as the cut there leaves it. One pass over the log."""
        base = f"{self.w.work}/flushed"
        with open(base, "wb") as f:
            f.truncate(os.path.getsize(self.w.image))
        with open(self.w.log, "rb") as log, open(base, "r+b") as flushed_image:
            for position, flushed in chosen:
                for offset, piece in self.records(log, flushed):
                    flushed_image.seek(offset)
                    flushed_image.write(piece)
                flushed_image.flush()
                behind = log.tell()
                run("cp", "--sparse=always", base, self.image)
                share = self.random.choice((0, 0.1, 0.5, 0.9, 1))
                with open(self.image, "r+b") as image:
                    for offset, piece in self.records(log, position):
                        whole = self.random.random() < 0.5
                        keep = self.random.random() < share
                        unit = WHOLE[self.w.kind]
                        for at in range(0, len(piece), unit):
                            if keep if whole else self.random.random() < share:
                                image.seek(offset + at)
                                image.write(piece[at:at + unit])
                log.seek(behind)
                yield position

    @staticmethod
    def records(log, until):
        while log.tell() < until:
            offset, length = struct.unpack("<QQ", log.read(16))
            piece = log.read(length)
            if offset != FLUSH:
                yield offset, piece

    def check(self, position):
        tree = self.w.tree
        low = max(call for at, call in tree.promises if at <= position)
        high = max(i for i, c in enumerate(tree.calls) if c[2] < position)
        loop = run("losetup", "--find", "--show", self.image).stdout.strip()
        store = loop if self.w.kind == "region" else f"{self.below}/store"
        try:
            # The same UUID as the disk that it was recorded from, which may be on its way out still.
            if self.w.kind != "region":
                run("mount", "-t", self.w.kind, *(["-o", "nouuid"] if self.w.kind == "xfs" else []), loop, self.below)
            mounted = run(self.w.cffs, "mount", store, self.mnt, check=False)
            if mounted.returncode != 0:
                return ["cannot be mounted: " + mounted.stdout]
            try:
                found = differences(tree, observe(self.mnt), low, high, position)
                with open(f"{self.mnt}/after", "wb") as f:  # it can be used
                    f.write(b"x" * 100_000)
                for path in sorted(tree.calls[high][0])[:3]:
                    if os.path.exists(f"{self.mnt}/{path}"):
                        os.unlink(f"{self.mnt}/{path}")
            except OSError as error:
                found = [f"an error: {error}"]
            run(self.w.cffs, "umount", self.mnt)
            fsck = run(self.w.cffs, "fsck", store, check=False)
            if fsck.returncode != 0:
                found.append("fsck: " + fsck.stdout)
            return found
        finally:
            run("umount", "-l", self.mnt, check=False)
            if self.w.kind != "region":
                run("umount", self.below, check=False)
            for _ in range(100):
                if run("losetup", "-d", loop, check=False).returncode == 0:
                    break
                time.sleep(0.05)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is mounted goes
    cffs, recorder, work, kind = sys.argv[1:5]
    seed, operations, count = (int(word) for word in sys.argv[5:8])
    workload = Workload(cffs, work, kind, seed)
    try:
        workload.begin(recorder)
        for _ in range(operations):
            workload.step()
    finally:
        workload.end()
    cuts = Cuts(workload, seed)
    chosen = cuts.positions(count)
    bad = 0
    for number, position in enumerate(cuts.make(chosen), 1):
        for line in cuts.check(position):
            bad += 1
            print(f"{kind}, seed {seed}, cut {number} at byte {position} of the record: {line}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{number} of {len(chosen)} cuts", end="", file=sys.stderr)
    print(f"{kind}, seed {seed}: {len(workload.tree.calls)} calls, {os.path.getsize(workload.log)} bytes recorded, {len(chosen)} cuts, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
