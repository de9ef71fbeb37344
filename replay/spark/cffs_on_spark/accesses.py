"""Logs become rows of accesses, in tasks: a split of a log that is cut, or whole logs."""
import os
import re
import tempfile

import numpy
import pyarrow

from .frames import column
from .part import frames_of
from .problem import Problem

ROWS = "kind int, split long, at long, a long, stream long, file long, flag boolean, blob binary"


def batches_of_part(cffs, version, reader, format_name, logs, split, named, feed=None):
    """Rows of a part as Arrow batches. kind 0: access (a: time), 1: file (a: bytes, stream: accesses, at: its first access), 2:
    counts, 3: a problem. `named`: (what the part calls a log, what it is called)."""

    def batch(kind, rows, at, a, stream, file, flag, blobs):
        def whole(value, kind_of):
            return pyarrow.array(numpy.full(rows, value, kind_of))
        return pyarrow.RecordBatch.from_arrays(
            [whole(kind, "i4"), whole(split, "i8"), pyarrow.array(at), pyarrow.array(a), pyarrow.array(stream), pyarrow.array(file),
             pyarrow.array(flag), pyarrow.nulls(rows, pyarrow.binary()) if blobs is None else pyarrow.array(blobs, pyarrow.binary())],
            names=["kind", "split", "at", "a", "stream", "file", "flag", "blob"])

    def said(kind, text):
        none = numpy.zeros(1, "i8")
        return batch(kind, 1, none, none, none, none, none.astype("?"), [text])

    words = ["accesses", "--format", format_name]
    for option in ("stream", "below", "prefix"):
        if reader[option]:
            words += [f"--{option}={reader[option]}"]
    at = 0
    try:
        for kind, rows, stream in frames_of(cffs, version, words + ["--", *logs], feed):
            if kind == b"A":
                times, streams, files = (column(stream, "<i8", rows) for _ in range(3))
                crawlers = column(stream, "u1", rows).astype("?")
                yield batch(0, rows, numpy.arange(at, at + rows, dtype="i8"), times, streams, files, crawlers, None)
                at += rows
            elif kind == b"F":
                files, sizes, accesses, firsts = (column(stream, "<i8", rows) for _ in range(4))
                full, lengths = column(stream, "u1", rows).astype("?"), column(stream, "<u4", rows)
                yield batch(1, rows, firsts, sizes, accesses, files, full, [stream.read(n) for n in lengths.tolist()])
            else:
                text = stream.read(rows)
                if kind == b"E":
                    for theirs, ours, _ in named:
                        text = re.sub(b"^" + re.escape(theirs.encode()) + b"(?=: )", lambda _: ours.encode(), text)
                yield said({b"S": 2, b"E": 3}[kind], text)
    except Problem as problem:
        yield said(3, str(problem).encode())


def split_reader(cffs, version, reader, index_of, formats, names):
    """Parses the lines of one split, which is all that a task has."""
    def parse(batches):
        first = next(batches, None)
        while first is not None and first.num_rows == 0:
            first = next(batches, None)
        if first is None:
            return
        where, start = first.column(1)[0].as_py(), first.column(2)[0].as_py()
        index = index_of[where]

        def feed():
            batch = first
            while batch is not None:
                if batch.num_rows > 0:
                    end = batch.num_rows - 1
                    if batch.column(1)[end].as_py() != where or batch.column(2)[end].as_py() != start:
                        raise AssertionError("two splits in one task")
                    lines = batch.column(0).to_pylist()
                    lines.append(b"")
                    yield b"\n".join(lines)
                batch = next(batches, None)

        # The first split finds the format as one reader of the whole does, and counts what comes before it is known.
        format_name = reader["format"] if start == 0 else formats[index]
        yield from batches_of_part(cffs, version, reader, format_name, ["-"], index << 44 | start, [("-", *names[index])], feed())
    return parse


def whole_reader(cffs, version, reader, units):
    """Parses logs that are not split: a task for each unit, (index of its first, [(name, path or None)])."""
    def parse(batches):
        for batch in batches:
            for unit, contents in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                index, logs = units[unit]
                with tempfile.TemporaryDirectory() as scratch:
                    paths = []
                    for number, (name, path) in enumerate(logs):
                        if path is None:
                            path = os.path.join(scratch, str(number))
                            with open(path, "wb") as file:
                                file.write(contents[number])
                        paths.append(path)
                    named = [(path, name, os.path.basename(path)) for path, (name, _) in zip(paths, logs)]
                    yield from batches_of_part(cffs, version, reader, reader["format"], paths, index << 44, named)
    return parse
