#include "replay/import/web_import.h"

#include <vector>

#include "replay/trace/initial_files.h"

namespace cffs::replay {

Trace trace_of(const DocumentTree& tree) {
  Trace trace;
  trace.about["format"] = "web log";
  trace.about["root"] = "/";
  InitialFiles initial(trace);
  std::vector<PathId> file_paths;
  for (const Document& file : tree.files()) file_paths.push_back(initial.add(file.path, file.size));
  initial.finish();
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
