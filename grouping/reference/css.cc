// CSS: url(...) and @import, outside of comments.
#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

// A string that begins with the quote at `at`; `at` moves behind it. Ends at a line end too, as browsers recover.
std::string take_string(std::string_view css, std::size_t& at) {
  const char quote = css[at++];
  std::string text;
  for (; at < css.size() && css[at] != quote && css[at] != '\n'; ++at) {
    if (css[at] == '\\' && at + 1 < css.size()) ++at;
    text += css[at];
  }
  if (at < css.size()) ++at;
  return text;
}

}  // namespace

std::vector<Reference> extract_css(std::string_view css) {
  std::vector<Reference> found;
  const auto add = [&](std::string_view target) {
    target = trimmed(target);
    if (!target.empty()) found.push_back({TargetForm::url, std::string(target), {}});
  };
  bool importing = false;  // behind @import: its string is a URL
  for (std::size_t at = 0; at < css.size();) {
    if (css.substr(at, 2) == "/*") {
      const std::size_t end = css.find("*/", at + 2);
      at = end == std::string_view::npos ? css.size() : end + 2;
    } else if (css[at] == '"' || css[at] == '\'') {
      const std::string text = take_string(css, at);
      if (importing) add(text);
      importing = false;
    } else if (css[at] == '@') {
      importing = same_ignoring_case(css.substr(at, 7), "@import");
      at += importing ? 7 : 1;
    } else if (lower(css[at]) == 'u' && same_ignoring_case(css.substr(at, 4), "url(") &&
               (at == 0 || !is_word(css[at - 1]))) {
      at = skip_space(css, at + 4);
      if (at < css.size() && (css[at] == '"' || css[at] == '\'')) {
        add(take_string(css, at));
      } else {
        const std::size_t end = css.find(')', at);
        if (end == std::string_view::npos) break;
        std::string target;
        for (const char c : css.substr(at, end - at)) {
          if (c != '\\') target += c;
        }
        add(target);
        at = end;
      }
      importing = false;
    } else {
      if (css[at] == ';') importing = false;
      ++at;
    }
  }
  return found;
}

}  // namespace cffs::grouping
