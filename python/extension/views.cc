#include "python/extension/views.h"

#include "python/extension/batches.h"
#include "python/extension/errors.h"

namespace cffs::python {
namespace py = pybind11;
namespace {

// What memoryviews hold: read-only, since files with the same content may share it.
class Memory {
 public:
  explicit Memory(std::shared_ptr<Buffer> buffer) : buffer_(std::move(buffer)), bytes_(buffer_->bytes()) {}
  explicit Memory(std::unique_ptr<std::string> apart) : apart_(std::move(apart)), bytes_(as_bytes(*apart_)) {}
  ConstBytes bytes() const { return bytes_; }

 private:
  std::shared_ptr<Buffer> buffer_;
  std::unique_ptr<std::string> apart_;
  ConstBytes bytes_;
};

py::object view_of(Memory&& memory) {
  const py::object owner = py::cast(new Memory(std::move(memory)), py::return_value_policy::take_ownership);
  PyObject* const view = PyMemoryView_FromObject(owner.ptr());
  if (view == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(view);
}

py::object part_of(const py::object& view, std::size_t at, std::size_t bytes) {
  const auto from = py::reinterpret_steal<py::object>(PyLong_FromSize_t(at));
  const auto to = py::reinterpret_steal<py::object>(PyLong_FromSize_t(at + bytes));
  const auto slice = py::reinterpret_steal<py::object>(PySlice_New(from.ptr(), to.ptr(), nullptr));
  PyObject* const part = slice ? PyObject_GetItem(view.ptr(), slice.ptr()) : nullptr;
  if (part == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(part);
}

}  // namespace

py::list views_of(ReadBatch& batch, const std::function<std::string(std::size_t)>& path, Problems problems) {
  const std::byte* const begin = batch.buffer->bytes().data();
  const py::object whole = view_of(Memory(batch.buffer));
  py::list views(batch.contents.size());
  for (std::size_t i = 0; i < batch.contents.size(); ++i) {
    BatchReader::Content& content = batch.contents[i];
    py::object view;
    if (content.error) {
      if (problems == Problems::raised) raise(*content.error, path(i));
      view = exception_of(*content.error, path(i));
    } else if (content.apart) {
      content.apart->resize(content.bytes);
      view = view_of(Memory(std::move(content.apart)));
    } else if (content.bytes == 0) {
      view = part_of(whole, 0, 0);
    } else {
      view = part_of(whole, static_cast<std::size_t>(content.data - begin), content.bytes);
    }
    PyList_SET_ITEM(views.ptr(), static_cast<Py_ssize_t>(i), view.release().ptr());
  }
  return views;
}

void define_views(py::module_& module) {
  py::class_<Memory>(module, "Memory", py::buffer_protocol()).def_buffer([](const Memory& memory) {
    const ConstBytes bytes = memory.bytes();
    return py::buffer_info(const_cast<std::byte*>(bytes.data()), 1,
                           py::format_descriptor<std::uint8_t>::format(), 1,
                           {static_cast<py::ssize_t>(bytes.size())}, {py::ssize_t{1}}, true);
  });
}

}  // namespace cffs::python
