// The hash in an entry's key: which one a store was made with, and its key. A value; the superblock remembers it.
//
// Names whose hashes are equal share a row, and only so many may (core/fs/limits.h). Where somebody else than the owner may
// make names, only a hash whose key they do not know keeps them from making such names (docs/adr/0020-names-are-hashed-with-a-key.md).
#pragma once

#include "core/base/checksum.h"
#include "core/base/siphash.h"
#include "core/table/key.h"

namespace cffs {

// Never renumber: on disk.
enum class NameHashId : std::uint32_t { xxh3_64 = 1, siphash_2_4 = 2 };

inline bool known(NameHashId id) { return id == NameHashId::xxh3_64 || id == NameHashId::siphash_2_4; }

class NameHash {
 public:
  // XXH3-64: of stores from before there was a key.
  static NameHash unkeyed() { return {NameHashId::xxh3_64, {}}; }
  static NameHash keyed(const SipKey& key) { return {NameHashId::siphash_2_4, key}; }
  // The same with all other bits 0: tests force collisions.
  NameHash narrowed(std::uint64_t mask) const {
    NameHash hash = *this;
    hash.mask_ = mask;
    return hash;
  }

  std::uint64_t operator()(std::string_view name) const {
    return (id_ == NameHashId::siphash_2_4 ? siphash_2_4(key_, name) : checksum(name)) & mask_;
  }
  NameHashId id() const { return id_; }
  const SipKey& key() const { return key_; }  // zeros where there is none

 private:
  NameHash(NameHashId id, const SipKey& key) : key_(key), id_(id) {}

  SipKey key_;
  std::uint64_t mask_ = ~std::uint64_t{0};
  NameHashId id_;
};

// Of an entry's row.
inline Key entry_key(const NameHash& name_hash, InodeId directory, std::string_view name) {
  // 0 belongs to the null name: an entry must not share the root's own row.
  const std::uint64_t hash = name_hash(name);
  return Key::entry(directory, hash == 0 ? 1 : hash);
}

}  // namespace cffs
