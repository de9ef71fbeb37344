// What docs/CONSISTENCY.md promises of a tree after a crash, as a judge: every state that a workload went through is kept, and
// what a survivor shows is held against them.
//
//  - Names, links, modes, attributes, and the content of every file that is in the table or in a composite: those of one state,
//    of all the tree at once, not older than the last sync or fsync of anything.
//  - A file that is large, and so written in place: each sector has what it had in some state since that file was last synced;
//    where it had not been as long then, zeros too. Its size is between the smallest and the largest since.
//  - After the end of a process alone: everything as it was, but of the call that was under way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fs/file_system.h"
#include "tests/model/surface.h"

namespace cffs::test {

struct Seen {
  Visible what;
  std::uint64_t ino = 0;  // 0: not known
  bool in_place = false;  // a blob
};
using State = std::map<std::string, Seen>;  // by path

// All that can be seen. EIO and the like where something cannot.
Result<State> observe(FileSystem& fs);

struct History {
  // What is durable after so many calls: the state that names are not older than, and for each file its data's.
  struct Durable {
    std::size_t names = 0;
    std::map<std::uint64_t, std::size_t> data;  // by inode; none: never synced
    void everything(const State& state, std::size_t at);
  };
  std::vector<State> states;     // before the first call, and after each
  std::vector<Durable> durable;  // the same
  // A write failed half-way: within the sector where it ended, bytes of two states.
  bool torn = false;
  // Calls that replaced a name by this file: where the new name is durable, so is what the file held.
  std::map<std::size_t, std::uint64_t> replaced_by;
};

// What is wrong with a survivor of a power cut, or of a kill, after so many calls, perhaps within the next; nullopt: nothing.
std::optional<std::string> find_loss(const History& history, std::size_t calls, bool killed,
                                     const State& found);

}  // namespace cffs::test
