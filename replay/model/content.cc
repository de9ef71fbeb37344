#include "replay/model/content.h"

#include <cstring>

namespace cffs::replay {
namespace {

// One multiplication a word: contents must differ, not be random, and checking them must cost less than reading them.
struct Words {
  explicit Words(std::uint64_t stamp)
      : base((stamp ^ (stamp >> 31)) * 0xbf58476d1ce4e5b9u), zero(stamp == 0) {}
  std::uint64_t at(std::uint64_t index) const {
    const std::uint64_t z = (base + index) * 0x9e3779b97f4a7c15u;
    return zero ? 0 : ((z ^ (z >> 29)) & 0x1f1f1f1f1f1f1f1fu) | 0x4040404040404040u;
  }
  const std::uint64_t base;
  const bool zero;
};

// Visits whole words in one tight loop, what is before and behind them byte by byte.
template <typename Byte, typename Word>
void each(std::uint64_t offset, std::size_t size, const Byte& byte, const Word& word) {
  std::size_t at = 0;
  for (; at < size && (offset + at) % 8 != 0; ++at) byte(at);
  for (; at + 8 <= size; at += 8) word(at);
  for (; at < size; ++at) byte(at);
}

char byte_of(const Words& words, std::uint64_t position) {
  const std::uint64_t word = words.at(position / 8);
  char bytes[8];
  std::memcpy(bytes, &word, 8);
  return bytes[position % 8];
}

}  // namespace

void fill_content(std::uint64_t stamp, std::uint64_t offset, std::span<char> out) {
  const Words words(stamp);
  each(
      offset, out.size(), [&](std::size_t at) { out[at] = byte_of(words, offset + at); },
      [&](std::size_t at) {
        const std::uint64_t word = words.at((offset + at) / 8);
        std::memcpy(out.data() + at, &word, 8);
      });
}

bool is_content(std::uint64_t stamp, std::uint64_t offset, std::span<const char> bytes) {
  const Words words(stamp);
  std::uint64_t difference = 0;
  each(
      offset, bytes.size(),
      [&](std::size_t at) {
        difference |= static_cast<std::uint64_t>(bytes[at] ^ byte_of(words, offset + at)) & 0xff;
      },
      [&](std::size_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, 8);
        difference |= word ^ words.at((offset + at) / 8);
      });
  return difference == 0;
}

}  // namespace cffs::replay
