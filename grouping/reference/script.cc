// JavaScript and TypeScript: import and export declarations, import(), require(), importScripts(), new URL(...,
// import.meta.url), outside of comments, strings and regular expressions.
#include <algorithm>

#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Reference> run() {
    while (at_ < text_.size()) step();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (is_space(c)) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_, 2) == "/*") {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else if (c == '"' || c == '\'' || c == '`') {
      const std::string text = take_string();
      if (expecting_) add(text);
      expecting_ = false;
      before_ = '"';
    } else if (c == '/' && regex_may_begin()) {
      skip_regex();
    } else if (is_word(c)) {
      const std::size_t from = at_;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      word(text_.substr(from, at_ - from), from > 0 ? text_[from - 1] : ' ');
      before_ = 'a';
    } else {
      // Between the word and its string only a bracket may stand: import("x"), require("x").
      if (c != '(') expecting_ = false;
      before_ = c;
      ++at_;
    }
  }

  void word(std::string_view w, char in_front) {
    last_word_ = w;
    const bool property = in_front == '.';
    expecting_ =
        !property && (w == "import" || w == "from" || w == "require" || w == "importScripts" || w == "URL");
  }

  // Only what names a file; packages by name are found elsewhere.
  void add(const std::string& target) {
    if (target.starts_with("./") || target.starts_with("../") || target.starts_with('/') || target == "." ||
        target == "..") {
      found_.push_back({TargetForm::module, target, {}});
    } else if (last_word_ == "importScripts" || last_word_ == "URL") {
      found_.push_back({TargetForm::url, target, {}});
    }
  }

  std::string take_string() {
    const char quote = text_[at_++];
    std::string text;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\n' && quote != '`') break;
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      if (text.size() < 4096) text += text_[at_];
    }
    if (at_ < text_.size()) ++at_;
    return text;
  }

  // A slash divides behind a value, and begins a regular expression elsewhere.
  bool regex_may_begin() const {
    if (before_ == 'a') return last_word_ == "return" || last_word_ == "typeof" || last_word_ == "case";
    return before_ != ')' && before_ != ']' && before_ != '"' && before_ != '}';
  }
  void skip_regex() {
    bool in_class = false;
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      if (c == '\\')
        ++at_;
      else if (c == '[')
        in_class = true;
      else if (c == ']')
        in_class = false;
      else if (c == '/' && !in_class)
        break;
    }
    at_ = std::min(at_ + 1, text_.size());
    before_ = '"';
    expecting_ = false;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Reference> found_;
  std::string_view last_word_;
  bool expecting_ = false;
  char before_ = ';';  // last thing that was neither space nor comment; a: a word, ": a literal
};

}  // namespace

std::vector<Reference> extract_script(std::string_view text) { return Scanner(text).run(); }

}  // namespace cffs::grouping
