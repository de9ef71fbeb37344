// How a row is named in messages.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "core/table/key.h"

namespace cffs {

// "ff00000000000000 0000000000000001", as `cffs dump` shows it.
inline std::string key_text(Key key) {
  std::array<char, 40> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx %016llx", static_cast<unsigned long long>(key.upper),
                      static_cast<unsigned long long>(key.lower));
  return text.data();
}

}  // namespace cffs
