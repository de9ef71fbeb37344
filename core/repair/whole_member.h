// Whether an object has all of a member, as its checksum says. An error: memory or descriptors were short, and nothing is known of it.
#pragma once

#include <memory>

#include "core/composite/large_member.h"
#include "core/object/object_store.h"

namespace cffs {

// An object that could not be opened has none.
inline Result<bool> has_whole_member(const Result<std::shared_ptr<Object>>& object, const Extent& extent) {
  const Status read = object
                          ? visit_member(**object, extent, [](std::uint64_t, ConstBytes) { return Status(); })
                          : Status(fail(object.error()));
  if (!read && read.error().is_shortage()) return fail(read.error());
  return read.has_value();
}

}  // namespace cffs
