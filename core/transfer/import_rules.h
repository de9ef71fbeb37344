// What an import does with what is there already, and what it leaves out.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace cffs {

// Patterns as of rsync(1): without a slash (but at the end) one is for names anywhere; else for paths, from the source on where it begins
// with a slash, or for their ends; a slash at the end: directories alone. ** crosses slashes. What is in a directory that is left out is,
// too.
class Excludes {
 public:
  Excludes() = default;
  explicit Excludes(const std::vector<std::string>& patterns);
  // `path`: within the source, "a/b". Directories above it have been asked for.
  bool match(std::string_view path, bool is_directory) const;
  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    std::string text;  // without slashes at both ends
    enum class Of { names, ends, paths } of = Of::names;
    bool directories_only = false, crosses = false;
  };
  static bool matches(const Pattern& pattern, std::string_view path);
  std::vector<Pattern> patterns_;
};

struct ImportRules {
  bool update = false;    // what differs is replaced; else refused
  bool checksum = false;  // files differ by their content; else by size and time of change
  bool erase = false;     // what is there and not in the source goes
  Excludes excludes;
  const std::atomic<bool>* stop =
      nullptr;  // once true nothing more is begun, and what is half done does not come

  bool is_to_stop() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

}  // namespace cffs
