// What `cffs find` looks for: the part of find(1)'s expressions that looks at names and attributes, with find's words and find's meaning
// (docs/BROWSING.md has the list). Words that would run or change something are refused by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/fs/attributes.h"

namespace cffs {

// What an expression is asked of.
struct FoundFile {
  std::string_view name;    // the last component
  std::string_view path;    // as it is printed
  std::string_view inside;  // from the store's root on, "/usr/bin"; -path is asked of both
  const Attributes& attributes;
  std::function<bool()> is_empty_directory;  // asked of directories alone
};

struct FoundVerdict {
  std::vector<char> prints;  // what ends each printing of the path: '\n' or '\0'
  bool prune = false, quit = false;
};

class FindExpression {
 public:
  // Times of the files that -newer names: given as it was written.
  using TimeOf = std::function<Result<std::int64_t>(const std::string& file)>;
  // `usage`: what is wrong with which word. No words: every file is printed.
  static Result<FindExpression> parse(const std::vector<std::string>& words, std::int64_t now_ns,
                                      const TimeOf& time_of);
  // Whether the words begin one: places come before.
  static bool begins(const std::string& word);

  FindExpression(FindExpression&&) noexcept;
  FindExpression& operator=(FindExpression&&) noexcept;
  ~FindExpression();

  FoundVerdict ask(const FoundFile& file) const;
  unsigned least_depth() const { return least_depth_; }
  unsigned most_depth() const { return most_depth_; }

 private:
  class Parser;
  struct Node;
  FindExpression();
  std::unique_ptr<Node> root_;
  unsigned least_depth_ = 0;
  unsigned most_depth_ = ~0u;
};

}  // namespace cffs
