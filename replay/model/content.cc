#include "replay/model/content.h"

#include <algorithm>
#include <cstring>

namespace cffs::replay {
namespace {

// splitmix64's finaliser.
std::uint64_t word_of(std::uint64_t stamp, std::uint64_t index) {
  std::uint64_t z = stamp * 0x9e3779b97f4a7c15u + index * 0xd1b54a32d192ed03u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((z ^ (z >> 31)) & 0x1f1f1f1f1f1f1f1fu) | 0x4040404040404040u;
}

template <typename Visit>
void each_word(std::uint64_t stamp, std::uint64_t offset, std::size_t size, const Visit& visit) {
  std::size_t at = 0;
  while (at < size) {
    const std::uint64_t position = offset + at;
    const std::uint64_t word = stamp == 0 ? 0 : word_of(stamp, position / 8);
    const std::size_t skip = position % 8;
    const std::size_t n = std::min<std::size_t>(8 - skip, size - at);
    char bytes[8];
    std::memcpy(bytes, &word, 8);
    if (!visit(at, bytes + skip, n)) return;
    at += n;
  }
}

}  // namespace

void fill_content(std::uint64_t stamp, std::uint64_t offset, std::span<char> out) {
  each_word(stamp, offset, out.size(), [&](std::size_t at, const char* bytes, std::size_t n) {
    std::memcpy(out.data() + at, bytes, n);
    return true;
  });
}

bool is_content(std::uint64_t stamp, std::uint64_t offset, std::span<const char> bytes) {
  bool same = true;
  each_word(stamp, offset, bytes.size(), [&](std::size_t at, const char* expected, std::size_t n) {
    same = std::memcmp(bytes.data() + at, expected, n) == 0;
    return same;
  });
  return same;
}

}  // namespace cffs::replay
