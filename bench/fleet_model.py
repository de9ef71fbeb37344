#!/usr/bin/env python3
"""What a fleet of readers asks of the medium that they share, by a web log: bench/fleet_model.py LOG[.xz] [--readers=1,10,100] [--cache=MB,...]

Every reader has a cache of its own (whole files, least recently used goes). Requests of the log go to the readers either in turn, as a balancer without
memory sends them, or by client. Printed for each: the share of requests that the cache answers, and requests and bytes of the medium beside those of one reader.
A model of caches alone: no group is read ahead, no file changes, and a log's own times do not matter.
"""
import collections
import lzma
import re
import sys
import zlib

LINE = re.compile(rb'(\S+) \S+ \S+ \[[^\]]*\] "(?:GET|HEAD) (\S+)[^"]*" (\d+) (\d+|-)')


def requests(path):
    """(client, file, bytes) of what was answered with a file, in order."""
    opened = lzma.open(path) if path.endswith(".xz") else open(path, "rb")
    with opened as log:
        for line in log:
            found = LINE.match(line)
            if found is None or found[3] not in (b"200", b"304"):
                continue
            yield found[1], found[2].split(b"?")[0], 0 if found[4] == b"-" else int(found[4])


class Cache:
    def __init__(self, room):
        self.room, self.held, self.files = room, 0, collections.OrderedDict()

    def hit(self, file, size):
        if file in self.files:
            self.files.move_to_end(file)
            return True
        self.files[file] = size
        self.held += size
        while self.held > self.room and len(self.files) > 1:
            self.held -= self.files.popitem(last=False)[1]
        return False


def model(log, sizes, readers, room, by_client):
    caches = [Cache(room) for _ in range(readers)]
    misses = missed = 0
    for number, (client, file, _) in enumerate(log):
        reader = zlib.crc32(client) % readers if by_client else number % readers
        if not caches[reader].hit(file, sizes[file]):
            misses += 1
            missed += sizes[file]
    return misses, missed


def main():
    readers, rooms, paths = [1, 10, 100, 1000], [8, 64, 512], []
    for word in sys.argv[1:]:
        if word.startswith("--readers="):
            readers = [int(n) for n in word[10:].split(",")]
        elif word.startswith("--cache="):
            rooms = [int(n) for n in word[8:].split(",")]
        else:
            paths.append(word)
    if len(paths) != 1 or any(p.startswith("-") for p in paths):
        sys.exit(__doc__.split("\n")[0])
    log = list(requests(paths[0]))
    if not log:
        sys.exit(f"{paths[0]}: no line of it is one of the Common Log Format that was answered with a file")
    sizes = collections.defaultdict(int)
    for _, file, size in log:
        sizes[file] = max(sizes[file], size)
    print(f"{len(log)} requests for {len(sizes)} files of {sum(sizes.values()) / 1e6:.1f} MB by {len({c for c, _, _ in log})} clients")
    print(f"{'cache':>8} {'readers':>8} {'sent':>10} {'answered':>9} {'requests':>9} {'bytes':>7}   (of the medium, beside one reader)")
    for room in rooms:
        one = None
        for n in readers:
            for by_client in (False, True):
                misses, missed = model(log, sizes, n, room * 1_000_000, by_client)
                one = one or (misses, missed)
                print(f"{room:>5} MB {n:>8} {'by client' if by_client else 'in turn':>10} {100 * (1 - misses / len(log)):>8.1f}% {misses / one[0]:>8.1f}x {missed / one[1]:>6.1f}x")
                if n == 1:
                    break


main()
