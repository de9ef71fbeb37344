#include "core/transfer/import_rules.h"

#include <fnmatch.h>

namespace cffs {
namespace {

bool fits(const std::string& pattern, std::string_view text, bool crosses) {
  return ::fnmatch(pattern.c_str(), std::string(text).c_str(), crosses ? 0 : FNM_PATHNAME) == 0;
}

}  // namespace

Excludes::Excludes(const std::vector<std::string>& patterns) {
  for (const std::string& text : patterns) {
    Pattern pattern{text, Pattern::Of::names, text.ends_with('/'), text.find("**") != std::string::npos};
    if (pattern.directories_only) pattern.text.pop_back();
    if (pattern.text.starts_with('/')) {
      pattern.of = Pattern::Of::paths;
      pattern.text.erase(0, 1);
    } else if (pattern.text.find('/') != std::string::npos) {
      pattern.of = Pattern::Of::ends;
    }
    patterns_.push_back(std::move(pattern));
  }
}

bool Excludes::matches(const Pattern& pattern, std::string_view path) {
  using Of = Pattern::Of;
  if (pattern.of == Of::names) return fits(pattern.text, path.substr(path.rfind('/') + 1), pattern.crosses);
  if (pattern.of == Of::paths) return fits(pattern.text, path, pattern.crosses);
  if (pattern.text.starts_with("**/") && fits(pattern.text.substr(3), path, true)) return true;
  for (std::size_t from = 0;;) {
    if (fits(pattern.text, path.substr(from), pattern.crosses)) return true;
    from = path.find('/', from);
    if (from++ == std::string_view::npos) return false;
  }
}

bool Excludes::match(std::string_view path, bool is_directory) const {
  for (const Pattern& pattern : patterns_) {
    if ((is_directory || !pattern.directories_only) && matches(pattern, path)) return true;
  }
  return false;
}

}  // namespace cffs
