// The one place where the engine's errors become errno values for the kernel.
#pragma once

#include "core/base/error.h"

namespace cffs {

inline int errno_of(const Error& error) {
  if (error.kind == ErrorKind::corruption) return EIO;
  return error.errno_value > 0 ? error.errno_value : EIO;
}
inline int errno_of(const Status& status) { return status ? 0 : errno_of(status.error()); }

}  // namespace cffs
