#include "replay/trace/trace_summary.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

namespace cffs::replay {

bool changes_tree(const Operation& o) {
  if (o.result < 0) return false;
  switch (o.call) {
    case Call::open:
      return (o.flags & static_cast<std::uint32_t>(O_CREAT | O_TRUNC)) != 0;
    case Call::write:
    case Call::truncate:
    case Call::mkdir:
    case Call::rmdir:
    case Call::unlink:
    case Call::rename:
    case Call::link:
    case Call::symlink:
    case Call::mknod:
      return true;
    default:
      return false;
  }
}

TraceSummary summary_of(const Trace& trace) {
  TraceSummary s;
  s.operations = trace.operations.size();
  s.clients = trace.clients().size();
  std::vector<bool> touched(trace.paths().size()), opened(trace.paths().size());
  std::int64_t latest = 0;
  for (const Operation& o : trace.operations) {
    CallSummary& call = s.calls[static_cast<std::size_t>(o.call)];
    ++call.calls;
    if (o.result < 0) {
      ++call.failed;
    } else if (o.call == Call::read || o.call == Call::write || o.call == Call::fetch) {
      call.bytes += static_cast<std::uint64_t>(o.result);
    }
    s.changes = s.changes || changes_tree(o);
    if (o.path != kNoPath) touched[o.path] = true;
    if ((o.call == Call::open || o.call == Call::fetch) && o.result >= 0 && o.path != kNoPath)
      opened[o.path] = true;
    constexpr std::int64_t kIdle = 1'000'000'000;
    if (o.time_ns - latest > kIdle) s.idle_seconds += static_cast<double>(o.time_ns - latest) / 1e9;
    latest = std::max(latest, o.time_ns);
  }
  s.seconds = static_cast<double>(latest) / 1e9;
  s.paths_touched = static_cast<std::uint64_t>(std::count(touched.begin(), touched.end(), true));
  s.files_opened = static_cast<std::uint64_t>(std::count(opened.begin(), opened.end(), true));
  for (const InitialEntry& e : trace.initial) {
    ++(e.kind == 'f' ? s.initial_files : e.kind == 'd' ? s.initial_directories : s.initial_symlinks);
    s.initial_bytes += e.size;
  }
  return s;
}

}  // namespace cffs::replay
