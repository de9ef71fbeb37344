#include "core/base/printable.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace cffs {
namespace {

// The length of the well-formed UTF-8 sequence that the bytes begin with, and what it means; 0: none (RFC 3629).
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

Character first_character(std::string_view bytes) {
  const auto at = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(bytes[i]); };
  const std::uint32_t lead = at(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) return {};
  std::uint32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3f);
  }
  const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {length, code};
}

// Controls; what turns the direction of writing or takes no room, which makes one name look like another; what is no character.
bool is_shown(std::uint32_t c) {
  if (c < 0x20 || c == '\\' || (c >= 0x7f && c < 0xa0) || c == 0xad) return false;
  if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f))
    return false;
  if (c == 0x061c || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb)) return false;
  if ((c >= 0xe000 && c <= 0xf8ff) || c >= 0xe0000) return false;  // private, tags
  return (c & 0xfffe) != 0xfffe && !(c >= 0xfdd0 && c <= 0xfdef);
}

}  // namespace

std::string printable(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const Character c = first_character(name);
    const std::size_t taken = c.bytes == 0 ? 1 : c.bytes;
    if (c.bytes > 0 && is_shown(c.code)) {
      text += name.substr(0, taken);
    } else {
      for (const char byte : name.substr(0, taken)) {
        std::array<char, 8> escaped{};
        (void)std::snprintf(escaped.data(), escaped.size(), "\\x%02x", static_cast<unsigned char>(byte));
        text += escaped.data();
      }
    }
    name.remove_prefix(taken);
  }
  return text;
}

}  // namespace cffs
