// Reading what a device has been asked for already, and mostly brings soon (adr/0034).
#pragma once

#include <utility>

#include "core/object/blocking_section.h"
#include "core/object/object_store.h"

namespace cffs {

// As Object::read_at(). Who receives requests is not held up for longer than a moment.
inline Result<std::size_t> read_arriving(const Object& object, std::uint64_t offset, Bytes out) {
  Result<std::optional<std::size_t>> arrived;
  const auto ready = [&] {
    arrived = object.try_read_at(offset, out);
    return !arrived || *arrived;
  };
  if (!watch_device(ready)) return object.read_at(offset, out);
  CFFS_TRY(const auto n, std::move(arrived));
  return *n;
}

}  // namespace cffs
