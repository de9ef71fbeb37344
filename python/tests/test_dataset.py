"""The example as it is: python/examples/dataset.py."""

import pathlib
import pickle
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))
import dataset
from conftest import CONTENTS


def test_iterates_over_all_in_another_order_each_epoch(store_path):
    made = dataset.StoredFiles(f"{store_path}:/")
    first = list(made)
    assert dict(first) == CONTENTS and len(first) == len(CONTENTS)
    made.set_epoch(1)
    second = [path for path, _ in made]
    assert second != [path for path, _ in first] and sorted(second) == sorted(CONTENTS)
    again = pickle.loads(pickle.dumps(made))
    assert [path for path, _ in again] == second


def test_machines_share(store_path):
    shares = [[path for path, _ in dataset.StoredFiles(f"{store_path}:/d1", rank=i, world_size=2)] for i in range(2)]
    assert sorted(shares[0] + shares[1]) == sorted(path for path in CONTENTS if path.startswith("/d1/"))


def test_by_number(store_path):
    made = dataset.StoredFilesByNumber(store_path)
    assert len(made) == len(CONTENTS)
    path, data = made[5]
    assert CONTENTS[path] == data
    assert made.__getitems__([5, 7])[0] == (path, data)
