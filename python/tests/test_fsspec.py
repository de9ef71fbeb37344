"""cffs:// as a file system of fsspec's, and fsspec's own tests of that where it brings them (2023.10 and later)."""

import pickle

import pytest

fsspec = pytest.importorskip("fsspec")
import cffs
from cffs.fsspec import CffsFileSystem
from conftest import CONTENTS

fsspec.register_implementation("cffs", CffsFileSystem, clobber=True)  # of a build tree, which has no entry points

try:
    from fsspec.tests import abstract
except ImportError:
    abstract = None


@pytest.fixture
def reading(store_path):
    fs = CffsFileSystem(store_path, skip_instance_cache=True)
    yield fs
    fs.close()


def test_urls(store_path):
    url = f"cffs://{store_path}:/d3/f3"
    with fsspec.open(url) as file:
        assert file.read() == CONTENTS["/d3/f3"]
    fs, path = fsspec.core.url_to_fs(url)
    assert path == "/d3/f3" and fs.store == str(store_path) and fs.unstrip_protocol(path) == url
    assert fs.cat("/d3/f3", start=2, end=5) == CONTENTS["/d3/f3"][2:5]
    fs.close()
    assert fs.cat("/d3/f3") == CONTENTS["/d3/f3"]  # opened again
    fs.close()


def test_names(reading):
    assert reading.ls("/", detail=False) == [f"/d{i}" for i in range(7)]
    assert set(reading.find("/")) == set(CONTENTS) | {"/d0/link"}
    assert "/d1/f1" in reading.glob("/d1/f?") and reading.du("/d1") > 0
    info = reading.info("/d0/link")
    assert info["type"] == "file" and info["destination"] == "f7" and info["size"] == len(CONTENTS["/d0/f7"])
    assert reading.isdir("/d0") and reading.isfile("/d0/f7") and not reading.exists("/d0/x")
    with pytest.raises(FileNotFoundError):
        reading.info("/d0/x")


def test_many_with_one_call(reading):
    names = ["/d1/f1", "/d2/f2", "/d3/f3"]
    assert reading.cat(names) == {name: CONTENTS[name] for name in names}
    assert reading.cat("/d4", recursive=True) == {n: c for n, c in CONTENTS.items() if n.startswith("/d4/")}
    assert reading.cat(names + ["/x"], on_error="omit") == {name: CONTENTS[name] for name in names}
    with pytest.raises(FileNotFoundError):
        reading.cat(names + ["/x"])


def test_read_only_says_so(reading):
    for change in (lambda: reading.pipe("/new", b""), lambda: reading.rm("/d1/f1"), lambda: reading.mkdir("/x/y")):
        with pytest.raises(OSError, match="Read-only"):
            change()


def test_it_travels(reading):
    again = pickle.loads(pickle.dumps(reading))
    assert again.cat("/d3/f3") == CONTENTS["/d3/f3"]
    again.close()


def test_writing(empty_store):
    fs = CffsFileSystem(empty_store, mode="r+", skip_instance_cache=True)
    with fs.open("/a/b/c", "w") as file:
        file.write("text")
    fs.pipe({"/a/1": b"1", "/a/2": b"2"})
    fs.mv("/a/1", "/a/3")
    fs.cp("/a/b", "/copy", recursive=True)
    fs.close()
    with cffs.Store(empty_store) as store:
        assert {p: store.read(p) for p in store.files().paths} == {
            "/a/2": b"2", "/a/3": b"1", "/a/b/c": b"text", "/copy/c": b"text"}


def test_a_url_that_was_read_does_not_keep_others_from_writing(empty_store):
    with cffs.Store(empty_store, "r+") as store:
        store.write("/a", b"text")
    with fsspec.open(f"cffs://{empty_store}:/a") as file:
        assert file.read() == b"text"
        writer = CffsFileSystem(empty_store, mode="r+", skip_instance_cache=True)
        with pytest.raises(OSError, match="in use"):  # that file is being read
            writer.pipe("/b", b"more")
    writer.pipe("/b", b"more")
    writer.close()
    with fsspec.open(f"cffs://{empty_store}:/b") as file:
        assert file.read() == b"more"


if abstract is None:

    def test_suite():
        pytest.skip(f"fsspec {fsspec.__version__} brings no tests of its own; pip install './python[test]' has one that does")

else:

    class Fixtures(abstract.AbstractFixtures):
        @pytest.fixture(scope="class")
        def fs(self, tmp_path_factory):
            path = tmp_path_factory.mktemp("suite") / "store"
            cffs.format(path)
            fs = CffsFileSystem(path, mode="r+", skip_instance_cache=True)
            yield fs
            fs.close()

        @pytest.fixture
        def fs_path(self):
            return "/"

    class TestCopy(Fixtures, abstract.AbstractCopyTests):
        pass

    class TestGet(Fixtures, abstract.AbstractGetTests):
        pass

    class TestPut(Fixtures, abstract.AbstractPutTests):
        pass

    if hasattr(abstract, "AbstractPipeTests"):

        class TestPipe(Fixtures, abstract.AbstractPipeTests):
            pass

    if hasattr(abstract, "AbstractOpenTests"):

        class TestOpen(Fixtures, abstract.AbstractOpenTests):
            pass
