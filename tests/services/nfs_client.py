#!/usr/bin/env python3
"""A client of an NFS server, by libnfs, for tests/services/nfs.sh: what a kernel's client would send, one call after the other, without a kernel that has one.

  nfs_client.py URL CASE      URL as libnfs has them: nfs://127.0.0.1/site?version=4&nfsport=2049

`session` keeps files open, says "ready" and waits for a line on stdin, "end" ends it, between its steps, while the script outside takes away what is below them."""
import ctypes
import errno
import os
import sys

libnfs = ctypes.CDLL('libnfs.so.13')
pointer, number = ctypes.c_void_p, ctypes.c_uint64
libnfs.nfs_init_context.restype, libnfs.nfs_get_error.restype = pointer, ctypes.c_char_p


class Url(ctypes.Structure):
    _fields_ = [('server', ctypes.c_char_p), ('path', ctypes.c_char_p), ('file', ctypes.c_char_p)]


class Stat(ctypes.Structure):
    _fields_ = [(name, number) for name in ('dev ino mode nlink uid gid rdev size blksize blocks atime mtime ctime atime_ns mtime_ns ctime_ns used'.split())]


libnfs.nfs_parse_url_dir.restype = ctypes.POINTER(Url)


class Client:
    made = 0

    def __init__(self, url):
        self.context = pointer(libnfs.nfs_init_context())
        self.piece = 2000 if 'version=4' in url else 1 << 17  # libnfs fails to encode more
        Client.made += 1
        name = f'{os.getpid()}-{Client.made}'
        libnfs.nfs4_set_client_name(self.context, name.encode())  # each is somebody else for the server
        libnfs.nfs4_set_verifier(self.context, name.rjust(8)[-8:].encode())
        parsed = libnfs.nfs_parse_url_dir(self.context, url.encode())
        if not parsed:
            raise OSError(errno.EINVAL, self.said())
        self.call('mount', parsed.contents.server, parsed.contents.path)

    def said(self):
        return (libnfs.nfs_get_error(self.context) or b'').decode()

    def call(self, name, *arguments):
        result = getattr(libnfs, 'nfs_' + name)(self.context, *arguments)
        if result < 0:
            raise OSError(-result, f'{name}: {self.said()}')
        return result

    def open(self, path, flags=os.O_RDONLY):
        handle = pointer()
        self.call('open', path.encode(), ctypes.c_int(flags), ctypes.byref(handle))
        return handle

    def read(self, handle, length, offset=0):
        buffer, got = ctypes.create_string_buffer(length), 0
        while got < length:
            piece = ctypes.create_string_buffer(min(length - got, 1 << 18))
            n = self.call('pread', handle, number(offset + got), number(len(piece)), piece)
            if n == 0:
                break
            buffer[got:got + n] = piece.raw[:n]
            got += n
        return buffer.raw[:got]

    def write(self, handle, data, offset=0):
        done = 0
        while done < len(data):
            piece = data[done:done + self.piece]
            done += self.call('pwrite', handle, number(offset + done), number(len(piece)), piece)

    def stat(self, path):
        found = Stat()
        self.call('stat64', path.encode(), ctypes.byref(found))
        return found

    def put(self, path, data):
        handle = self.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.write(handle, data)
        self.call('fsync', handle)
        self.call('close', handle)

    def get(self, path):
        handle = self.open(path)
        data = self.read(handle, self.stat(path).size)
        self.call('close', handle)
        return data


def wait(word):
    print(word, flush=True)
    if sys.stdin.readline() in ('', 'end\n'):
        sys.exit()


def fails(code, call, *arguments):
    try:
        call(*arguments)
    except OSError as failure:
        assert failure.errno == code, failure
        return
    raise AssertionError(f'{arguments} succeeded')


small = {f'/work/small{i}': bytes([i % 251]) * (i * 37) for i in range(1, 60)}
large = bytes(range(256)) * (12 << 12)


def use(client):
    """What programs do with files, and what the server answers."""
    client.call('mkdir', b'/work')
    for path, data in small.items():
        client.put(path, data)
    client.put('/work/large', large)
    for path, data in small.items():
        assert client.get(path) == data, path
    assert client.get('/work/large') == large
    before = client.stat('/work/small7').ino
    client.call('rename', b'/work/small7', b'/work/renamed')
    assert client.stat('/work/renamed').ino == before
    fails(errno.ENOENT, client.stat, '/work/small7')
    client.call('rename', b'/work/renamed', b'/work/small8')  # over another one
    assert client.get('/work/small8') == small['/work/small7']
    client.call('link', b'/work/small9', b'/work/linked')
    assert client.stat('/work/linked').nlink == 2
    client.call('symlink', b'small9', b'/work/symlink')
    handle = client.open('/work/small10', os.O_RDWR)
    client.write(handle, b'appended', len(small['/work/small10']))
    client.call('close', handle)
    assert client.get('/work/small10') == small['/work/small10'] + b'appended'
    client.call('truncate', b'/work/small11', number(5))
    assert client.get('/work/small11') == small['/work/small11'][:5]
    client.call('chmod', b'/work/small12', ctypes.c_int(0o600))
    assert client.stat('/work/small12').mode & 0o7777 == 0o600
    fails(errno.ENOTEMPTY, client.call, 'rmdir', b'/work')
    fails(errno.EEXIST, client.call, 'mkdir', b'/work')
    client.call('unlink', b'/work/small13')
    fails(errno.ENOENT, client.stat, '/work/small13')


def read(client):
    """What `use` has left."""
    changed = ('/work/small7', '/work/small8', '/work/small10', '/work/small11', '/work/small13')
    for path, data in small.items():
        if path not in changed:
            assert client.get(path) == data, path
    assert client.get('/work/large') == large


def session(client):
    """Handles of files that stay open, while what is below the server goes and comes."""
    client.put(f'/kept{os.getpid()}', b'before')
    handles = {path: client.open(path) for path in (f'/kept{os.getpid()}', '/a.h', '/deep/b.h')}
    first = {path: client.read(handle, 1000) for path, handle in handles.items()}
    inodes = {path: client.stat(path).ino for path in handles}
    while True:
        wait('ready')
        for path, handle in handles.items():
            assert client.read(handle, 1000) == first[path], path
            assert client.stat(path).ino == inodes[path], path


if __name__ == '__main__':
    address, case = sys.argv[1:]
    if case == 'use':
        use(Client(address))
    elif case == 'read':
        read(Client(address))
    elif case == 'session':
        session(Client(address))
    else:
        sys.exit(f'no case {case}')
