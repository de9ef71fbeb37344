#include "replay/import/trace_builder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace cffs::replay {

std::string normalised_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string whole;
  for (const std::string_view part : parts) whole.append("/").append(part);
  return whole.empty() ? "/" : whole;
}

TraceBuilder::TraceBuilder(std::string root)
    : root_(normalised_path(root)), model_(ModelTree::Mode::infers, root_) {
  trace_.about["root"] = root_;
}

void TraceBuilder::know_initial(std::vector<InitialEntry> entries) {
  infers_ = false;
  model_ = ModelTree(ModelTree::Mode::replays, root_);
  for (const InitialEntry& entry : entries) model_.add(trace_.path(entry.path), entry);
  trace_.initial = std::move(entries);
}

std::optional<PathId> TraceBuilder::trace_path(const std::string& absolute) {
  const std::string path = normalised_path(absolute);
  if (root_ == "/") return trace_.intern(path.substr(1));
  if (!path.starts_with(root_)) return {};
  if (path.size() == root_.size()) return trace_.intern("");
  if (path[root_.size()] != '/') return {};
  return trace_.intern(path.substr(root_.size() + 1));
}

std::uint32_t TraceBuilder::implied_flags(PathId path, std::uint32_t first_use) {
  if ((first_use & O_DIRECTORY) != 0 || model_.is_directory(trace_.path(path))) return O_RDONLY;
  return O_RDWR;
}

void TraceBuilder::add(Operation operation) {
  if (!start_ns_) start_ns_ = operation.time_ns;
  operation.time_ns = std::max<std::int64_t>(0, operation.time_ns - *start_ns_);
  const Outcome outcome = model_.apply(operation, trace_, trace_.operations.size() + 1, nullptr);
  const bool same = (outcome.error == 0) == (operation.result >= 0);
  const bool attribute = operation.call == Call::getxattr || operation.call == Call::listxattr ||
                         operation.call == Call::removexattr || operation.call == Call::setxattr ||
                         operation.call == Call::access;
  if (!same && !attribute) {
    ++counts_.surprises;
    if (counts_.first_surprise.empty()) {
      const std::string path = operation.path == kNoPath ? "" : " " + trace_.path(operation.path);
      counts_.first_surprise =
          fmt::format("operation {}, {}{}: recorded {}, expected {}", trace_.operations.size() + 1,
                      name_of(operation.call), path,
                      operation.result < 0 ? std::strerror(static_cast<int>(-operation.result)) : "success",
                      outcome.error != 0 ? std::strerror(outcome.error) : "success");
    }
  }
  trace_.operations.push_back(operation);
}

Trace TraceBuilder::finish() {
  if (infers_) trace_.initial = model_.inferred(trace_);
  return std::move(trace_);
}

}  // namespace cffs::replay
