// Whether the table still has all of a file's inline data: what is missing would read as zeros, and a row may say where its value was. An
// error: memory or descriptors were short, and nothing is known of it.
#pragma once

#include <algorithm>

#include "core/fs/store_format.h"
#include "core/table/inode.h"
#include "core/table/table.h"

namespace cffs {

inline Result<bool> has_inline_data(Table& table, const Inode& inode) {
  for (std::uint64_t at = 0; at < inode.size; at += kChunkBytes) {
    const auto value = table.get(Key::data(inode.ino, at / kChunkBytes));
    if (!value && value.error().is_shortage()) return fail(value.error());
    if (!value || !*value) return false;
    if ((*value)->size() != std::min<std::uint64_t>(kChunkBytes, inode.size - at)) return false;
  }
  return true;
}

}  // namespace cffs
