import pytest

import cffs

# Small, empty, one that a block of the table cannot hold, one beyond what composites take, names that are no UTF-8.
CONTENTS = {f"/d{i % 7}/f{i}": bytes([i % 251]) * (i * 37 % 9000) for i in range(400)}
CONTENTS["/d0/empty"] = b""
CONTENTS["/d0/large"] = bytes(range(256)) * 12000
CONTENTS["/d6/late"] = b"in no group yet"
CONTENTS["/d1/n\udcff"] = b"no UTF-8"


@pytest.fixture
def empty_store(tmp_path):
    path = tmp_path / "store"
    cffs.format(path)
    return path


def fill(path):
    with cffs.Store(path, "r+") as store:
        for name in sorted({name.rsplit("/", 1)[0] for name in CONTENTS}):
            store.mkdir(name)
        for name, data in CONTENTS.items():
            if name != "/d6/late":
                store.write(name, data)
        store.symlink("f7", "/d0/link")
        store.consolidate()
        store.write("/d6/late", b"in no group yet")


@pytest.fixture(scope="session", params=["none", "zstd"])
def store_path(tmp_path_factory, request):
    """A store that holds CONTENTS, at rest; nobody changes it."""
    path = tmp_path_factory.mktemp("stores") / "store"
    cffs.format(path, compress=request.param)
    fill(path)
    return path


@pytest.fixture
def store(store_path):
    with cffs.Store(store_path) as opened:
        yield opened
