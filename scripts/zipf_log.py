#!/usr/bin/env python3
"""An access log of any length, made up after a real site, for measuring: Common Log Format on standard output.

usage: scripts/zipf_log.py --lines=N [--files=N] [--seed=N] PLAN.db >LOG

PLAN.db is what `cffs analyze` makes of the real log. From it come the exponent of Zipf's law (the slope of accesses over rank, as logarithms,
where a file has ten accesses and more), the sizes of files, and the files of a session. A site of --files files (by itself as many as
the real one) is made of pages, each with three files of its own and two of twenty that many pages share; a session is a client that asks for
pages by Zipf's law, each with its files, some of which its cache has. Sessions begin evenly in time, 50 requests a second in all. The same
arguments give the same bytes. Needs numpy.
"""
import argparse
import sqlite3
import sys
import time

import numpy


def site_of(plan):
    rows = sqlite3.connect(f"file:{plan}?mode=ro", uri=True).execute("SELECT bytes, accesses, sessions FROM files").fetchall()
    sizes, accesses, sessions = (numpy.array(c) for c in zip(*rows))
    counts = numpy.sort(accesses[accesses >= 10])[::-1]
    exponent = -numpy.polyfit(numpy.log(numpy.arange(1, len(counts) + 1)), numpy.log(counts), 1)[0]
    total = dict(sqlite3.connect(plan).execute("SELECT name, value FROM summary").fetchall())["sessions"]
    return sizes, float(exponent), sessions.sum() / total


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("plan")
    words.add_argument("--lines", type=int, required=True)
    words.add_argument("--files", type=int, default=0)
    words.add_argument("--seed", type=int, default=1)
    o = words.parse_args()
    sizes, exponent, files_a_session = site_of(o.plan)
    draw = numpy.random.default_rng(o.seed)
    files = max(o.files or len(sizes), 40)
    pages, shared, own, most_pages = (files - 20) // 4, 20, 3, 12
    bytes_of = draw.choice(sizes, files)
    names = [f"shared/{f:02d}.gif" for f in range(shared)]
    for p in range(pages):
        names += [f"d{p % 97:02d}/page{p}.html"] + [f"d{p % 97:02d}/p{p}-{i}.gif" for i in range(own)]
    tails = [f'] "GET /{name} HTTP/1.0" 200 {size}\n'.encode() for name, size in zip(names, bytes_of)]
    members = numpy.empty((pages, 1 + own + 2), "i8")
    members[:, :1 + own] = shared + numpy.arange(pages)[:, None] * (1 + own) + numpy.arange(1 + own)
    members[:, 1 + own:] = draw.integers(0, shared, (pages, 2))
    weight = numpy.arange(1, pages + 1) ** -exponent
    popular = numpy.cumsum(weight / weight.sum())
    print(f"zipf_log: exponent {exponent:.2f}, {len(names)} files, {files_a_session:.1f} files a session", file=sys.stderr)

    out, written, window, start = sys.stdout.buffer, 0, 600, 806_000_000
    clients = max(o.lines // 100, 10)
    while written < o.lines:
        n = int(50 * window / max(files_a_session, 1))  # sessions that begin in this window
        count = numpy.clip(draw.geometric(min(1, 5 / max(files_a_session, 1)), n), 1, most_pages)
        session = numpy.repeat(numpy.arange(n), count)
        page = numpy.minimum(numpy.searchsorted(popular, draw.random(len(session))), pages - 1)
        first = numpy.repeat(draw.integers(0, window, n), count)
        at = first + draw.integers(0, window, len(session))
        wanted = draw.random((len(page), members.shape[1])) < 0.8
        wanted[:, 0] = True
        row, column = numpy.nonzero(wanted)
        when = start + at[row] + column // 2
        client = draw.integers(0, clients, n)[session[row]]
        file = members[page[row], column]
        order = numpy.argsort(when, kind="stable")
        stamps = {}
        for t in numpy.unique(when).tolist():
            stamps[t] = time.strftime(" - - [%d/%b/%Y:%H:%M:%S +0000", time.gmtime(t)).encode()
        lines = [b"10.%d.%d.%d" % (c >> 16 & 255, c >> 8 & 255, c & 255) + stamps[t] + tails[f]
                 for c, t, f in zip(client[order].tolist(), when[order].tolist(), file[order].tolist())]
        lines = lines[:o.lines - written]
        out.write(b"".join(lines))
        written += len(lines)
        start += window


if __name__ == "__main__":
    main()
