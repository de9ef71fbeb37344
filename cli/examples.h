// What to type, by command: shown below its --help, and where it is called without what it needs.
#pragma once

#include <CLI/CLI.hpp>

namespace cffs::cli {

// To every command that has some.
void add_examples(CLI::App& program);

}  // namespace cffs::cli
