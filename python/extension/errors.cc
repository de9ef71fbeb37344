#include "python/extension/errors.h"

#include <cstring>

#include "python/extension/paths.h"

namespace cffs::python {
namespace py = pybind11;
namespace {

// Made once, with the module; the interpreter has one of it.
PyObject* corruption_error = nullptr;
PyObject* forked_error = nullptr;

PyObject* make_error(py::module_& module, const char* name, const char* text) {
  const std::string full = std::string("cffs.") + name;
  PyObject* const made = PyErr_NewExceptionWithDoc(full.c_str(), text, PyExc_OSError, nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.add_object(name, py::reinterpret_borrow<py::object>(made));
  return made;
}

}  // namespace

void define_errors(py::module_& module) {
  corruption_error =
      make_error(module, "CorruptionError", "Bytes of the store contradict their checksum or their format.");
  forked_error =
      make_error(module, "ForkedStoreError",
                 "The store was opened before this process was forked; it has to be opened again.");
}

py::object exception_of(const Error& error, const std::string& path) {
  std::string text = std::strerror(error.errno_value);
  if (error.kind != ErrorKind::os) text = error.message();
  // What the engine calls the thing is more than the path only where it is something else.
  if (error.kind == ErrorKind::os && !error.context.empty() && error.context != path)
    text += ": " + error.context;
  PyObject* const type = error.kind == ErrorKind::corruption ? corruption_error : PyExc_OSError;
  return py::reinterpret_borrow<py::object>(type)(error.errno_value, text, path_object(path));
}

void raise(const Error& error, const std::string& path) {
  const py::object exception = exception_of(error, path);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

void raise_forked() {
  const py::object exception = py::reinterpret_borrow<py::object>(forked_error)(
      EBADF, "this store was opened before this process was forked; open it again in the child");
  PyErr_SetObject(forked_error, exception.ptr());
  throw py::error_already_set();
}

}  // namespace cffs::python
