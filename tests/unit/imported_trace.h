// A recording given as text, made a trace, and a trace as words to compare.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "replay/import/strace_import.h"

namespace cffs::replay::test {

struct Imported {
  Trace trace;
  StraceCounts counts;
  BuildCounts build;
};

inline Imported import(const std::string& lines, const std::string& root = "/r") {
  TraceBuilder builder(root);
  StraceImporter importer(builder, root);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    importer.line(lines.substr(at, end - at));
    at = end + 1;
  }
  importer.finish();
  Imported result{{}, importer.counts(), builder.counts()};
  result.trace = builder.finish();
  return result;
}

// "open a", "read a 0+5", ... without closes.
inline std::vector<std::string> words(const Trace& trace) {
  std::vector<std::string> all;
  std::map<std::uint32_t, std::string> open;
  for (const Operation& o : trace.operations) {
    std::string text(name_of(o.call));
    if (o.call == Call::spawn || o.call == Call::reap) {
      text += " " + trace.clients()[o.handle];
    } else {
      if (o.path != kNoPath) text += " " + trace.path(o.path);
      if (o.call == Call::open && o.handle != kNoHandle) open[o.handle] = trace.path(o.path);
      if (o.path == kNoPath && o.handle != kNoHandle) text += " " + open[o.handle];
    }
    if (o.path2 != kNoPath) text += " " + trace.path(o.path2);
    if (o.call == Call::read || o.call == Call::write)
      text += " " + std::to_string(o.offset) + "+" + std::to_string(o.result);
    if (o.result < 0) text += " !";
    all.push_back(text);
  }
  return all;
}

using List = std::vector<std::string>;

}  // namespace cffs::replay::test
