// XXH3-64: the checksum of every record and extent, and the hash of names.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/bytes.h"

namespace cffs {

std::uint64_t checksum(ConstBytes bytes);
// The same of bytes that come one after the other.
class RunningChecksum {
 public:
  RunningChecksum();
  ~RunningChecksum();
  RunningChecksum(const RunningChecksum&) = delete;
  RunningChecksum& operator=(const RunningChecksum&) = delete;
  void add(ConstBytes bytes);
  std::uint64_t value() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};
inline std::uint64_t checksum(std::string_view s) { return checksum(as_bytes(s)); }

}  // namespace cffs
