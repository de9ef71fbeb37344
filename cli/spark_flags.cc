#include "cli/spark_flags.h"

#include <cstdlib>
#include <filesystem>
#include <regex>

namespace cffs::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// As scripts/install_spark.sh has it.
std::string usual_place() {
  if (const std::string named = variable("CFFS_SPARK"); !named.empty()) return named;
  const std::string data = variable("XDG_DATA_HOME");
  return (data.empty() ? variable("HOME") + "/.local/share" : data) + "/cffs/spark";
}

std::string program_beside(const fs::path& cffs) {
  if (const std::string named = variable("CFFS_SPARK_PROGRAM"); !named.empty()) return named;
  const fs::path built = cffs.parent_path() / "cffs_spark.py";
  std::error_code ignored;
  if (fs::exists(built, ignored)) return built;
  return cffs.parent_path().parent_path() / "share/cffs/spark/cffs_spark.py";
}

Status check_master(const std::string& master) {
  static const std::regex kKnown(
      R"(local(\[(\*|[0-9]+)(, *[0-9]+)?\])?|local-cluster\[[0-9]+, *[0-9]+, *[0-9]+\]|spark://[^/ ,:]+:[0-9]+(,[^/ ,:]+:[0-9]+)*|yarn|k8s://.+)");
  if (std::regex_match(master, kKnown)) return {};
  return fail(
      Error::command_line("--master wants local[*], local[N], local-cluster[WORKERS,CORES,MEGABYTES] or "
                          "spark://HOST:PORT, not '" +
                          master + "'"));
}

}  // namespace

void add_spark_flags(CLI::App& command, SparkFlags& f) {
  command
      .add_option("--master", f.master,
                  "With --engine=spark: local[*], local-cluster[2,1,1024], spark://HOST:PORT")
      ->capture_default_str();
  command.add_option("--spark", f.place,
                     "Where scripts/install_spark.sh has put it; by itself CFFS_SPARK, else "
                     "~/.local/share/cffs/spark");
  command.add_option("--spark-conf", f.settings, "NAME=VALUE, a setting of Spark; as often as wanted")
      ->allow_extra_args(false);
  command.add_option("--spark-log", f.log, "Keep what Spark itself says in this file");
}

Result<replay::SparkOptions> spark_options(const SparkFlags& flags, const std::vector<std::string>& logs) {
  CFFS_TRY_VOID(check_master(flags.master));
  for (const std::string& log : logs) {
    if (log == "-")
      return fail(Error::command_line("--engine=spark reads a log in parts: it cannot come from stdin"));
  }
  replay::SparkOptions options;
  options.master = flags.master;
  options.log = flags.log;
  options.place = flags.place.empty() ? usual_place() : flags.place;
  std::error_code unknown;
  options.cffs = fs::read_symlink("/proc/self/exe", unknown);
  if (unknown) return fail(unknown.value(), "/proc/self/exe");
  options.program = program_beside(options.cffs);
  for (const std::string& setting : flags.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(Error::command_line("--spark-conf wants NAME=VALUE, not '" + setting + "'"));
    options.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return options;
}

}  // namespace cffs::cli
