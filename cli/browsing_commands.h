// What ls, cat, find and du have in common: output that nobody may read any more, complaints, places as arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"

namespace cffs::cli {

// A message about a place that was named on the command line, or a file below it; names of strangers among them.
void complain_of(const std::string& place, const Error& error);

void put(std::string_view bytes);
void put_line(const std::string& text);
// What nobody reads any more, or no room takes: the rest need not be read. main() says why.
bool output_failed();

// A file that has a reference while this lives.
class Referred {
 public:
  Referred(FileSystem& fs, const Attributes& file) : fs_(fs), ino_(file.ino) {}
  ~Referred() { fs_.forget(ino_, 1); }
  Referred(const Referred&) = delete;
  Referred& operator=(const Referred&) = delete;

 private:
  FileSystem& fs_;
  const InodeId ino_;
};

CLI::Option* add_places(CLI::App& command, std::vector<std::string>& places, const std::string& what);
void add_foreign_owner(CLI::App& command, bool& foreign);

}  // namespace cffs::cli
