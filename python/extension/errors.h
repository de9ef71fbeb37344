// The engine's errors as Python's: OSError with the errno and the path concerned, so FileNotFoundError, FileExistsError and the like come
// by themselves.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "core/base/error.h"

namespace cffs::python {

// cffs.CorruptionError and cffs.ForkedStoreError, both OSErrors.
void define_errors(pybind11::module_& module);

// With the GIL held. `path`: a place in a store, or a store's.
[[noreturn]] void raise(const Error& error, const std::string& path);
[[noreturn]] void raise_forked();
// The exception itself, for lists of them.
pybind11::object exception_of(const Error& error, const std::string& path);

template <typename T>
T value_of(Result<T>&& result, const std::string& path) {
  if (!result) raise(result.error(), path);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace cffs::python
