"""Frames of columns, as cffs itself writes and reads them (replay/spark/columns.h)."""
import struct

import numpy
import pyarrow

BLOBS = "count long, blob binary"  # rows of frames, and how many rows there are in each


def frame_of(kind, columns):
    return kind + struct.pack("<I", len(columns[0])) + b"".join(c.tobytes() for c in columns)


def column(stream, dtype, rows):
    data = stream.read(numpy.dtype(dtype).itemsize * rows)
    return numpy.frombuffer(data, dtype)


def lists_of(array):
    """Lengths and values of a list column."""
    offsets = array.offsets.to_numpy()
    return numpy.diff(offsets).astype("<u4"), array.values.to_numpy()[offsets[0]:offsets[-1]].astype("<u4")


def blobs(of, rows=1):
    return pyarrow.RecordBatch.from_arrays([pyarrow.array([rows], pyarrow.int64()), pyarrow.array([of], pyarrow.binary())],
                                           names=["count", "blob"])
