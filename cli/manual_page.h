// Manual pages of the commands, from what their --help is made of: each says the same as the program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cffs::cli {

// What the overview page, docs/man/cffs.1, has of the commands.
class Overview {
 public:
  Overview() = default;
  explicit Overview(const std::string& roff);

  // Of its title line; empty: there is none.
  const std::string& date() const { return date_; }
  // The paragraphs of one command, as roff; empty: there are none.
  std::string prose(const std::string& command) const;

 private:
  std::string roff_, date_;
};

// `words` are the command's, after "cffs": {"trace", "record"}.
std::string manual_page(const CLI::App& command, const std::vector<std::string>& words,
                        const Overview& overview);

}  // namespace cffs::cli
