#include "replay/analysis/analysis.h"

#include <fmt/format.h>

namespace cffs::replay {
namespace {

bool is_trace(LogFormat format) {
  return format == LogFormat::strace || format == LogFormat::trace || is_of_machine(format);
}

std::vector<std::pair<std::string, std::string>> parameters_of(const AnalysisOptions& o, std::int64_t gap_ms,
                                                               const Analysis& a) {
  std::vector<std::pair<std::string, std::string>> p{
      {"algorithm", o.adjacency ? "adjacency" : o.mining.algorithm},
      {"program", CFFS_VERSION},
      {"min_confidence", fmt::format("{}", o.mining.selection.min_confidence)},
      {"max_bytes", std::to_string(o.mining.selection.max_bytes)},
      {"crawlers", o.crawlers == Crawlers::apart ? "apart" : "mixed"},
      {"stream", o.one_stream                           ? "one"
                 : o.reader.stream == StreamBy::user    ? "user"
                 : o.reader.stream == StreamBy::process ? "process"
                 : o.reader.stream == StreamBy::client  ? "client"
                                                        : "default"},
      {"below", o.reader.below},
      {"prefix", o.reader.prefix}};
  if (o.adjacency) {
    p.emplace_back("batch", std::to_string(o.adjacent.batch));
    p.emplace_back("support", fmt::format("{}", o.adjacent.support));
    p.emplace_back("max_size", std::to_string(o.adjacent.max_size));
  } else {
    p.emplace_back("session_gap_ms", std::to_string(gap_ms));
    p.emplace_back("session_max_files", std::to_string(o.session_max_files));
    p.emplace_back("min_support", std::to_string(a.min_support));
    p.emplace_back("max_size", std::to_string(o.mining.max_size));
    if (o.mining.algorithm == "benefit")
      p.emplace_back("exchange_bytes", fmt::format("{:.0f}", o.mining.exchange_bytes));
  }
  return p;
}

}  // namespace

grouping::SessionOptions session_options(const AnalysisOptions& options, LogFormat format) {
  grouping::SessionOptions session;
  session.gap_ms = options.session_gap_ms.value_or(is_trace(format) ? 5'000 : 30 * 60'000);
  session.max_files = options.session_max_files;
  if (format == LogFormat::transactions) {  // a line is one, however long
    session.gap_ms = std::int64_t{1} << 60;
    session.max_files = ~std::size_t{0} - 1;
  }
  return session;
}

Status check_transactions(const grouping::Transactions& transactions) {
  if (transactions.problem() == 0) return {};
  return fail(transactions.problem(), "the temporary file for sessions; TMPDIR names its place");
}

Status check_inputs(const std::vector<LogInput>& inputs, const AnalysisOptions& options) {
  std::uint64_t accesses = 0;
  for (const LogInput& input : inputs) {
    accesses += input.accesses;
    if (static_cast<double>(input.malformed) > options.max_bad * static_cast<double>(input.lines)) {
      return fail(Error::usage(
          fmt::format("{}: {} of {} lines are malformed, for instance {}; is it really of format {}? "
                      "--max-bad allows more",
                      input.name, input.malformed, input.lines,
                      input.samples.empty() ? "" : input.samples.front(), name_of(input.format))));
    }
  }
  if (accesses == 0) {
    return fail(Error::usage(
        fmt::format("{}: no successful access in {} lines{}", inputs.front().name, inputs.front().lines,
                    options.reader.below.empty() ? "" : "; does --below name the right directory?")));
  }
  return {};
}

Result<Analysis> plan_of(ReadLogs read, const AnalysisOptions& options, const WorkTeller& on_progress) {
  Analysis a;
  a.transactions = std::move(read.transactions);
  a.sessions = read.sessions;
  for (const LogInput& input : read.inputs) {
    a.samples.insert(a.samples.end(), input.samples.begin(), input.samples.end());
    a.plan.inputs.push_back({input.name, std::string(name_of(input.format)), input.hash, input.lines,
                             input.malformed, input.accesses, input.errors, input.others, input.first_ms,
                             input.last_ms});
  }
  settle_directories(read.files, read.format);
  std::vector<std::uint64_t> sizes;
  for (const LoggedFile& f : read.files) {
    // A file without a place in the tree cannot be grouped: no group is as large as that.
    sizes.push_back(f.path.empty() ? ~std::uint64_t{0} >> 16 : f.bytes);
  }
  if (options.adjacency) {
    a.plan.itemsets = std::move(read.adjacent);
    auto supports = grouping::item_supports(*a.transactions);
    supports.resize(read.files.size());
    // Counts of adjacent accesses are not shares of sessions: the paper has no confidence.
    grouping::SelectionOptions selection = options.mining.selection;
    selection.min_confidence = 0;
    a.plan.groups = grouping::select_groups(
        a.plan.itemsets, supports, grouping::sizes_to_group(sizes, options.mining.table_bytes), selection);
    grouping::order_groups(a.plan.groups, *a.transactions);
  } else {
    auto mined = grouping::mine_groups(*a.transactions, sizes, options.mining, tell_names(on_progress));
    if (!mined.problem.empty()) return fail(Error::usage(mined.problem));
    a.min_support = mined.min_support;
    a.support_raised = mined.support_raised;
    a.plan.itemsets = std::move(mined.itemsets);
    a.plan.groups = std::move(mined.groups);
  }
  a.savings = grouping::expected_savings(a.plan.groups, *a.transactions, sizes);
  auto supports = grouping::item_supports(*a.transactions);
  CFFS_TRY_VOID(check_transactions(*a.transactions));  // of all that was counted since they were there
  supports.resize(read.files.size());
  for (std::size_t i = 0; i < read.files.size(); ++i) {
    const LoggedFile& f = read.files[i];
    a.plan.files.push_back({f.path, f.bytes, f.accesses, supports[i]});
  }
  a.plan.rest_bytes = options.rest_bytes;
  a.plan.table_bytes = options.mining.table_bytes;
  a.plan.parameters = parameters_of(options, read.gap_ms, a);
  a.plan.summary = {{"sessions", a.sessions.sessions},
                    {"sessions_apart_crawlers", a.sessions.apart_crawlers},
                    {"sessions_apart_too_large", a.sessions.apart_too_large},
                    {"repeated_accesses", a.sessions.repeats},
                    {"files", a.plan.files.size()},
                    {"itemsets", a.plan.itemsets.size()},
                    {"groups", a.plan.groups.size()},
                    {"first_accesses", a.savings.accesses},
                    {"first_accesses_covered", a.savings.covered},
                    {"reads_saved", a.savings.reads_saved},
                    {"group_bytes_read", a.savings.bytes_read},
                    {"group_bytes_used", a.savings.bytes_used}};
  return a;
}

Result<Analysis> analyse(const std::vector<std::string>& logs, const AnalysisOptions& options,
                         const WorkTeller& on_progress) {
  ReadLogs read;
  read.transactions = std::make_shared<grouping::Transactions>();
  AccessReader reader(options.reader);
  std::optional<grouping::Sessions> sessions;
  grouping::AdjacencyMiner adjacency(options.adjacent);
  const auto begin = [&](LogFormat format) {
    const grouping::SessionOptions session = session_options(options, format);
    read.gap_ms = session.gap_ms;
    sessions.emplace(session, [&](std::span<const grouping::Item> items) {
      (void)read.transactions->add(items);  // it remembers
    });
  };
  const auto visit = [&](grouping::Access access) {
    if (!sessions) begin(reader.format());  // known by its first line
    if (options.crawlers == Crawlers::mixed) access.crawler = false;
    if (options.adjacency && !access.crawler)
      adjacency.add(options.one_stream ? 0 : access.stream, access.item);
    if (options.one_stream) access.stream = 0;
    sessions->add(access);
  };
  for (const std::string& log : logs) {
    const auto report = [&](const LogInput& input) {
      if (on_progress) {
        on_progress({input.name, input.bytes, input.bytes_in_all, WorkStep::kBytes,
                     fmt::format("{} lines, {} files", input.lines, reader.files().size())});
      }
    };
    CFFS_TRY_VOID(reader.read(log, visit, report));
  }
  CFFS_TRY_VOID(check_inputs(reader.inputs(), options));
  sessions->finish();
  CFFS_TRY_VOID(check_transactions(*read.transactions));
  read.sessions = sessions->counts();
  read.inputs = reader.inputs();
  read.files = reader.take_files();
  read.format = reader.format();
  if (options.adjacency) read.adjacent = adjacency.finish().itemsets;
  return plan_of(std::move(read), options, on_progress);
}

}  // namespace cffs::replay
