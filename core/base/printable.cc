#include "core/base/printable.h"

#include <array>
#include <cstdio>

namespace cffs {

std::string printable(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u < 0x7f && c != '\\') {
      text += c;
    } else {
      std::array<char, 8> escaped{};
      (void)std::snprintf(escaped.data(), escaped.size(), "\\x%02x", u);
      text += escaped.data();
    }
  }
  return text;
}

}  // namespace cffs
