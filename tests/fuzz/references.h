// A document of one kind: what it embeds, and which files that may mean in a tree where every name is there.
#pragma once

#include "grouping/reference/resolve.h"
#include "tests/fuzz/fuzz_input.h"

namespace cffs::fuzz {

class EveryName final : public grouping::FileLookup {
 public:
  std::optional<grouping::FileId> find(const std::string& path) override {
    CFFS_INVARIANT(path.find("/../") == std::string::npos && !path.starts_with("../"));
    return path.size() % 3 == 0 ? std::optional<grouping::FileId>(path.size()) : std::nullopt;
  }
  std::optional<grouping::FileId> find_ignoring_case(const std::string& path) override { return find(path); }
  std::vector<grouping::FileId> list(const std::string& /*directory*/, std::string_view /*suffix*/) override {
    return {1, 2};
  }
};

inline void read_document(grouping::DocumentKind kind, std::string_view bytes) {
  const grouping::Extracted extracted = grouping::extract(kind, bytes);
  EveryName lookup;
  for (const grouping::Reference& reference : extracted.references) {
    (void)grouping::resolve("a/directory/document", extracted, reference, {}, lookup);
    (void)grouping::resolve_holder("a/directory/document", reference, lookup);
  }
}

}  // namespace cffs::fuzz
