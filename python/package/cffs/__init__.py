"""Stores of the file system cffs, without a mount: docs/PYTHON.md.

    import cffs

    with cffs.Store("/srv/store") as store:
        text = store.read("/etc/hosts")
        for path, data in zip(paths, store.read_many(paths)):
            ...                                   # data is a memoryview
        for paths, contents in store.batches("/train", order="shuffle", seed=epoch):
            ...

    with cffs.open("/srv/store:/etc/hosts") as file:
        ...
"""

from ._engine import CorruptionError, ForkedStoreError, version as __version__
from .store import Files, Stat, Store, format, open, split_place

__all__ = ["CorruptionError", "Files", "ForkedStoreError", "Stat", "Store", "__version__", "format", "open",
           "split_place"]
