#include "python/extension/open_file.h"

#include "core/follow/followed_file_system.h"
#include "python/extension/places.h"

namespace cffs::python {
namespace py = pybind11;
namespace {

Bytes bytes_of(const py::buffer_info& info) {
  return {static_cast<std::byte*>(info.ptr), static_cast<std::size_t>(info.size * info.itemsize)};
}

// Only memory in one piece: what memoryview.cast('B') would take.
py::buffer_info request(const py::buffer& buffer, bool writable) {
  py::buffer_info info = buffer.request(writable);
  py::ssize_t expected = info.itemsize;
  for (py::ssize_t i = info.ndim; i-- > 0;) {
    if (info.shape[static_cast<std::size_t>(i)] > 1 && info.strides[static_cast<std::size_t>(i)] != expected)
      throw py::buffer_error("the buffer is not contiguous");
    expected *= info.shape[static_cast<std::size_t>(i)];
  }
  return info;
}

Result<Reference> find_or_make(FileSystem& fs, const std::string& path, const OpenHow& how,
                               const Caller& caller) {
  for (;;) {
    auto found = find(fs, path);
    if (found && how.exclusive) return fail(EEXIST, path);
    if (found || found.error().errno_value != ENOENT || !how.create) return found;
    CFFS_TRY(const NamePlace place, find_place(fs, path));
    if (path.ends_with('/')) return fail(EISDIR, path);
    auto made = fs.mknod(place.parent->ino, place.name, S_IFREG | how.mode, 0, caller);
    if (made) return Reference(fs, *made);
    // A link that leads nowhere has the name; else somebody was faster.
    if (made.error().errno_value != EEXIST || how.exclusive) return fail(made.error());
    CFFS_TRY(const Reference there, find(fs, path, false));
    if (S_ISLNK(there->mode)) return fail(ENOENT, path);
  }
}

}  // namespace

std::shared_ptr<OpenFile> OpenFile::open(const std::shared_ptr<OpenedStore>& store, const std::string& path,
                                         const OpenHow& how) {
  const Attributes opened = store->run(path, [&](FileSystem& fs) -> Result<Attributes> {
    CFFS_TRY(Reference file, find_or_make(fs, path, how, store->caller()));
    if (S_ISDIR(file->mode)) return fail(EISDIR, path);
    if (!S_ISREG(file->mode)) return fail(EINVAL, path);
    if (how.write && !store->writes()) return fail(EROFS, path);
    if (how.truncate && file->size > 0) {
      AttributeChange change;
      change.size = 0;
      CFFS_TRY_VOID(fs.setattr(file->ino, change, store->caller()));
    }
    if (store->followed() != nullptr) CFFS_TRY_VOID(store->followed()->opened(file->ino));
    return file.release();
  });
  return std::shared_ptr<OpenFile>(new OpenFile(store, path, opened.ino, how.append));
}

OpenFile::~OpenFile() {
  if (!store_->is_forked()) close();
}

void OpenFile::close() {
  if (closed_.exchange(true) || store_->is_forked()) return;
  const py::gil_scoped_release without_gil;
  // Of a store that is closed there is nothing to give back.
  (void)store_->run_here([&](FileSystem& fs) -> Status {
    if (store_->followed() != nullptr) store_->followed()->closed(ino_);
    fs.forget(ino_, 1);
    return {};
  });
}

std::size_t OpenFile::read_into(std::uint64_t offset, const py::buffer& into) {
  const py::buffer_info info = request(into, true);
  const Bytes out = bytes_of(info);
  return store_->run(path_, [&](FileSystem& fs) { return fs.read(ino_, offset, out); });
}

py::bytes OpenFile::read(std::uint64_t offset, std::size_t bytes) {
  const std::uint64_t end = size();
  const std::size_t most =
      offset >= end ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(bytes, end - offset));
  PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(most));
  if (made == nullptr) throw py::error_already_set();
  auto owner = py::reinterpret_steal<py::bytes>(made);
  const Bytes out(reinterpret_cast<std::byte*>(PyBytes_AS_STRING(made)), most);
  std::size_t n = 0;
  while (n < most) {
    const std::size_t more =
        store_->run(path_, [&](FileSystem& fs) { return fs.read(ino_, offset + n, out.subspan(n)); });
    if (more == 0) break;  // cut off meanwhile
    n += more;
  }
  if (n == most) return owner;
  return py::bytes(PyBytes_AS_STRING(made), n);
}

std::uint64_t OpenFile::write(std::uint64_t offset, const py::buffer& data) {
  const py::buffer_info info = request(data, false);
  const ConstBytes in = bytes_of(info);
  return store_->run(path_, [&](FileSystem& fs) -> Result<std::uint64_t> {
    std::unique_lock<std::mutex> at_the_end(store_->append_mutex(), std::defer_lock);
    if (append_) {
      at_the_end.lock();
      CFFS_TRY(const Attributes now, fs.getattr(ino_));
      offset = now.size;
    }
    if (!in.empty()) CFFS_TRY_VOID(fs.write(ino_, offset, in, store_->caller()));
    return offset + in.size();
  });
}

std::uint64_t OpenFile::size() { return attributes().size; }

Attributes OpenFile::attributes() {
  return store_->run(path_, [&](FileSystem& fs) { return fs.getattr(ino_); });
}

void OpenFile::truncate(std::uint64_t size) {
  store_->run(path_, [&](FileSystem& fs) -> Status {
    AttributeChange change;
    change.size = size;
    CFFS_TRY_VOID(fs.setattr(ino_, change, store_->caller()));
    return {};
  });
}

void OpenFile::sync() {
  store_->run(path_, [&](FileSystem& fs) { return fs.fsync(ino_); });
}

}  // namespace cffs::python
