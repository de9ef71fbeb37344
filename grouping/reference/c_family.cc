// C, C++ and Objective-C: #include "...", #import "...", outside of block comments. Angle brackets mean the system's.
#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {

std::vector<Reference> extract_c(std::string_view rest) {
  std::vector<Reference> found;
  bool in_comment = false;
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    if (in_comment) {
      const std::size_t end = line.find("*/");
      if (end == std::string_view::npos) continue;
      in_comment = false;
      line.remove_prefix(end + 2);
    }
    std::string_view text = trimmed(line);
    if (text.starts_with('#')) {
      text = trimmed(text.substr(1));
      const bool include = text.starts_with("include") || text.starts_with("import");
      const std::size_t open = text.find('"');
      if (include && open != std::string_view::npos && text.find('<') > open) {
        const std::size_t close = text.find('"', open + 1);
        if (close != std::string_view::npos && close > open + 1) {
          found.push_back({TargetForm::include, std::string(text.substr(open + 1, close - open - 1)), {}});
        }
        continue;
      }
    }
    // The last comment that begins in this line and does not end there.
    const std::size_t begin = line.rfind("/*");
    in_comment = begin != std::string_view::npos && line.find("*/", begin + 2) == std::string_view::npos &&
                 line.substr(0, begin).find("//") == std::string_view::npos &&
                 line.substr(0, begin).find('"') == std::string_view::npos;
  }
  return found;
}

}  // namespace cffs::grouping
