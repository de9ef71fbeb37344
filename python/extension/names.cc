#include "python/extension/names.h"

#include <optional>

#include "python/extension/paths.h"
#include "python/extension/places.h"

namespace cffs::python {
namespace py = pybind11;
namespace {

template <typename Change>
void change_attributes(OpenedStore& store, const std::string& path, const Change& change) {
  store.run(path, [&](FileSystem& fs) -> Status {
    CFFS_TRY(const Reference file, find(fs, path));
    AttributeChange wanted;
    change(wanted);
    CFFS_TRY_VOID(fs.setattr(file->ino, wanted, store.caller()));
    return {};
  });
}

py::list entries(OpenedStore& store, py::handle at) {
  struct Listed {
    std::string name;
    Attributes attributes;
  };
  const std::string path = path_bytes(at);
  const auto listed = store.run(path, [&](FileSystem& fs) -> Result<std::vector<Listed>> {
    CFFS_TRY(const Reference directory, find(fs, path));
    std::vector<Listed> found;
    CFFS_TRY_VOID(fs.readdir(directory->ino, 0, false, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..")
        found.push_back({std::string(entry.name), entry.attributes});
      return true;
    }));
    return found;
  });
  py::list result(listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    result[i] = py::make_tuple(path_object(listed[i].name), attributes_tuple(listed[i].attributes));
  }
  return result;
}

void make_directory(OpenedStore& store, py::handle at, mode_t mode) {
  const std::string path = path_bytes(at);
  store.run(path, [&](FileSystem& fs) -> Status {
    CFFS_TRY(const NamePlace place, find_place(fs, path));
    CFFS_TRY(const Attributes made, fs.mkdir(place.parent->ino, place.name, mode, store.caller()));
    fs.forget(made.ino, 1);
    return {};
  });
}

void remove(OpenedStore& store, py::handle at, bool directory) {
  const std::string path = path_bytes(at);
  store.run(path, [&](FileSystem& fs) -> Status {
    CFFS_TRY(const NamePlace place, find_place(fs, path));
    return directory ? fs.rmdir(place.parent->ino, place.name) : fs.unlink(place.parent->ino, place.name);
  });
}

void rename(OpenedStore& store, py::handle from, py::handle to, bool replace) {
  const std::string path = path_bytes(from), new_path = path_bytes(to);
  store.run(path, [&](FileSystem& fs) -> Status {
    CFFS_TRY(const NamePlace place, find_place(fs, path));
    CFFS_TRY(const NamePlace new_place, find_place(fs, new_path));
    const auto mode = replace ? RenameMode::replace : RenameMode::no_replace;
    return fs.rename(place.parent->ino, place.name, new_place.parent->ino, new_place.name, mode,
                     store.caller());
  });
}

void make_symlink(OpenedStore& store, py::handle target, py::handle at) {
  const std::string to = path_bytes(target), path = path_bytes(at);
  store.run(path, [&](FileSystem& fs) -> Status {
    CFFS_TRY(const NamePlace place, find_place(fs, path));
    CFFS_TRY(const Attributes made, fs.symlink(place.parent->ino, place.name, to, store.caller()));
    fs.forget(made.ino, 1);
    return {};
  });
}

}  // namespace

py::tuple attributes_tuple(const Attributes& a) {
  return py::make_tuple(a.mode, a.ino.value, a.nlink, a.uid, a.gid, a.rdev, a.size, a.allocated, a.atime_ns,
                        a.mtime_ns, a.ctime_ns);
}

void define_names(StoreClass& store) {
  store.def("stat", [](OpenedStore& s, py::handle at, bool follow) {
    const std::string path = path_bytes(at);
    return attributes_tuple(s.run(path, [&](FileSystem& fs) -> Result<Attributes> {
      CFFS_TRY(const Reference file, find(fs, path, follow));
      return *file;
    }));
  });
  store.def("entries", &entries);
  store.def("mkdir", &make_directory);
  store.def("unlink", [](OpenedStore& s, py::handle at) { remove(s, at, false); });
  store.def("rmdir", [](OpenedStore& s, py::handle at) { remove(s, at, true); });
  store.def("rename", &rename);
  store.def("symlink", &make_symlink);
  store.def("readlink", [](OpenedStore& s, py::handle at) {
    const std::string path = path_bytes(at);
    return path_object(s.run(path, [&](FileSystem& fs) -> Result<std::string> {
      CFFS_TRY(const Reference file, find(fs, path, false));
      return fs.readlink(file->ino);
    }));
  });
  store.def("fsync", [](OpenedStore& s, py::handle at) {
    const std::string path = path_bytes(at);
    s.run(path, [&](FileSystem& fs) -> Status {
      CFFS_TRY(const Reference file, find(fs, path));
      return fs.fsync(file->ino);
    });
  });
  store.def("sync", [](OpenedStore& s) { s.run(s.path(), [](FileSystem& fs) { return fs.sync(); }); });
  store.def("statvfs", [](OpenedStore& s) {
    const SpaceInfo space = s.run(s.path(), [](FileSystem& fs) { return fs.statfs(); });
    return py::make_tuple(space.total_bytes, space.free_bytes, space.available_bytes);
  });
  store.def("chmod", [](OpenedStore& s, py::handle at, mode_t mode) {
    change_attributes(s, path_bytes(at), [&](AttributeChange& c) { c.mode = mode & 07777; });
  });
  store.def("truncate", [](OpenedStore& s, py::handle at, std::uint64_t size) {
    change_attributes(s, path_bytes(at), [&](AttributeChange& c) { c.size = size; });
  });
  store.def("utime", [](OpenedStore& s, py::handle at, std::int64_t atime_ns, std::int64_t mtime_ns) {
    change_attributes(s, path_bytes(at), [&](AttributeChange& c) {
      c.atime_ns = atime_ns;
      c.mtime_ns = mtime_ns;
    });
  });
}

}  // namespace cffs::python
