import errno
import gc
import io
import os
import threading

import pytest

import cffs
from conftest import CONTENTS


def test_read_and_write(empty_store):
    with cffs.Store(empty_store, "r+") as store:
        store.makedirs("/a/b")
        with store.open("/a/b/text", "w", encoding="utf-8", newline="\n") as file:
            file.write("eins\nzwei\n")
        with store.open("/a/b/text", "ab") as file:
            assert file.write(b"drei\n") == 5
        with store.open("a/b/text", "r+b") as file:
            file.seek(0, os.SEEK_END)
            assert file.tell() == 15
            file.seek(5)
            file.write(b"ZWEI")
        with pytest.raises(FileExistsError):
            store.open("/a/b/text", "xb")
        store.rename("/a/b/text", "/a/text")
        store.rmdir("/a/b")
    with cffs.Store(empty_store) as store:
        with store.open("/a/text", "r", encoding="utf-8") as file:
            assert list(file) == ["eins\n", "ZWEI\n", "drei\n"]
        assert store.stat("/a/text").size == 15 and store.stat("/a").is_dir
        assert store.listdir("/") == ["a"]
    with cffs.open(f"{empty_store}:/a/text") as file:
        assert file.read() == b"eins\nZWEI\ndrei\n"
    with cffs.open(f"{empty_store}:/a/more", "wb") as file:
        file.write(b"x" * 300000)
    with cffs.open(f"{empty_store}:/a/more", "rb") as file:
        file.seek(299999)
        assert file.read() == b"x" and file.read() == b""


def test_errors_are_oserrors(store, store_path, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        store.open("/d0/nothing")
    assert caught.value.errno == errno.ENOENT and caught.value.filename == "/d0/nothing"
    with pytest.raises(IsADirectoryError):
        store.read("/d0")
    with pytest.raises(NotADirectoryError):
        store.read("/d0/f7/x")
    with pytest.raises(OSError) as caught:
        store.write("/d0/new", b"")
    assert caught.value.errno == errno.EROFS
    with pytest.raises(OSError) as caught:
        cffs.Store(tmp_path)
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(ValueError):
        cffs.open(str(store_path))
    with pytest.raises(ValueError):
        cffs.Store(store_path, "w")
    with pytest.raises(ValueError):
        store.open("/d0/f7", "rw")
    with pytest.raises(io.UnsupportedOperation):
        store.open("/d0/f7").write(b"")
    other = cffs.Store(store_path)
    file = other.open("/d0/f7")
    other.close()
    with pytest.raises(OSError) as caught:
        file.read()
    assert caught.value.errno == errno.EBADF
    file.close()


def test_walk_finds_all(store):
    found = {os.path.join(top, name) for top, _, names in store.walk("/") for name in names}
    assert found == set(CONTENTS) | {"/d0/link"}
    assert store.files("/").paths == sorted(CONTENTS, key=os.fsencode)
    assert store.readlink("/d0/link") == "f7" and store.stat("/d0/link").is_file


@pytest.mark.parametrize("threads", [1, 3])
def test_read_many(store, threads):
    names = list(CONTENTS) + ["/d0/link", "/d0/f7"]
    views = store.read_many(names, threads=threads)
    assert [bytes(v) for v in views] == [CONTENTS[n] for n in CONTENTS] + [CONTENTS["/d0/f7"]] * 2
    assert all(v.readonly and v.contiguous for v in views)
    assert store.read_many([]) == []


def test_read_many_where_one_is_missing(store):
    names = ["/d0/f7", "/gone", "/d1/f1", "/d0"]
    with pytest.raises(FileNotFoundError) as caught:
        store.read_many(names)
    assert caught.value.filename == "/gone"
    views = store.read_many(names, errors="return")
    assert bytes(views[0]) == CONTENTS["/d0/f7"] and bytes(views[2]) == CONTENTS["/d1/f1"]
    assert isinstance(views[1], FileNotFoundError) and isinstance(views[3], IsADirectoryError)


def test_views_outlive_the_store(store_path):
    store = cffs.Store(store_path)
    views = store.read_many(["/d1/f1", "/d2/f2"])
    kept = views[1]
    store.close()
    del store, views
    gc.collect()
    assert bytes(kept) == CONTENTS["/d2/f2"]


def test_memory_is_not_used_again_while_it_is_seen(store):
    kept = store.read_many(list(CONTENTS)[:50])
    for _ in range(20):
        store.read_many(list(CONTENTS)[50:100])
    assert [bytes(v) for v in kept] == list(CONTENTS.values())[:50]


def test_group(store):
    group = dict(store.read_group("/d3/f3"))
    assert len(group) > 1, "what is consolidated is in groups"
    assert all(bytes(data) == CONTENTS[path] for path, data in group.items())
    alone = store.read_group("/d0/large")
    assert [(path, bytes(data)) for path, data in alone] == [("/d0/large", CONTENTS["/d0/large"])]


@pytest.mark.parametrize("order", ["store", "path", "shuffle"])
def test_batches_have_each_file_once(store, order):
    seen = {}
    for paths, contents in store.batches("/", order=order, batch_bytes=100_000, threads=2):
        for path, data in zip(paths, contents):
            assert path not in seen
            seen[path] = bytes(data)
    assert seen == CONTENTS


def test_shuffles_and_shards(store):
    files = store.files("/")

    def order(**how):
        return [p for paths, _ in files.batches(order="shuffle", unit_bytes=8000, **how) for p in paths]

    assert order(seed=1) == order(seed=1) != order(seed=2)
    shares = [order(seed=1, shard=(i, 3)) for i in range(3)]
    assert sorted(sum(shares, [])) == sorted(CONTENTS) and all(shares)
    with pytest.raises(ValueError):
        files.batches(shard=(3, 3))
    assert bytes(files.read([-1])[0]) == CONTENTS[files.paths[-1]]
    with pytest.raises(IndexError):
        files.read([len(files)])


def test_batches_that_nobody_finishes(store):
    batches = store.batches("/", batch_files=1, threads=2, ahead=3)
    next(batches)
    batches.close()
    with pytest.raises(StopIteration):
        next(batches)
    other = store.batches("/", batch_files=1, threads=2)
    next(other)
    del other


def test_a_file_that_was_written_since_it_was_listed(empty_store):
    with cffs.Store(empty_store, "r+") as store:
        for i in range(50):
            store.write(f"/f{i}", b"old" * 100)
        store.consolidate()
    with cffs.Store(empty_store, "r+") as store:
        files = store.files("/")
        assert len(store.read_group("/f7")) == 50
        new = {"/f7": b"new, and longer" * 1000, "/f8": b"short", "/f10": b"new" * 100}
        for name, data in new.items():
            store.write(name, data)
        with store.open("/f11", "r+b") as file:
            file.write(b"NEW")
        new["/f11"] = b"NEW" + b"old" * 99
        store.unlink("/f9")
        assert [bytes(v) for v in store.read_many(list(new))] == list(new.values())
        assert [store.read(name) for name in new] == list(new.values())
        with pytest.raises(FileNotFoundError):
            store.read_many(["/f9"])
        # As it was listed, or as it is by now; never a mixture.
        for name, data in zip(new, files.read([files.paths.index(name) for name in new])):
            assert bytes(data) in (new[name], b"old" * 100)


def test_damage_is_an_error(empty_store):
    with cffs.Store(empty_store, "r+") as store:
        for i in range(50):
            store.write(f"/f{i}", b"%04d" % i * 300)
        store.consolidate()
    damaged = 0
    for folder, _, names in os.walk(empty_store / "composites"):
        for name in names:
            with open(os.path.join(folder, name), "r+b") as file:
                at = file.read().find(b"0033" * 300)
                if at >= 0:
                    file.seek(at + 600)
                    file.write(b"!")
                    damaged += 1
    assert damaged
    with cffs.Store(empty_store) as store:
        names = [f"/f{i}" for i in range(50)]
        found = store.read_many(names, errors="return")
        assert isinstance(found[33], cffs.CorruptionError), found[33]
        assert all(bytes(found[i]) == b"%04d" % i * 300 for i in range(50) if i != 33)


def test_format_leaves_what_is_there(empty_store, tmp_path):
    with pytest.raises(FileExistsError):
        cffs.format(empty_store)
    with pytest.raises(OSError) as caught:
        cffs.format(tmp_path)
    assert caught.value.errno == errno.ENOTEMPTY
    with pytest.raises(OSError, match="no way to compress"):
        cffs.format(tmp_path / "other", compress="foo")


def test_in_use(empty_store):
    with cffs.Store(empty_store, "r+") as writer:
        writer.write("/a", b"first")
        writer.sync()
        with pytest.raises(OSError) as caught:
            cffs.Store(empty_store, "r+")
        assert caught.value.errno == errno.EBUSY and str(os.getpid()) in str(caught.value)


def test_fork(store, store_path):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"?"
        try:
            try:
                store.read("/d0/f7")
            except cffs.ForkedStoreError:
                with cffs.Store(store_path) as again:
                    said = again.read("/d0/f7")
        finally:
            os.write(writer, said)
            os._exit(0)
    os.close(writer)
    assert os.read(reader, 1 << 20) == CONTENTS["/d0/f7"] and os.waitpid(child, 0)[1] == 0
    os.close(reader)


def test_threads(store):
    problems = []

    def work(number):
        names = list(CONTENTS)[number::4]
        for _ in range(5):
            if [bytes(v) for v in store.read_many(names)] != [CONTENTS[n] for n in names]:
                problems.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems


def test_sequences_that_make_their_items(store):
    """They are gone when the next one is asked for; with PYTHONMALLOC=debug that is a crash, not luck."""
    files = store.files("/")
    expected = [bytes(view) for view in files.read(list(range(len(files))))]

    class Numbers:
        def __len__(self):
            return len(files)

        def __getitem__(self, i):
            if i >= len(files):
                raise IndexError(i)
            return int(str(10**6 + i)) - 10**6

    class Paths(Numbers):
        def __getitem__(self, i):
            return files.paths[super().__getitem__(i)] + ""

    assert [bytes(view) for view in files.read(range(len(files)))] == expected
    assert [bytes(view) for view in files.read(Numbers())] == expected
    assert [bytes(view) for view in store.read_many(Paths())] == expected
    for wrong in (["x"], [None], [1.5], "12"):
        with pytest.raises(TypeError):
            files.read(wrong)
    with pytest.raises(IndexError):
        files.read([2**63])
    with pytest.raises(TypeError):
        store.read_many("/d0/f7")


def test_what_cannot_be_written_replaces_nothing(empty_store):
    with cffs.Store(empty_store, "r+") as store:
        store.write("/a", b"kept")
        for wrong in ("text", None, 5, [1]):
            with pytest.raises(TypeError):
                store.write("/a", wrong)
        with pytest.raises(BufferError):
            store.write("/a", memoryview(b"abcd")[::2])
        assert store.read("/a") == b"kept" and store.listdir("/") == ["a"]


def test_a_store_closes_its_files(empty_store):
    with cffs.Store(empty_store, "r+") as store:
        file = store.open("/a", "wb")
        file.write(b"buffered")
        text = store.open("/b", "w", encoding="utf-8")
        text.write("this, too")
        store.open("/c", "rb+" if store.exists("/c") else "wb").write(b"and of nobody")
        gc.collect()
    assert file.closed and text.closed
    with cffs.Store(empty_store) as store:
        assert [store.read(path) for path in ("/a", "/b", "/c")] == [b"buffered", b"this, too", b"and of nobody"]
