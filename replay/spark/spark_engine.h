// An analysis by Spark: sessions, transactions and frequent itemsets of logs of any size by as many machines as a master has
// (docs/SPARK.md). What analyse() does, with the same answer: reading is write_accesses() and the choice of groups is plan_of() there
// as here, so the same logs give the same plan.
//
// A Python program (cffs_spark.py, with the package cffs_on_spark) drives Spark as a child process. It is spoken to in lines of JSON
// over its standard input and output; what is large goes through files of frames (columns.h) in a directory of the run. What Spark
// itself has to say goes to a file, never to the terminal.
//
// Thread safety: one run at a time.
#pragma once

#include "replay/analysis/analysis.h"

namespace cffs::replay {

struct SparkOptions {
  std::string master = "local[*]";
  std::string place;                                          // the virtual environment with pyspark in it
  std::string program;                                        // cffs_spark.py
  std::string cffs;                                           // what tasks run; there on each worker
  std::vector<std::pair<std::string, std::string>> settings;  // of Spark
  std::string log;                   // what Spark says goes there; empty: nowhere, in the end
  std::vector<std::string> outputs;  // what is written in the end: none of the logs
};

// A problem of Spark's, too, is one sentence with its cure.
Result<Analysis> analyse_by_spark(const std::vector<std::string>& logs, const AnalysisOptions& options,
                                  const SparkOptions& spark, const WorkTeller& on_progress);

// For a handler of signals, after which the process ends: has Spark end, if it runs, and waits until it is gone with all it has started.
void end_running_spark();

}  // namespace cffs::replay
