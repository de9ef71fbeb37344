// cffs._engine: the engine for Python, as small as it can be. What users see, with its defaults, is in python/package/cffs.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>

#include "core/backend/store_at.h"
#include "core/backend/store_place.h"
#include "python/extension/batches.h"
#include "python/extension/errors.h"
#include "python/extension/names.h"
#include "python/extension/open_file.h"
#include "python/extension/opened_store.h"
#include "python/extension/paths.h"

namespace cffs::python {
namespace py = pybind11;
namespace {

// Of seconds; without end is a year.
std::int64_t milliseconds(double seconds) {
  constexpr double kMost = 365.0 * 86'400;
  if (std::isnan(seconds)) throw py::value_error("a time is not a number");
  return static_cast<std::int64_t>(std::clamp(seconds, -kMost, kMost) * 1000);
}

std::shared_ptr<OpenedStore> open_store(py::handle at, bool write, bool foreign_owner,
                                        const std::string& policy, std::size_t cache_bytes,
                                        double commit_interval, double follow_wait) {
  const std::string path = path_bytes(at);
  const OpenOptions options{
      write, foreign_owner, policy, cache_bytes, milliseconds(commit_interval), milliseconds(follow_wait)};
  auto opened = [&] {
    const py::gil_scoped_release without_gil;
    return OpenedStore::open(path, options);
  }();
  return value_of(std::move(opened), path);
}

void format_store(py::handle at, const std::string& compress, bool dedupe) {
  const std::string path = path_bytes(at);
  const Status done = [&]() -> Status {
    const py::gil_scoped_release without_gil;
    CFFS_TRY(const Compression compression, parse_compression(compress));
    StoreFormat format = usual_format(compression);
    format.dedupe = dedupe;
    CFFS_TRY(const auto objects, open_store_at(path));
    return FileSystem::format(*objects, format, SystemClock());
  }();
  value_of(Status(done), path);
}

void define_files(py::module_& module, StoreClass& store) {
  py::class_<OpenFile, std::shared_ptr<OpenFile>>(module, "File")
      .def("readinto", &OpenFile::read_into)
      .def("read", &OpenFile::read)
      .def("write", &OpenFile::write)
      .def("size", &OpenFile::size)
      .def("stat", [](OpenFile& file) { return attributes_tuple(file.attributes()); })
      .def("truncate", &OpenFile::truncate)
      .def("sync", &OpenFile::sync)
      .def("close", &OpenFile::close);
  store.def("open", [](const std::shared_ptr<OpenedStore>& s, py::handle at, bool read, bool write,
                       bool create, bool exclusive, bool truncate, bool append, mode_t mode) {
    return OpenFile::open(s, path_bytes(at), {read, write, create, exclusive, truncate, append, mode});
  });
}

}  // namespace
}  // namespace cffs::python

PYBIND11_MODULE(_engine, module) {
  using namespace cffs::python;
  namespace py = pybind11;
  module.doc() = "The engine of cffs; use it by the package cffs.";
  module.attr("version") = CFFS_VERSION;
  define_errors(module);
  module.def("open_store", &open_store);
  module.def("format_store", &format_store);
  module.def("is_store", [](py::handle at) {
    const std::string path = path_bytes(at);
    const py::gil_scoped_release without_gil;
    return cffs::is_store_at(path);
  });
  module.def("split_place", [](py::handle at) {
    const std::string text = path_bytes(at);
    const auto place = [&] {
      const py::gil_scoped_release without_gil;
      return cffs::split_store_place(text);
    }();
    return py::make_tuple(path_object(place.store), place.has_path ? path_object(place.path) : py::none());
  });
  StoreClass store(module, "Store");
  store
      .def("close",
           [](OpenedStore& s) {
             if (s.is_forked()) return;
             const cffs::Status done = [&] {
               const py::gil_scoped_release without_gil;
               return s.close();
             }();
             value_of(cffs::Status(done), s.path());
           })
      .def("consolidate",
           [](OpenedStore& s) { s.run(s.path(), [&](cffs::FileSystem&) { return s.consolidate(); }); })
      .def_property_readonly("closed", &OpenedStore::is_closed)
      .def_property_readonly("forked", &OpenedStore::is_forked)
      .def_property_readonly("writes", &OpenedStore::writes)
      .def_property_readonly("path", [](OpenedStore& s) { return path_object(s.path()); })
      .def("take_messages", [](OpenedStore& s) {
        py::list lines;
        for (const std::string& line : s.take_messages()) lines.append(path_object(line));
        return lines;
      });
  define_names(store);
  define_files(module, store);
  define_batches(module, store);
}
