// Paths as Python has them (str, bytes, os.PathLike) and as the engine does: bytes. The encoding is os.fsencode()'s, so any name comes
// back as it went.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace cffs::python {

// TypeError, ValueError (a null byte), UnicodeEncodeError.
std::string path_bytes(pybind11::handle path);
// A str.
pybind11::object path_object(const std::string& path);

}  // namespace cffs::python
