// From access logs to a plan: reading, sessions, mining, in one call.
#pragma once

#include <memory>

#include "core/base/work_step.h"
#include "grouping/mining/adjacency.h"
#include "grouping/mining/mine_groups.h"
#include "grouping/plan.h"
#include "replay/analysis/access_reader.h"

namespace cffs::replay {

enum class Crawlers { apart, mixed };

struct AnalysisOptions {
  AccessReaderOptions reader;
  grouping::GroupMiningOptions mining;
  std::optional<std::int64_t> session_gap_ms;  // nullopt: 30 min for web logs, 5 s for traces
  std::size_t session_max_files = 400;
  Crawlers crawlers = Crawlers::apart;
  bool adjacency = false;  // the paper's variant; `one_stream` mixes all clients in one, as it did
  bool one_stream = false;
  grouping::AdjacencyOptions adjacent;
  std::optional<std::uint64_t> rest_bytes;  // for the plan
  double max_bad = 0.1;                     // share of malformed lines from which on the analysis is refused
};

struct Analysis {
  grouping::Plan plan;
  grouping::Savings savings;
  grouping::SessionCounts sessions;
  std::uint64_t min_support = 0;
  bool support_raised = false;
  std::vector<std::string> samples;  // of malformed lines
  std::shared_ptr<grouping::Transactions> transactions;
};

// What a session is in logs of this format.
grouping::SessionOptions session_options(const AnalysisOptions& options, LogFormat format);

// What logs were read to: by analyse() here, or by many processes (replay/spark).
struct ReadLogs {
  std::vector<LogInput> inputs;
  std::vector<LoggedFile> files;  // index: item; directories not yet settled
  LogFormat format = LogFormat::automatic;
  std::int64_t gap_ms = 0;
  grouping::SessionCounts sessions;
  std::shared_ptr<grouping::Transactions> transactions;
  std::vector<grouping::Itemset> adjacent;  // of the paper's variant
};
// An error where sessions could not be kept or read back: what was mined is of a part of them.
Status check_transactions(const grouping::Transactions& transactions);
// A sentence where too many lines are malformed, or where there is no access.
Status check_inputs(const std::vector<LogInput>& inputs, const AnalysisOptions& options);
// From there to the plan. The same logs read give the same plan, whoever read them.
Result<Analysis> plan_of(ReadLogs read, const AnalysisOptions& options, const WorkTeller& on_progress);

Result<Analysis> analyse(const std::vector<std::string>& logs, const AnalysisOptions& options,
                         const WorkTeller& on_progress);

}  // namespace cffs::replay
