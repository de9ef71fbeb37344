#include "replay/spark/spark_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "grouping/mining/latest.h"
#include "grouping/mining/projection.h"
#include "replay/spark/columns.h"
#include "replay/spark/spark_process.h"

namespace cffs::replay {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Progress = WorkTeller;

// A directory of the run, gone with it.
class Scratch {
 public:
  static Result<std::unique_ptr<Scratch>> make() {
    const char* named = ::getenv("TMPDIR");
    std::string path =
        (named != nullptr && *named != '\0' ? named : "/tmp") + std::string("/cffs-spark.XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return fail(errno, path);
    return std::unique_ptr<Scratch>(new Scratch(path));
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

tl::unexpected<Error> broken(const std::string& path) {
  return fail(Error::corruption(
      path + ": what Spark's program wrote is incomplete; is the disk full? TMPDIR names its place"));
}

// Frames of one kind.
template <typename Visit>
Status each_frame(const std::string& path, char wanted, const Visit& visit) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) return fail(errno, path);
  ColumnReader reader(file.get());
  char kind = 0;
  std::uint32_t rows = 0;
  while (reader.head(kind, rows)) {
    if (kind != wanted) return broken(path);
    CFFS_TRY_VOID(visit(reader, rows));
  }
  return reader.whole() ? Status() : Status(broken(path));
}

Result<std::vector<LoggedFile>> read_files(const std::string& path) {
  std::vector<LoggedFile> files;
  CFFS_TRY_VOID(each_frame(path, 'F', [&](ColumnReader& reader, std::uint32_t rows) -> Status {
    (void)reader.column<std::uint64_t>(rows);  // hashes
    const auto bytes = reader.column<std::uint64_t>(rows), accesses = reader.column<std::uint64_t>(rows);
    (void)reader.column<std::uint64_t>(rows);  // first accesses: they come in that order
    (void)reader.column<std::uint8_t>(rows);
    const auto lengths = reader.column<std::uint32_t>(rows);
    for (std::uint32_t i = 0; i < rows && reader.whole(); ++i)
      files.push_back({reader.text(lengths[i]), bytes[i], accesses[i]});
    return reader.whole() ? Status() : Status(broken(path));
  }));
  return files;
}

// Visits (first column, second or nothing, items) of frames `T` and `I`.
template <typename Visit>
Status each_set(const std::string& path, char kind, const Visit& visit) {
  return each_frame(path, kind, [&](ColumnReader& reader, std::uint32_t rows) -> Status {
    const auto first = reader.column<std::uint64_t>(rows);
    const auto second = kind == 'I' ? reader.column<std::uint64_t>(rows) : first;
    const auto lengths = reader.column<std::uint32_t>(rows);
    std::size_t total = 0, at = 0;
    for (const std::uint32_t length : lengths) total += length;
    const auto items = reader.column<std::uint32_t>(total);
    if (!reader.whole()) return broken(path);
    for (std::uint32_t i = 0; i < rows; at += lengths[i++])
      CFFS_TRY_VOID(visit(first[i], second[i], std::span(items).subspan(at, lengths[i])));
    return {};
  });
}

std::vector<LogInput> inputs_of(const Json& answer) {
  std::vector<LogInput> inputs;
  for (const Json& j : answer.at("inputs")) {
    LogInput& i = inputs.emplace_back();
    i.name = j.at("name").get<std::string>();
    i.format = log_format(j.at("format").get<std::string>()).value_or(LogFormat::automatic);
    i.hash = j.at("hash").get<std::uint64_t>();
    i.lines = j.at("lines").get<std::uint64_t>();
    i.malformed = j.at("malformed").get<std::uint64_t>();
    i.accesses = j.at("accesses").get<std::uint64_t>();
    i.errors = j.at("errors").get<std::uint64_t>();
    i.others = j.at("others").get<std::uint64_t>();
    i.first_ms = j.at("first_ms").get<std::int64_t>();
    i.last_ms = j.at("last_ms").get<std::int64_t>();
    i.samples = j.at("samples").get<std::vector<std::string>>();
  }
  return inputs;
}

// Has Spark mine. What goes wrong is told after mine_groups() has ended.
class SparkMiner final : public grouping::Miner {
 public:
  SparkMiner(SparkProcess& process, std::string algorithm, const Progress& on_progress)
      : process_(process), algorithm_(std::move(algorithm)), on_progress_(on_progress) {}
  std::string_view name() const override { return algorithm_; }
  const Status& status() const { return status_; }

  grouping::MiningResult mine(const grouping::Transactions& transactions,
                              const grouping::MiningOptions& options) const override {
    auto found = ask(transactions, options);
    if (found) return std::move(*found);
    status_ = fail(found.error());
    return {};
  }

 private:
  Result<grouping::MiningResult> ask(const grouping::Transactions& transactions,
                                     const grouping::MiningOptions& options) const {
    CFFS_TRY(const Json answer, process_.ask({{"ask", "mine"},
                                              {"algorithm", algorithm_},
                                              {"min_support", options.min_support},
                                              {"max_size", options.max_size},
                                              {"max_itemsets", options.max_itemsets}},
                                             tell_names(on_progress_)));
    grouping::MiningResult result;
    result.gave_up = answer.at("gave_up").get<bool>();
    if (result.gave_up) return result;
    const bool with_last = answer.at("with_last").get<bool>();
    CFFS_TRY_VOID(each_set(
        answer.at("itemsets").get<std::string>(), 'I',
        [&](std::uint64_t support, std::uint64_t last, std::span<const std::uint32_t> items) -> Status {
          grouping::Itemset& set = result.itemsets.emplace_back();
          set.items.assign(items.begin(), items.end());
          std::sort(set.items.begin(), set.items.end());
          set.support = support;
          set.last = last;
          return {};
        }));
    if (!with_last) {
      if (on_progress_) on_progress_({"looking for the latest session with each set"});
      grouping::find_latest(result.itemsets, transactions);
    }
    grouping::sort_itemsets(result.itemsets);
    return result;
  }

  SparkProcess& process_;
  const std::string algorithm_;
  const Progress& on_progress_;
  mutable Status status_;
};

Json settings_of(const std::vector<std::string>& logs, const AnalysisOptions& o, const SparkOptions& spark,
                 const std::string& scratch) {
  Json settings = Json::object();
  for (const auto& [name, value] : spark.settings) settings[name] = value;
  // What a session is, in logs of each format: which it is, is known once they are read.
  Json gaps = Json::object(), most_files = Json::object();
  for (int f = 0; f <= static_cast<int>(LogFormat::transactions); ++f) {
    const grouping::SessionOptions session = session_options(o, static_cast<LogFormat>(f));
    const std::string name(name_of(static_cast<LogFormat>(f)));
    gaps[name] = session.gap_ms;
    most_files[name] = std::min<std::uint64_t>(session.max_files, std::uint64_t{1} << 62);
  }
  std::string stream;
  if (o.reader.stream)
    stream = *o.reader.stream == StreamBy::user      ? "user"
             : *o.reader.stream == StreamBy::process ? "process"
                                                     : "client";
  return {{"ask", "read"},
          {"version", CFFS_VERSION},
          {"master", spark.master},
          {"settings", settings},
          {"cffs", spark.cffs},
          {"scratch", scratch},
          {"logs", logs},
          {"outputs", spark.outputs},
          {"reader",
           {{"format", name_of(o.reader.format)},
            {"stream", stream},
            {"below", o.reader.below},
            {"prefix", o.reader.prefix}}},
          {"most_files", o.reader.most_files},
          {"one_stream", o.one_stream},
          {"crawlers_mixed", o.crawlers == Crawlers::mixed},
          {"sweep_every", grouping::Sessions::kSweepEvery},
          {"gap_ms", gaps},
          {"session_max_files", most_files}};
}

Result<Analysis> run(const std::vector<std::string>& logs, AnalysisOptions options, const SparkOptions& spark,
                     const Progress& on_progress) {
  if (::access((spark.place + "/bin/python").c_str(), X_OK) != 0) {
    return fail(
        Error::usage("Spark is not installed in " + spark.place +
                     ": scripts/install_spark.sh installs it there, --spark=DIR names another place"));
  }
  if (::access(spark.program.c_str(), R_OK) != 0) {
    return fail(errno, spark.program + ", the program for Spark, which is installed with cffs");
  }
  CFFS_TRY(const auto scratch, Scratch::make());
  CFFS_TRY(const auto process,
           SparkProcess::start(spark, spark.log.empty() ? scratch->path() + "/spark.log" : spark.log,
                               scratch->path()));
  if (on_progress) on_progress({"starting Spark"});
  CFFS_TRY(const Json read_answer,
           process->ask(settings_of(logs, options, spark, scratch->path()), tell_names(on_progress)));
  ReadLogs read;
  read.inputs = inputs_of(read_answer);
  CFFS_TRY_VOID(check_inputs(read.inputs, options));
  CFFS_TRY(const Json cut_answer, process->ask({{"ask", "cut"}}, tell_names(on_progress)));
  read.format = log_format(cut_answer.at("format").get<std::string>()).value_or(LogFormat::automatic);
  read.gap_ms = cut_answer.at("gap_ms").get<std::int64_t>();
  read.sessions = {
      cut_answer.at("sessions").get<std::uint64_t>(), cut_answer.at("apart_crawlers").get<std::uint64_t>(),
      cut_answer.at("apart_too_large").get<std::uint64_t>(), cut_answer.at("repeats").get<std::uint64_t>()};
  CFFS_TRY(read.files, read_files(cut_answer.at("files").get<std::string>()));
  read.transactions = std::make_shared<grouping::Transactions>();
  const std::size_t files = read.files.size();
  const std::string transactions = cut_answer.at("transactions").get<std::string>();
  CFFS_TRY_VOID(each_set(transactions, 'T',
                         [&](std::uint64_t, std::uint64_t, std::span<const std::uint32_t> items) -> Status {
                           for (const std::uint32_t item : items) {
                             if (item >= files) return broken(transactions);
                           }
                           (void)read.transactions->add(items);  // it remembers
                           return check_transactions(*read.transactions);
                         }));
  fs::remove(transactions);
  const SparkMiner miner(*process, options.mining.algorithm, on_progress);
  const bool mines = options.mining.algorithm == "closed" || options.mining.algorithm == "apriori";
  if (mines) options.mining.miner = &miner;
  Result<Analysis> done = plan_of(std::move(read), options, on_progress);
  if (!miner.status()) return fail(miner.status().error());
  return done;
}

}  // namespace

Result<Analysis> analyse_by_spark(const std::vector<std::string>& logs, const AnalysisOptions& options,
                                  const SparkOptions& spark, const Progress& on_progress) {
  if (options.adjacency) {
    return fail(Error::usage(
        "--algorithm=adjacency goes by batches of the log as it lies, which Spark's parts do not have: take "
        "--engine=native"));
  }
  try {
    return run(logs, options, spark, on_progress);
  } catch (const nlohmann::json::exception&) {
    return fail(Error::usage(spark.program + " is of another version than cffs; install both anew"));
  } catch (const fs::filesystem_error& e) {
    return fail(e.code().value(), e.path1().string());
  }
}

void end_running_spark() { SparkProcess::end_running(); }

}  // namespace cffs::replay
