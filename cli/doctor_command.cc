// doctor: what this machine lacks for mounts, and the commands that mend it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fusefs/machine_findings.h"

namespace cffs::cli {
namespace {

enum DoctorCode { kNothingLacks = 0, kSomethingLacks = 1, kCannotMount = 4 };

const char* state_name(MachineState state) {
  switch (state) {
    case MachineState::good:
      return "good";
    case MachineState::lacking:
      return "lacking";
    case MachineState::broken:
      return "broken";
  }
  return "";
}

int code_of(MachineState state) {
  return state == MachineState::good      ? kNothingLacks
         : state == MachineState::lacking ? kSomethingLacks
                                          : kCannotMount;
}

void print_findings(const std::vector<MachineFinding>& findings) {
  for (const MachineFinding& finding : findings) {
    const char* const mark = finding.state == MachineState::good      ? "ok"
                             : finding.state == MachineState::lacking ? "--"
                                                                      : "NO";
    fmt::print("{}  {:<13}  {}\n", mark, finding.name, finding.is);
    if (!finding.follows.empty()) fmt::print("    {:<13}    {}\n", "", finding.follows);
    for (const std::string& command : finding.mend) fmt::print("    {:<13}    > {}\n", "", command);
  }
  const auto count = [&](MachineState state) {
    return std::count_if(findings.begin(), findings.end(),
                         [state](const auto& one) { return one.state == state; });
  };
  const auto lacking = count(MachineState::lacking), broken = count(MachineState::broken);
  if (broken > 0) {
    fmt::print("Nothing can be mounted here: see NO above.\n");
  } else if (lacking > 0) {
    fmt::print("Stores can be mounted here; {} thing{} could be better: see -- above.\n", lacking,
               lacking == 1 ? "" : "s");
  } else {
    fmt::print("Nothing lacks.\n");
  }
}

std::string findings_json(const MachineFacts& facts, const std::vector<MachineFinding>& findings) {
  auto list = nlohmann::json::array();
  for (const MachineFinding& finding : findings) {
    list.push_back({{"name", finding.name},
                    {"state", state_name(finding.state)},
                    {"is", finding.is},
                    {"follows", finding.follows},
                    {"mend", finding.mend}});
  }
  const nlohmann::json report{{"version", CFFS_VERSION},
                              {"kernel", facts.kernel_release},
                              {"libfuse", facts.libfuse},
                              {"processors", facts.processors},
                              {"memory_bytes", facts.memory_bytes},
                              {"state", state_name(worst(findings))},
                              {"findings", std::move(list)}};
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "doctor", "Say what this machine lacks for mounts and their speed, and how to get it; changes nothing");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For programs");
  command->footer(
      "Exit code: 0 nothing lacks, 1 something could be better, 4 nothing can be mounted by this user.");
  command->callback([json, &exit_code] {
    const MachineFacts facts = machine_facts();
    const auto findings = machine_findings(facts);
    if (*json) {
      fmt::print("{}\n", findings_json(facts, findings));
    } else {
      print_findings(findings);
    }
    exit_code = code_of(worst(findings));
  });
}

}  // namespace cffs::cli
