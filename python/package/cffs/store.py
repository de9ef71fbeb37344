"""A store, its files, and what is read of many of them at once."""

import errno
import io
import os
import stat as _stat
import weakref
from collections import namedtuple

from . import _engine


class Stat(namedtuple("Stat", "mode ino nlink uid gid rdev size allocated atime_ns mtime_ns ctime_ns")):
    """What is known of a file; the st_ names are those of os.stat()."""

    __slots__ = ()
    st_mode = property(lambda self: self.mode)
    st_ino = property(lambda self: self.ino)
    st_nlink = property(lambda self: self.nlink)
    st_uid = property(lambda self: self.uid)
    st_gid = property(lambda self: self.gid)
    st_size = property(lambda self: self.size)
    st_mtime = property(lambda self: self.mtime_ns / 1e9)
    is_dir = property(lambda self: _stat.S_ISDIR(self.mode))
    is_file = property(lambda self: _stat.S_ISREG(self.mode))
    is_link = property(lambda self: _stat.S_ISLNK(self.mode))


class _RawFile(io.RawIOBase):
    """A position in an open file of the engine's."""

    def __init__(self, file, name, mode, *, readable, writable, append, owner=None):
        super().__init__()
        self._file, self.name, self.mode, self._owner = file, name, mode, owner
        self._readable, self._writable, self._append = readable, writable, append
        self._at = file.size() if append else 0

    def readable(self):
        return self._readable

    def writable(self):
        return self._writable

    def seekable(self):
        return True

    def _check(self, may, what):
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if not may:
            raise io.UnsupportedOperation(what)

    def readinto(self, into):
        self._check(self._readable, "not readable")
        count = self._file.readinto(self._at, into)
        self._at += count
        return count

    def readall(self):
        self._check(self._readable, "not readable")
        data = self._file.read(self._at, 1 << 62)
        self._at += len(data)
        return data

    def write(self, data):
        self._check(self._writable, "not writable")
        with memoryview(data) as view:
            self._at = self._file.write(self._at, view)
            return view.nbytes

    def seek(self, offset, whence=os.SEEK_SET):
        self._check(True, "")
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        at = offset + (0, self._at, self._file.size() if whence == os.SEEK_END else 0)[whence]
        if at < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), self.name)
        self._at = at
        return at

    def tell(self):
        self._check(True, "")
        return self._at

    def truncate(self, size=None):
        self._check(self._writable, "not writable")
        size = self._at if size is None else size
        self._file.truncate(size)
        return size

    def fsync(self):
        """Makes what was written durable; flush() of a file that buffers comes before it."""
        self._check(True, "")
        self._file.sync()

    def close(self):
        if not self.closed:
            super().close()
            self._file.close()
            if self._owner is not None:
                self._owner.close()


def _mode(mode):
    """(read, write, create, exclusive, truncate, append), as open() has them."""
    letters = set(mode)
    kind = letters & set("rwxa")
    if letters - set("rwxabt+") or len(mode) != len(letters) or len(kind) != 1 or {"b", "t"} <= letters:
        raise ValueError(f"invalid mode: {mode!r}")
    plus, kind = "+" in letters, kind.pop()
    return (kind == "r" or plus, kind != "r" or plus, kind != "r", kind == "x", kind == "w", kind == "a")


class Files:
    """The regular files below a directory, in order of their paths, as they were when they were listed."""

    def __init__(self, engine):
        self._files = engine

    def __len__(self):
        return len(self._files)

    @property
    def paths(self):
        return self._files.paths

    @property
    def sizes(self):
        return self._files.sizes

    @property
    def nbytes(self):
        return self._files.bytes

    def read(self, numbers, *, threads=1):
        """The contents of these files, by their numbers in `paths`: read-only memoryviews."""
        return self._files.read(numbers, threads)

    def batches(self, *, order="store", seed=0, shard=(0, 1), batch_bytes=1 << 20, batch_files=0, unit_bytes=256 << 10,
                threads=2, ahead=4):
        """All files once, many at a time: (paths, memoryviews), read ahead by threads of their own.

        order   "store": as they lie; "path"; "shuffle": by `seed`, in units of neighbours (`unit_bytes`), and each batch within
        shard   (i, n): the i-th of n shares, for workers
        """
        return self._files.batches(order, seed, unit_bytes, batch_bytes, batch_files, *shard, threads, ahead)


class Store:
    """A store that is open. Of no use in a child of fork(): open it there again (ForkedStoreError).

    mode    "r": read; beside a mount that writes, one of its last commits. "r+": read and write, alone
    """

    def __init__(self, path, mode="r", *, policy="directory", foreign_owner=False, cache_bytes=32 << 20,
                 commit_interval=5.0, wait=30.0):
        if mode not in ("r", "r+"):
            raise ValueError(f"the mode of a store is 'r' or 'r+', not {mode!r}")
        self.path, self.mode = os.fspath(path), mode
        self._writers = weakref.WeakSet()  # files that are open to be written
        self._engine = _engine.open_store(path, mode == "r+", foreign_owner, policy, cache_bytes, commit_interval, wait)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<cffs.Store {self.path!r} mode={self.mode!r}{' closed' if self.closed else ''}>"

    def close(self):
        """Everything that was written becomes durable; files that are open yet are closed, with what they had buffered."""
        problem = None
        if not self._engine.closed and not self._engine.forked:
            for file in list(self._writers):
                try:
                    if not file.closed:  # it may be the one that closes us
                        file.close()
                except Exception as error:
                    problem = problem or error
        self._engine.close()
        if problem is not None:
            raise problem

    @property
    def closed(self):
        return self._engine.closed

    @property
    def forked(self):
        return self._engine.forked

    # --- one file ---

    def open(self, path, mode="rb", buffering=-1, encoding=None, errors=None, newline=None, *, perm=0o666):
        """As the builtin open(), but "rb" by default."""
        return self._open(path, mode, buffering, encoding, errors, newline, perm=perm)

    def _open(self, path, mode, buffering=-1, encoding=None, errors=None, newline=None, *, perm=0o666, owner=None):
        read, write, create, exclusive, truncate, append = _mode(mode)
        binary = "b" in mode
        if binary and (encoding is not None or errors is not None or newline is not None):
            raise ValueError("binary mode doesn't take an encoding, errors or newline argument")
        if not binary and buffering == 0:
            raise ValueError("can't have unbuffered text I/O")
        file = self._engine.open(path, read, write, create, exclusive, truncate, append, perm)
        raw = _RawFile(file, os.fspath(path), mode, readable=read, writable=write, append=append, owner=owner)
        if buffering == 0:
            return raw  # which buffers nothing
        size = buffering if buffering > 1 else 128 << 10
        kind = io.BufferedRandom if read and write else io.BufferedWriter if write else io.BufferedReader
        buffered = kind(raw, size)
        opened = buffered if binary else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)
        if write:
            self._writers.add(opened)
        return opened

    def read(self, path):
        """The whole file: bytes."""
        file = self._engine.open(path, True, False, False, False, False, False, 0)
        try:
            return file.read(0, 1 << 62)
        finally:
            file.close()

    def write(self, path, data, *, perm=0o666):
        """The whole file, made or replaced in place."""
        with memoryview(data) as view:  # what cannot be written replaces nothing
            if not view.c_contiguous:
                raise BufferError("the buffer is not contiguous")
            file = self._engine.open(path, False, True, True, False, True, False, perm)
            try:
                file.write(0, view)
            finally:
                file.close()

    # --- many ---

    def read_many(self, paths, *, threads=1, errors="raise"):
        """The contents of these files: read-only memoryviews, most of one shared block, in the order of `paths`.

        errors  "raise": the first file that cannot be read is an exception; "return": its exception is in its place
        """
        if errors not in ("raise", "return"):
            raise ValueError(f"errors is 'raise' or 'return', not {errors!r}")
        return self._engine.read_many(paths, threads, errors == "return")

    def read_group(self, path):
        """The files of the group in which this one lies: [(path, memoryview)], with one large read."""
        return self._engine.read_group(path)

    def files(self, path="/"):
        """What is below a directory, with where it lies: for many reads (Files)."""
        return Files(self._engine.files(path))

    def batches(self, path="/", **how):
        """files(path).batches(**how)."""
        return self.files(path).batches(**how)

    # --- names ---

    def stat(self, path, *, follow_symlinks=True):
        return Stat._make(self._engine.stat(path, follow_symlinks))

    def entries(self, path="/"):
        """[(name, Stat)]."""
        return [(name, Stat._make(found)) for name, found in self._engine.entries(path)]

    def listdir(self, path="/"):
        return [name for name, _ in self._engine.entries(path)]

    def walk(self, top="/"):
        """As os.walk(), from the top down, symbolic links as files."""
        directories, files = [], []
        for name, found in self.entries(top):
            (directories if found.is_dir else files).append(name)
        yield os.fspath(top), directories, files
        for name in directories:
            yield from self.walk(os.path.join(top, name))

    def exists(self, path):
        try:
            self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def readlink(self, path):
        return self._engine.readlink(path)

    def mkdir(self, path, mode=0o777):
        self._engine.mkdir(path, mode)

    def makedirs(self, path, mode=0o777, exist_ok=False):
        path = os.fspath(path)
        above = os.path.dirname(path.rstrip("/"))
        if above.strip("/") and not self.exists(above):
            self.makedirs(above, exist_ok=True)
        try:
            self.mkdir(path, mode)
        except FileExistsError:
            if not exist_ok or not self.stat(path).is_dir:
                raise

    def symlink(self, target, path):
        self._engine.symlink(target, path)

    def rename(self, path, to):
        """To a name that may be there: it is replaced, as by os.replace()."""
        self._engine.rename(path, to, True)

    def unlink(self, path):
        self._engine.unlink(path)

    def rmdir(self, path):
        self._engine.rmdir(path)

    def chmod(self, path, mode):
        self._engine.chmod(path, mode)

    def utime(self, path, *, ns):
        self._engine.utime(path, *ns)

    def truncate(self, path, size):
        self._engine.truncate(path, size)

    def sync(self):
        """Everything that was written becomes durable."""
        self._engine.sync()

    def consolidate(self):
        """Small files that were written come to lie in groups now; else they do when their directory was quiet for two seconds."""
        self._engine.consolidate()

    def statvfs(self):
        """(total, free, available) bytes."""
        return self._engine.statvfs()

    def messages(self):
        """What the engine has said since it was asked last: lines, as the daemon's log has them."""
        return self._engine.take_messages()


def split_place(place):
    """"STORE:PATH" as the commands take it (docs/BROWSING.md): (store, path), path None where there is no colon."""
    return _engine.split_place(place)


def open(place, mode="rb", buffering=-1, encoding=None, errors=None, newline=None):
    """A file of a store: open("/srv/store:/etc/hosts"). The store is closed with it; for more than one open a Store."""
    _, write, *_ = _mode(mode)
    path, inside = _engine.split_place(place)
    if inside is None:
        raise ValueError(f"{os.fspath(place)!r} names no file: it is STORE:PATH")
    store = Store(path, "r+" if write else "r")
    try:
        return store._open(inside, mode, buffering, encoding, errors, newline, owner=store)
    except BaseException:
        store.close()
        raise


def format(path, *, compress="none", dedupe=False):
    """An empty store in a directory, which is made where it is not there. compress: "zstd[:LEVEL]", "lz4"."""
    os.makedirs(path, exist_ok=True)
    if _engine.is_store(path):
        raise FileExistsError(errno.EEXIST, "there is a store already", os.fspath(path))
    if os.listdir(path):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), os.fspath(path))
    _engine.format_store(path, compress, dedupe)
