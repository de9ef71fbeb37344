"""Closed sets of a part's transactions, in tasks (grouping/mining/closed.h)."""
import struct

import numpy
import pyarrow

from .frames import blobs, column, frame_of, lists_of
from .part import frames_of
from .problem import Problem


def itemset_frames(batches):
    for batch in batches:
        if batch.num_rows:
            lengths, items = lists_of(batch.column(0))
            support = batch.column(1).to_numpy().astype("<u8")
            yield blobs(frame_of(b"I", [support, numpy.zeros(batch.num_rows, "<u8"), lengths]) + items.tobytes(), batch.num_rows)


def conditional_rows(rank_of, parts):
    """(part, number, ranks) of each transaction for each part that one of its frequent items is in."""
    def deal(batches):
        ranks_of = rank_of.value
        for batch in batches:
            lengths, items = lists_of(batch.column(1))
            rank = ranks_of[items]
            row = numpy.repeat(numpy.arange(batch.num_rows), lengths)
            row, rank = row[rank >= 0], rank[rank >= 0]
            order = numpy.lexsort((rank, row))
            row, rank = row[order], rank[order]
            offsets = numpy.searchsorted(row, numpy.arange(batch.num_rows + 1)).astype("i4")
            pairs = numpy.unique(row.astype("i8") * parts + rank % parts)
            lists = pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(rank.astype("i4")))
            for at in range(0, len(pairs), 1 << 14):
                some = pairs[at:at + (1 << 14)]
                rows = pyarrow.array(some // parts)
                yield pyarrow.RecordBatch.from_arrays(
                    [pyarrow.array((some % parts).astype("i4")), batch.column(0).take(rows), lists.take(rows)],
                    names=["part", "number", "ranks"])
    return deal


def closed_miner(cffs, version, bounds, parts, originals):
    """Mines each part, whose rows come one after the other in their order. count -1: a sentence."""
    def mine(batches):
        items_of = originals.value
        ahead = []  # batches of one part each, a part's next to each other

        def pieces():
            for batch in batches:
                part = batch.column(0).to_numpy()
                edges = [0, *(numpy.nonzero(numpy.diff(part))[0] + 1).tolist(), batch.num_rows]
                for a, b in zip(edges, edges[1:]):
                    if b > a:
                        yield int(part[a]), batch.slice(a, b - a)

        source = pieces()
        ahead.append(next(source, None))
        while ahead[0] is not None:
            part = ahead[0][0]

            def feed():
                yield struct.pack("<QQQIII", *bounds, parts, part, len(items_of))
                while ahead[0] is not None and ahead[0][0] == part:
                    batch = ahead[0][1]
                    lengths, ranks = lists_of(batch.column(2))
                    yield frame_of(b"T", [batch.column(1).to_numpy().astype("<u8"), lengths]) + ranks.tobytes()
                    ahead[0] = next(source, None)

            try:
                for kind, rows, stream in frames_of(cffs, version, ["closed"], feed()):
                    if kind == b"E":
                        yield blobs(stream.read(rows), -1)
                        return
                    supports, lasts, lengths = column(stream, "<u8", rows), column(stream, "<u8", rows), column(stream, "<u4", rows)
                    items = items_of[column(stream, "<u4", int(lengths.sum()))].astype("<u4")
                    yield blobs(frame_of(b"I", [supports, lasts, lengths]) + items.tobytes(), rows)
            except Problem as problem:
                yield blobs(str(problem).encode(), -1)
                return
    return mine
