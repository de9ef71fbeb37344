# What goes through the ring comes out as it went in.

# What cffs itself never does: replies from other threads, or none; a kernel that refuses after it has agreed.
case_transport() {
  check "a file system of its own" timeout 100 "$(dirname "$cffs")/ring_transport_tests"
}

case_model() {
  CFFS_TEST_TRANSPORT=ring check "random operations as a reference has them" timeout 500 "$(dirname "$cffs")/mount_model_tests"
}

case_data() {
  fresh -- --transport=ring
  check "a tree" cp -r "$source_tree" "$mnt/tree"
  check "reads as it was written" same "$source_tree" "$mnt/tree"
  check "remount" eval 'unmounted && ring && comes_by ring'
  check "cold, too" same "$source_tree" "$mnt/tree"
  check "a directory of many names" python3 - "$mnt" <<'PYTHON'
import os, sys
top = sys.argv[1] + "/many"
os.mkdir(top)
names = {"%05d" % i + "n" * (i % 240) for i in range(5000)}
for name in names:
    os.close(os.open(top + "/" + name, os.O_CREAT | os.O_WRONLY))
assert set(os.listdir(top)) == names
assert {e.name for e in os.scandir(top) if e.is_file()} == names
for name in names:
    os.unlink(top + "/" + name)
assert os.listdir(top) == []
PYTHON
  check "values and targets of every size" python3 - "$mnt" <<'PYTHON'
import os, sys
path = sys.argv[1] + "/holder"
open(path, "w").close()
for size in (0, 1, 15, 16, 4095, 4096, 4097, 20000, 65536 // 2):
    value = os.urandom(size)
    os.setxattr(path, "user.value", value)
    assert os.getxattr(path, "user.value") == value, size
for i in range(60):
    os.setxattr(path, "user." + "name" * 50 + str(i), b"x" * i)
assert len(os.listxattr(path)) == 61
for size in (1, 100, 1000, 4095):
    link = sys.argv[1] + "/link%d" % size
    os.symlink("t" * size, link)
    assert os.readlink(link) == "t" * size
fd = os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR)
os.write(fd, b"unnamed")
os.link("/proc/self/fd/%d" % fd, sys.argv[1] + "/named", src_dir_fd=os.open("/", os.O_RDONLY))
assert open(sys.argv[1] + "/named", "rb").read() == b"unnamed"
assert os.stat(sys.argv[1] + "/named").st_nlink == 1
PYTHON
  check "unmount" unmounted
  check "whole" whole
}

case_large() {
  fresh -- --transport=ring
  check "writes and reads of every size, through the caches and past them" python3 - "$mnt" <<'PYTHON'
import mmap, os, random, sys
path = sys.argv[1] + "/large"
random.seed(7)
whole = bytearray()
with open(path, "wb", buffering=0) as f:
    for size in (1 << 20, (1 << 20) + 1, (1 << 20) - 1, 1, 4095, 4097, 3 << 20, 1 << 16):
        piece = random.randbytes(size)
        whole += piece
        at = 0
        while at < size:
            at += f.write(piece[at:])
def drop(fd):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
fd = os.open(path, os.O_RDWR)
for size in (4096, 65536, 1 << 20, 5 << 20):
    drop(fd)
    read = b"".join(iter(lambda at=[0]: (lambda b: (at.__setitem__(0, at[0] + len(b)), b)[1])(os.pread(fd, size, at[0])), b""))
    assert read == whole, size
direct = os.open(path, os.O_RDWR | os.O_DIRECT)
for size in (4096, 1 << 20, 3 << 20):
    buffer = mmap.mmap(-1, size)
    n = os.preadv(direct, [buffer], 1 << 20)
    assert buffer[:n] == whole[1 << 20:(1 << 20) + n], size
    buffer[:] = random.randbytes(size)
    assert os.pwritev(direct, [buffer], 1 << 20) == size
    whole[1 << 20:(1 << 20) + size] = buffer[:]
drop(fd)
assert os.pread(fd, len(whole) + 1, 0) == whole
PYTHON
  check "unmount" unmounted
  check "whole" whole
}
