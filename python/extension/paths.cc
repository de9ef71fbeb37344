#include "python/extension/paths.h"

#include <string_view>

namespace cffs::python {
namespace py = pybind11;

std::string path_bytes(py::handle path) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw py::error_already_set();
  const auto owner = py::reinterpret_steal<py::object>(encoded);
  return {PyBytes_AS_STRING(encoded), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded))};
}

py::object path_object(const std::string& path) {
  PyObject* const made = PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

}  // namespace cffs::python
