// What the frames of one packed composite have in common, in zstd's form: each frame is compressed as if that came before it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

struct ZSTD_CDict_s;
struct ZSTD_DDict_s;

namespace cffs {

inline constexpr std::uint64_t kDictionaryBytes = 32u << 10;     // that one is made of, at most
inline constexpr std::uint64_t kLargestDictionary = 128u << 10;  // that is read

// As it lies in a composite's index: compressed by itself.
struct StoredDictionary {
  std::uint32_t plain_bytes = 0;  // 0: there is none
  std::string stored;
};

// Learnt from samples of these bytes. nullopt: they teach nothing.
std::optional<std::string> train_dictionary(std::string_view plain);
// nullopt: it would not shrink, or the library has no memory for it.
std::optional<StoredDictionary> store_dictionary(std::string_view dictionary);

// Made ready, which costs as much as a frame or two. Both are read by any thread.
class DictionaryToCompress {
 public:
  // Null: the library has no memory for it.
  static std::shared_ptr<const DictionaryToCompress> of(std::string_view dictionary, int level);
  explicit DictionaryToCompress(std::shared_ptr<ZSTD_CDict_s> ready) : ready_(std::move(ready)) {}
  const ZSTD_CDict_s* ready() const { return ready_.get(); }

 private:
  const std::shared_ptr<ZSTD_CDict_s> ready_;
};

class DictionaryToDecompress {
 public:
  // `corruption`: it is malformed. ENOMEM: there is no memory for it just now. Trusts nothing in it.
  static Result<std::shared_ptr<const DictionaryToDecompress>> of(const StoredDictionary& stored);
  explicit DictionaryToDecompress(std::shared_ptr<ZSTD_DDict_s> ready) : ready_(std::move(ready)) {}
  const ZSTD_DDict_s* ready() const { return ready_.get(); }

 private:
  const std::shared_ptr<ZSTD_DDict_s> ready_;
};

}  // namespace cffs
