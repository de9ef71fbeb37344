// Work that is whole wherever it stops, in a thread that nobody catches exceptions for: memory that runs out in it is its error, ENOMEM, and not the
// process's end. Where a stop would leave something half-done that can not be told from what is done, core/base/undisturbed.h is for it.
#pragma once

#include <cerrno>
#include <new>
#include <string>

#include "core/base/error.h"

namespace cffs {

template <typename Work>
auto within_memory(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

// Error::message(), or less where there is no memory for it.
inline std::string message_within_memory(const Error& error) noexcept {
  try {
    return error.message();
  } catch (const std::bad_alloc&) {
    return "no memory";  // short: it is kept in place
  }
}

}  // namespace cffs
