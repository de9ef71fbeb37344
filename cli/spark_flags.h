// The flags of an analysis by Spark, and where what it needs is.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "replay/spark/spark_engine.h"

namespace cffs::cli {

struct SparkFlags {
  std::string master = "local[*]", place, log;
  std::vector<std::string> settings;
  bool given = false;  // any of them
};

void add_spark_flags(CLI::App& command, SparkFlags& flags);
// The program beside this one, in the build tree or installed; CFFS_SPARK_PROGRAM and CFFS_SPARK name others.
Result<replay::SparkOptions> spark_options(const SparkFlags& flags, const std::vector<std::string>& logs);

}  // namespace cffs::cli
