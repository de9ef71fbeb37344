// Pending removals: what no durable row needs, under (0x41 tag, its number, kind). Objects: the value is empty; written before
// one is made and erased by the batch that first names it, or written by the batch that stops naming it. What a file in use
// has in the table although it has no name: the value is its inode, with the attributes that it has now, and the size and home
// that tell which chunks go.
#pragma once

#include <compare>
#include <optional>

#include "core/table/key.h"

namespace cffs {

struct PendingRemoval {
  // Lower half of the key. Never renumber: on disk.
  enum class Kind : std::uint64_t { composite = 1, blob = 2, nameless = 3 };

  Kind kind = Kind::composite;
  std::uint64_t number = 0;
  friend auto operator<=>(const PendingRemoval&, const PendingRemoval&) = default;

  static PendingRemoval of(CompositeId id) { return {Kind::composite, id.value}; }
  static PendingRemoval of_blob(InodeId ino) { return {Kind::blob, ino.value}; }
  static PendingRemoval of_nameless(InodeId ino) { return {Kind::nameless, ino.value}; }
  bool is_object() const { return kind != Kind::nameless; }
  Key key() const { return Key::tagged(KeyTag::pending_removal, number, static_cast<std::uint64_t>(kind)); }
};

// nullopt: no such row, or a kind that this program does not know and leaves alone.
inline std::optional<PendingRemoval> decode_pending_removal(Key key) {
  const auto kind = static_cast<PendingRemoval::Kind>(key.lower);
  const bool known = kind == PendingRemoval::Kind::composite || kind == PendingRemoval::Kind::blob ||
                     kind == PendingRemoval::Kind::nameless;
  if (key.tag() != KeyTag::pending_removal || !known) return {};
  return PendingRemoval{kind, key.number()};
}

}  // namespace cffs
