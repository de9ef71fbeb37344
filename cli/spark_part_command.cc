// spark-part: what the tasks of `cffs analyze --engine=spark` run. Not for people, so no help lists it.
#include <fmt/format.h>

#include "cli/commands.h"
#include "replay/spark/part.h"

namespace cffs::cli {
namespace {

struct PartOptions {
  std::string work;
  std::vector<std::string> logs;
  std::string format = "auto", stream, below, prefix;
};

Result<int> run_part(const PartOptions& o) {
  replay::AccessReaderOptions reader;
  const auto format = replay::log_format(o.format);
  if (!format) return fail(Error::command_line("unknown format '" + o.format + "'"));
  reader.format = *format;
  if (o.stream == "client") reader.stream = replay::StreamBy::client;
  if (o.stream == "user") reader.stream = replay::StreamBy::user;
  if (o.stream == "process") reader.stream = replay::StreamBy::process;
  reader.below = o.below;
  reader.prefix = o.prefix;
  if (o.work == "accesses") replay::write_accesses(o.logs, reader, stdout);
  if (o.work == "closed") replay::write_closed_part(stdin, stdout);
  if (o.work == "format") {
    for (const std::string& log : o.logs) fmt::print("{}\n", replay::name_of(replay::format_of_head(log)));
  }
  return 0;
}

}  // namespace

void add_spark_part(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("spark-part", "A part of an analysis by Spark")->group("");
  auto o = std::make_shared<PartOptions>();
  command->add_option("WORK", o->work)->required()->check(CLI::IsMember({"accesses", "closed", "format"}));
  command->add_option("LOG", o->logs);
  command->add_option("--format", o->format);
  command->add_option("--stream", o->stream);
  command->add_option("--below", o->below);
  command->add_option("--prefix", o->prefix);
  command->callback([o, &exit_code] {
    const auto done = run_part(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
