"""A run: what was asked, Spark's session for it, and what the steps need of both."""
import os
import sys
import time

from .cutting import cut
from .master import is_small, master_there, session_at
from .mining import mine
from .reading import read


class Run:
    def __init__(self, q, answer):
        self.q, self.answer, self.began = q, answer, time.monotonic()
        self.cffs, self.version = q["cffs"], q["version"]
        master_there(q["master"])
        self.small = is_small(q["logs"])
        self.spark, self.ours = session_at(q, self.small)
        self.step(f"Spark {self.spark.version} at {q['master']}")
        self.cores = max(self.spark.sparkContext.defaultParallelism, 2)
        self.accesses = self.sessions = None

    def step(self, text):
        print(f"{time.monotonic() - self.began:8.2f} s  {text}", file=sys.stderr, flush=True)
        self.answer({"step": text})

    def scratch(self, name):
        return os.path.join(self.q["scratch"], name)

    def written(self, frame, name):
        """A DataFrame of blobs as a file, in its order."""
        with open(self.scratch(name), "wb") as file:
            for row in frame.toLocalIterator(prefetchPartitions=True):
                file.write(row.blob)
        return self.scratch(name)

    def read(self):
        told, self.accesses = read(self)
        return told

    def cut(self):
        told, self.sessions = cut(self, self.accesses)
        return told

    def mine(self, ask):
        return mine(self, self.sessions, ask)
