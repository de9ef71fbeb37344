// Pending removals: an object that no durable row needs, under (0x41 tag, its number, kind); the value is empty. Written
// before an object is made and erased by the batch that first names it, or written by the batch that stops naming it.
#pragma once

#include <compare>
#include <optional>

#include "core/table/key.h"

namespace cffs {

struct PendingRemoval {
  // Lower half of the key. Never renumber: on disk.
  enum class Kind : std::uint64_t { composite = 1, blob = 2 };

  Kind kind = Kind::composite;
  std::uint64_t number = 0;
  friend auto operator<=>(const PendingRemoval&, const PendingRemoval&) = default;

  static PendingRemoval of(CompositeId id) { return {Kind::composite, id.value}; }
  static PendingRemoval of_blob(InodeId ino) { return {Kind::blob, ino.value}; }
  Key key() const { return Key::tagged(KeyTag::pending_removal, number, static_cast<std::uint64_t>(kind)); }
};

// nullopt: no such row, or a kind that this program does not know and leaves alone.
inline std::optional<PendingRemoval> decode_pending_removal(Key key) {
  const auto kind = static_cast<PendingRemoval::Kind>(key.lower);
  const bool known = kind == PendingRemoval::Kind::composite || kind == PendingRemoval::Kind::blob;
  if (key.tag() != KeyTag::pending_removal || !known) return {};
  return PendingRemoval{kind, key.number()};
}

}  // namespace cffs
