#!/usr/bin/env python3
"""A data set of many small files for training, shaped as torch.utils.data wants them; torch itself is not needed.

    python3 dataset.py STORE[:PATH]                # goes through it once and says how fast

    from torch.utils.data import DataLoader
    loader = DataLoader(StoredFiles("/srv/store:/train", transform=decode), batch_size=256, num_workers=4)
    for epoch in range(10):
        loader.dataset.set_epoch(epoch)
        for samples in loader: ...
"""

import sys
import time

import cffs


def _worker():
    """(number, count) of this process among DataLoader's workers."""
    torch = sys.modules.get("torch")  # a worker of DataLoader has it
    info = torch.utils.data.get_worker_info() if torch else None
    return (info.id, info.num_workers) if info else (0, 1)


def _as_it_is(path, data):
    return path, bytes(data)


class _Opened:
    """The store of this process: after fork() and in a new worker it is opened again."""

    def __init__(self, place):
        self.place = place
        self._store = self._files = None

    def __getstate__(self):
        return {"place": self.place, "_store": None, "_files": None}

    @property
    def files(self):
        if self._store is None or self._store.forked:
            store, inside = cffs.split_place(self.place)
            self._store = cffs.Store(store)
            self._files = self._store.files(inside or "/")
        return self._files


class StoredFiles:
    """An IterableDataset: all files once in each epoch, shuffled by neighbours that are read together, a share for each worker.

    transform(path, memoryview) makes a sample; without it samples are (path, bytes). A view that is kept keeps its batch (1 MB).
    `rank`, `world_size`: of one machine among several.
    """

    def __init__(self, place, transform=None, *, shuffle=True, seed=0, threads=2, rank=0, world_size=1):
        self._opened = _Opened(place)
        self.transform = transform or _as_it_is
        self.shuffle, self.seed, self.threads = shuffle, seed, threads
        self.rank, self.world_size, self.epoch = rank, world_size, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        number, count = _worker()
        batches = self._opened.files.batches(
            order="shuffle" if self.shuffle else "store", seed=self.seed * 1_000_003 + self.epoch,
            shard=(self.rank * count + number, self.world_size * count), threads=self.threads)
        transform = self.transform
        for paths, contents in batches:
            for path, data in zip(paths, contents):
                yield transform(path, data)


class StoredFilesByNumber:
    """A Dataset for samplers of one's own: by number, and many at once where DataLoader asks so (__getitems__)."""

    def __init__(self, place, transform=None):
        self._opened = _Opened(place)
        self.transform = transform or _as_it_is

    def __len__(self):
        return len(self._opened.files)

    def __getitem__(self, number):
        return self.__getitems__([number])[0]

    def __getitems__(self, numbers):
        files = self._opened.files
        return [self.transform(files.paths[n], data) for n, data in zip(numbers, files.read(numbers))]


# DataLoader tells the two kinds apart by class: where torch is loaded already, these are of its classes.
if "torch" in sys.modules:
    import torch.utils.data

    class StoredFiles(StoredFiles, torch.utils.data.IterableDataset):  # noqa: F811
        pass

    class StoredFilesByNumber(StoredFilesByNumber, torch.utils.data.Dataset):  # noqa: F811
        pass


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data_set = StoredFiles(sys.argv[1], transform=lambda path, data: len(data))
    begin = time.perf_counter()
    count = total = 0
    for size in data_set:
        count, total = count + 1, total + size
    took = time.perf_counter() - begin
    print(f"{count} files, {total / 1e6:.1f} MB in {took:.2f} s: {took / max(count, 1) * 1e6:.2f} us a file, "
          f"{total / 1e6 / took:.0f} MB/s")


if __name__ == "__main__":
    main()
