"""A store as a file system of fsspec's: cffs:///srv/store:/path, or fsspec.filesystem("cffs", store="/srv/store")."""

import os
import stat as _stat
import threading
import weakref
from datetime import datetime, timezone

from fsspec.spec import AbstractFileSystem

from .store import Store, split_place

_KINDS = {_stat.S_IFDIR: "directory", _stat.S_IFREG: "file", _stat.S_IFLNK: "link"}


class CffsFileSystem(AbstractFileSystem):
    """
    store   the store; URLs name it before their last colon
    mode    "r" or "r+", as of cffs.Store

    The store is opened by the first operation, and again by the first in a child of fork(). It is open until close(), which makes
    what was written durable, as sync() of a cffs.Store does; before, that takes some seconds.
    """

    protocol = "cffs"
    root_marker = "/"
    _readers = weakref.WeakValueDictionary()  # by id: instances with mode "r"

    def __init__(self, store, mode="r", **options):
        super().__init__(store=store, mode=mode, **options)
        self.store, self.mode = os.fspath(store), mode
        self._how = {k: options[k] for k in ("policy", "foreign_owner", "cache_bytes", "commit_interval", "wait")
                     if k in options}
        self._open_store, self._mutex = None, threading.Lock()
        self._files = weakref.WeakSet()
        if mode == "r":
            self._readers[id(self)] = self

    @property
    def opened(self):
        with self._mutex:
            if self._open_store is None or self._open_store.forked or self._open_store.closed:
                if self.mode != "r":
                    self._close_idle_readers()
                self._open_store = Store(self.store, self.mode, **self._how)
            return self._open_store

    def close(self):
        with self._mutex:
            store, self._open_store = self._open_store, None
        if store is not None and not store.forked:
            store.close()

    def _close_idle_readers(self):
        """fsspec keeps the instance of a URL that was read; its lock must not keep this process from writing."""
        for reader in list(self._readers.values()):
            if os.path.realpath(reader.store) == os.path.realpath(self.store) and all(f.closed for f in reader._files):
                reader.close()

    # --- paths ---

    @classmethod
    def _strip_protocol(cls, path):
        if isinstance(path, list):
            return [cls._strip_protocol(p) for p in path]
        path = os.fspath(path)
        if path.startswith("cffs://"):
            path = split_place(path[len("cffs://"):])[1] or ""
        return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))

    @staticmethod
    def _get_kwargs_from_urls(url):
        if not url.startswith("cffs://"):
            return {}
        store, inside = split_place(url[len("cffs://"):])
        if inside is None and not store:
            return {}
        return {"store": store}

    def unstrip_protocol(self, name):
        return f"cffs://{self.store}:{self._strip_protocol(name)}"

    # --- names ---

    def _info(self, path, found):
        return {"name": path, "type": _KINDS.get(_stat.S_IFMT(found.mode), "other"), "size": found.size,
                "mode": found.mode, "ino": found.ino, "nlink": found.nlink, "uid": found.uid, "gid": found.gid,
                "mtime": found.mtime_ns / 1e9, "created": found.ctime_ns / 1e9,
                "islink": found.is_link}

    def info(self, path, **_):
        path = self._strip_protocol(path)
        store = self.opened
        info = self._info(path, store.stat(path, follow_symlinks=False))
        if info["islink"]:
            info["destination"] = store.readlink(path)
            try:
                reached = self._info(path, store.stat(path))
                info.update(size=reached["size"], type=reached["type"])
            except OSError:
                pass  # it leads nowhere
        return info

    def ls(self, path, detail=False, **_):
        path = self._strip_protocol(path)
        info = self.info(path)
        if info["type"] != "directory":
            found = [info]
        else:
            above = path.rstrip("/")
            found = [self.info(f"{above}/{name}") if entry.is_link else self._info(f"{above}/{name}", entry)
                     for name, entry in self.opened.entries(path)]
        return found if detail else sorted(f["name"] for f in found)

    def exists(self, path, **_):
        return self.opened.exists(self._strip_protocol(path))

    def mkdir(self, path, create_parents=True, **_):
        path = self._strip_protocol(path)
        if create_parents:
            self.opened.makedirs(path)
        else:
            self.opened.mkdir(path)

    def makedirs(self, path, exist_ok=False):
        self.opened.makedirs(self._strip_protocol(path), exist_ok=exist_ok)

    def rmdir(self, path):
        self.opened.rmdir(self._strip_protocol(path))

    def _rm(self, path):
        self.opened.unlink(self._strip_protocol(path))

    rm_file = _rm

    def rm(self, path, recursive=False, maxdepth=None):
        if not isinstance(path, list):
            path = [path]
        for one in self.expand_path(path, recursive=recursive, maxdepth=maxdepth)[::-1]:
            if self.opened.stat(one, follow_symlinks=False).is_dir:
                self.rmdir(one)
            else:
                self._rm(one)

    def mv(self, path1, path2, recursive=False, maxdepth=None, **_):
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(path2):
            path2 = f"{path2.rstrip('/')}/{path1.rsplit('/', 1)[1]}"
        self.opened.rename(path1, path2)

    def created(self, path):
        return datetime.fromtimestamp(self.info(path)["created"], tz=timezone.utc)

    def modified(self, path):
        return datetime.fromtimestamp(self.info(path)["mtime"], tz=timezone.utc)

    # --- contents ---

    def _open(self, path, mode="rb", block_size=None, autocommit=True, cache_options=None, **_):
        path = self._strip_protocol(path)
        if not autocommit:
            raise NotImplementedError("cffs has no transactions")
        store = self.opened
        if "r" not in mode:
            above = self._parent(path)
            if self.mode == "r+" and not store.exists(above):
                store.makedirs(above, exist_ok=True)
        file = store.open(path, mode)
        self._files.add(file)
        return file

    def cat_file(self, path, start=None, end=None, **_):
        path = self._strip_protocol(path)
        if start is None and end is None:
            return self.opened.read(path)
        return super().cat_file(path, start, end)

    def cat(self, path, recursive=False, on_error="raise", **kwargs):
        """Many files are read with one call."""
        if "start" in kwargs or "end" in kwargs:
            return super().cat(path, recursive, on_error, **kwargs)
        paths = self.expand_path(path, recursive=recursive, **kwargs)
        if len(paths) == 1 and isinstance(path, str) and paths[0] == self._strip_protocol(path):
            return self.cat_file(paths[0])
        if recursive:
            paths = [p for p in paths if not self.isdir(p)]
        found = self.opened.read_many(paths, errors="raise" if on_error == "raise" else "return")
        return {path: content if isinstance(content, Exception) else bytes(content)
                for path, content in zip(paths, found) if on_error != "omit" or not isinstance(content, Exception)}

    def cp_file(self, path1, path2, **_):
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
            return
        with self.open(path1, "rb") as source, self.open(path2, "wb") as target:
            while block := source.read(4 << 20):
                target.write(block)

    def pipe_file(self, path, value, mode="overwrite", **_):
        with self.open(path, "xb" if mode == "create" else "wb") as file:
            file.write(value)

    def touch(self, path, truncate=True, **_):
        path = self._strip_protocol(path)
        if truncate or not self.exists(path):
            with self.open(path, "wb"):
                pass
        else:
            import time
            now = time.time_ns()
            self.opened.utime(path, ns=(now, now))

    def sign(self, path, expiration=100, **_):
        raise NotImplementedError("a store signs no URLs")
