#!/usr/bin/env python3
"""Reads all small files of a tree by open() on a directory and by the library on a store of it: both in one run, in turns.

    python3 read_loop.py DIRECTORY STORE [--rounds=5] [--cold] [--threads=N] [--most=BYTES]

DIRECTORY is the tree on the file system to compare with, STORE one that it was imported into, at rest. Each round runs every loop once,
in a new process; medians are told. --cold drops the machine's caches before each (root). A checksum over the lengths says that all read
the same. Without --threads each call has as many as the library gives it. Time to list the files is no part of it on either side, but is told.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

LOOPS = ("open", "open_inodes", "read_many", "read_numbers", "batches", "batches_shuffled")


def listed(directory, most):
    paths = []
    for above, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(above, name)
            if os.path.isfile(path) and not os.path.islink(path) and 0 < os.path.getsize(path) <= most:
                paths.append(path)
    paths.sort()
    return paths


def once(loop, directory, store_path, paths_file, threads):
    """Runs one loop in this process: {"files", "bytes", "seconds", "listing", "sum"}."""
    with open(paths_file, "rb") as file:
        names = [os.fsdecode(line) for line in file.read().split(b"\0") if line]
    total = count = 0
    listing = cpu = 0.0
    if loop.startswith("open"):
        paths = [directory + name for name in names]
        if loop == "open_inodes":  # as a loop that knows ext4 would
            begin = time.perf_counter()
            paths.sort(key=lambda p: os.stat(p).st_ino)
            listing = time.perf_counter() - begin
            if os.environ.get("READ_LOOP_COLD"):
                drop_caches()
        begin, cpu = time.perf_counter(), time.process_time()
        for path in paths:
            with open(path, "rb") as file:
                data = file.read()
            total += len(data)
            count += 1
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    else:
        import cffs
        given = {} if threads is None else {"threads": threads}
        begin = time.perf_counter()
        store = cffs.Store(store_path)
        if loop == "read_many":
            opened, cpu = time.perf_counter(), time.process_time()
            for first in range(0, len(names), 1000):
                for data in store.read_many(names[first:first + 1000], **given):
                    total += len(data)
                    count += 1
        elif loop == "read_numbers":
            files = store.files("/")
            number_of = {path: i for i, path in enumerate(files.paths)}
            numbers = [number_of[name] for name in names]
            opened, cpu = time.perf_counter(), time.process_time()
            for first in range(0, len(numbers), 1000):
                for data in files.read(numbers[first:first + 1000], **given):
                    total += len(data)
                    count += 1
        else:
            files = store.files("/")
            opened, cpu = time.perf_counter(), time.process_time()
            order = "shuffle" if loop == "batches_shuffled" else "store"
            for _, contents in files.batches(order=order, seed=1, **given):
                for data in contents:
                    total += len(data)
                    count += 1
        seconds, cpu = time.perf_counter() - opened, time.process_time() - cpu
        listing = opened - begin
        store.close()
    return {"files": count, "bytes": total, "seconds": seconds, "listing": listing, "cpu": cpu}


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("store")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--most", type=int, default=20 << 10, help="bytes of the largest file that the open() loops read")
    parser.add_argument("--loops", default=",".join(LOOPS))
    parser.add_argument("--once", help=argparse.SUPPRESS)
    parser.add_argument("--paths", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(options.once, options.directory, options.store, options.paths, options.threads)))
        return
    import tempfile
    directory = options.directory.rstrip("/")
    with tempfile.NamedTemporaryFile() as paths_file:
        paths = listed(directory, options.most)
        paths_file.write(b"\0".join(os.fsencode(p[len(directory):]) for p in paths))
        paths_file.flush()
        if not paths:
            sys.exit(f"{directory} has no file of 1 to {options.most} bytes")
        runs = {loop: [] for loop in options.loops.split(",")}
        for _ in range(options.rounds):
            for loop in runs:
                if options.cold:
                    drop_caches()
                command = [sys.executable, __file__, directory, options.store, f"--once={loop}", f"--paths={paths_file.name}",
                           *([] if options.threads is None else [f"--threads={options.threads}"])]
                environment = dict(os.environ, **({"READ_LOOP_COLD": "1"} if options.cold else {}))
                run = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
                runs[loop].append(json.loads(run.stdout))
        base = None
        print(f"{'cold' if options.cold else 'warm'}, {options.rounds} rounds, threads: {options.threads or 'as the library'}")
        print(f"{'loop':<18}{'files':>8}{'MB':>8}{'us/file':>10}{'best':>8}{'cpu':>8}{'open+list s':>13}{'ratio':>8}")
        for loop, found in runs.items():
            last = found[-1]
            each = [run["seconds"] / run["files"] * 1e6 for run in found]
            middle = statistics.median(each)
            base = base or middle
            print(f"{loop:<18}{last['files']:>8}{last['bytes'] / 1e6:>8.1f}{middle:>10.2f}{min(each):>8.2f}"
                  f"{statistics.median(run['cpu'] / run['files'] * 1e6 for run in found):>8.2f}"
                  f"{statistics.median(run['listing'] for run in found):>13.3f}{base / middle:>8.2f}")
        if len({(found[-1]["files"], found[-1]["bytes"]) for found in runs.values()}) != 1:
            sys.exit("the loops did not read the same: is STORE a store of the files of DIRECTORY up to --most, and of no others?")


if __name__ == "__main__":
    main()
