// What an import of a surveyed tree would make, without reading a file: which files share a composite, which stay in the table,
// which become blobs. By the import's own rule for directories (core/transfer/pending_groups.h); other policies' composites differ
// in what is together, hardly in how many there are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/advise/tree_survey.h"
#include "core/fs/store_format.h"

namespace cffs {

// A file of a surveyed tree.
struct OutlinedFile {
  InodeId parent;  // its directory's number in the survey, as the import sees it
  std::uint64_t size = 0;
  std::uint32_t index = 0;  // in its directory
};

struct ImportOutline {
  std::uint64_t empty_files = 0;
  std::uint64_t members = 0, member_bytes = 0;  // of composites; bytes of data alone
  std::uint64_t large_members = 0;              // of those, such as would be blobs elsewhere
  std::uint64_t composites = 0, composite_bytes = 0;
  std::uint64_t inline_files = 0, inline_bytes = 0, chunks = 0;  // in the table
  std::uint64_t blobs = 0, blob_bytes = 0;
};

// Called for each composite, in the order in which an import makes them.
using OnComposite = std::function<void(const std::vector<OutlinedFile>& members, std::uint64_t bytes)>;

// `composites`: as a policy that makes them; else as policy none does.
ImportOutline outline_import(const TreeSurvey& survey, const StoreFormat& format, bool composites,
                             const OnComposite& on_composite = {});

// Bytes of a member's record beside its data (core/composite/record.h).
std::uint64_t record_overhead(std::uint64_t size, std::uint64_t name_bytes);

}  // namespace cffs
