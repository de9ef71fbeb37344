#include "replay/trace/operation.h"

#include <array>

#include "replay/logs/site_path.h"

namespace cffs::replay {
namespace {

constexpr std::array<std::string_view, kCalls> kNames = {
    "open",      "close",       "read",     "write",   "truncate", "fsync",   "fdatasync", "sync",
    "stat",      "access",      "readlink", "readdir", "mkdir",    "rmdir",   "unlink",    "rename",
    "link",      "symlink",     "mknod",    "chmod",   "chown",    "utimens", "getxattr",  "setxattr",
    "listxattr", "removexattr", "fetch",    "spawn",   "reap"};

}  // namespace

bool has_possible_bytes(const Operation& o) {
  return o.offset <= kMostFileBytes && o.length <= kMostFileBytes &&
         o.result <= static_cast<std::int64_t>(kMostFileBytes);
}

std::string_view name_of(Call call) { return kNames[static_cast<std::size_t>(call)]; }

std::optional<Call> call_of(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Call>(i);
  }
  return {};
}

}  // namespace cffs::replay
