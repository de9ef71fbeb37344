"""Files and numbered sessions, as frames."""
import numpy
import pyarrow
from pyspark import TaskContext

from .frames import blobs, frame_of, lists_of


def file_frames(batches):
    for batch in batches:
        if batch.num_rows:
            by_name = {name: batch.column(at) for at, name in enumerate(batch.schema.names)}
            paths = by_name["path"].to_pylist()
            columns = [by_name[name].to_numpy().astype("<u8") for name in ("file", "bytes", "accesses", "g")]
            columns += [numpy.zeros(len(paths), "u1"), numpy.array([len(p) for p in paths], "<u4")]
            yield blobs(frame_of(b"F", columns) + b"".join(paths), len(paths))


def numbered(firsts):
    def number(batches):
        at = firsts.get(TaskContext.get().partitionId(), 0)
        for batch in batches:
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array(numpy.arange(at, at + batch.num_rows, dtype="i8")), batch.column(0)],
                                                  names=["number", "items"])
            at += batch.num_rows
    return number


def transaction_frames(batches):
    for batch in batches:
        if batch.num_rows:
            yield blobs(frame_of(b"T", [batch.column(0).to_numpy().astype("<u8"), *lists_of(batch.column(1))[:1]]) +
                        lists_of(batch.column(1))[1].tobytes(), batch.num_rows)
