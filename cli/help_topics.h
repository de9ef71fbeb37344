// Short pages of cffs help that are about no single command.
#pragma once

#include <string>
#include <vector>

namespace cffs::cli {

struct HelpTopic {
  std::string name, title, text;
};
const std::vector<HelpTopic>& help_topics();

}  // namespace cffs::cli
