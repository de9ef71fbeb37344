// What follows for mounts from what a machine has, and the command that mends it: a pure function of the facts.
#pragma once

#include <string>
#include <vector>

#include "fusefs/machine_facts.h"

namespace cffs {

enum class MachineState {
  good,     // nothing to do
  lacking,  // mounts work, and would be faster or easier to use
  broken,   // this user cannot mount here
};

struct MachineFinding {
  std::string name;  // "io_uring", one word for programs
  MachineState state = MachineState::good;
  std::string is;                 // what is here
  std::string follows;            // what that means; empty: nothing worth a word
  std::vector<std::string> mend;  // commands, or one sentence where there is no command
};

std::vector<MachineFinding> machine_findings(const MachineFacts& facts);

// The worst of them.
MachineState worst(const std::vector<MachineFinding>& findings);

}  // namespace cffs
