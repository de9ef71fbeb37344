// Where the lines go that a mount has for its administrator, each with a level:
//
//   in the foreground     to standard error, "cffs: LINE"; where that is the journal's (a systemd service: JOURNAL_STREAM), to the journal
//   as a daemon           to the journal where there is one, else to syslog
//
// On standard error and in syslog a line is one line, of what can be shown (core/base/printable.h): names of files are in it.
//
// To the journal with fields: CFFS_MOUNT, CFFS_STORE beside MESSAGE and PRIORITY, in its own protocol
// (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/), which takes one datagram and no library. Who writes waits for nobody: a journal that does
// not take the datagram at once is passed by, and the line goes as without it (with "<N>" before it, where standard error is the
// journal's). Thread safety: everything.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/object/file_descriptor.h"

namespace cffs {

class DaemonLog {
 public:
  enum class Level : int { error = 3, warning = 4, notice = 5 };  // syslog's

  // `journal`: its socket.
  DaemonLog(bool foreground, std::string mount_point, std::string store,
            const std::string& journal = "/run/systemd/journal/socket");

  void write(Level level, const std::string& line);
  // Lines so far, by the level's name.
  std::vector<std::pair<std::string_view, std::uint64_t>> counts() const;

 private:
  bool to_journal(Level level, const std::string& line) const;

  const bool foreground_;
  const bool to_service_;  // standard error is the journal's
  const std::string mount_point_, store_;
  FileDescriptor journal_;
  std::array<std::atomic<std::uint64_t>, 3> counts_{};
};

}  // namespace cffs
