// Names in archives that are more than ASCII.
#pragma once

#include <locale.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cffs {

inline bool is_ascii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// While it lives this thread's names are UTF-8: libarchive marks those of a zip as that, without which others take them for a code page of
// DOS. They stay the bytes that they are.
class Utf8Locale {
 public:
  Utf8Locale() : before_(::uselocale(own())) {}
  ~Utf8Locale() { (void)::uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

  // Whether it is UTF-8, and more than ASCII.
  static bool has(const std::string& name) {
    if (is_ascii(name) || own() == locale_t{}) return false;
    const Utf8Locale here;
    return std::mbstowcs(nullptr, name.c_str(), 0) != static_cast<std::size_t>(-1);
  }

 private:
  static locale_t own() {
    static const locale_t made = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    return made;
  }
  const locale_t before_;
};

}  // namespace cffs
