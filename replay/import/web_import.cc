#include "replay/import/web_import.h"

#include <algorithm>
#include <set>

namespace cffs::replay {

Trace trace_of(const DocumentTree& tree) {
  Trace trace;
  trace.about["format"] = "web log";
  trace.about["root"] = "/";
  std::set<std::string> directories;
  std::vector<PathId> file_paths;
  for (const Document& file : tree.files()) {
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos;
         slash = file.path.find('/', slash + 1))
      directories.insert(file.path.substr(0, slash));
    file_paths.push_back(trace.intern(file.path));
    trace.initial.push_back({file_paths.back(), 'f', 0644, file.size, {}});
  }
  for (const std::string& directory : directories)
    trace.initial.push_back({trace.intern(directory), 'd', 0755, 0, {}});
  std::sort(trace.initial.begin(), trace.initial.end(), [&](const InitialEntry& a, const InitialEntry& b) {
    return trace.path(a.path) < trace.path(b.path);
  });
  for (const std::string& name : tree.client_names()) (void)trace.client(name);
  std::int64_t first_ms = 0, step = 0;
  for (const DocumentRequest& request : tree.requests()) {
    if (request.time_ms != 0 && (first_ms == 0 || request.time_ms < first_ms)) first_ms = request.time_ms;
  }
  trace.operations.reserve(tree.requests().size());
  for (const DocumentRequest& request : tree.requests()) {
    Operation o;
    o.call = Call::fetch;
    o.client = request.client;
    o.path = file_paths[request.file];
    o.result = static_cast<std::int64_t>(tree.files()[request.file].size);
    o.time_ns = (request.time_ms != 0 ? request.time_ms - first_ms : step) * 1'000'000;
    ++step;
    trace.operations.push_back(o);
  }
  return trace;
}

}  // namespace cffs::replay
