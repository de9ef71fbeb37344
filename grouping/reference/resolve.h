// From a reference to the files it may mean.
//
// URLs follow RFC 3986: resolved against the document or its base element, dot segments removed, percent-encoding
// undone, query and fragment dropped. Faults that browsers forgive are forgiven: blanks, backslashes, stray percent
// signs, encodings mixed up, letter case. An absolute URL counts by its path: where a file lies there, it is the
// site's own.
#pragma once

#include <cstdint>
#include <optional>

#include "grouping/reference/extract.h"

namespace cffs::grouping {

using FileId = std::uint64_t;

// The tree in which references are looked up. Paths are relative to its root, without "." and "..".
class FileLookup {
 public:
  virtual ~FileLookup() = default;
  virtual std::optional<FileId> find(const std::string& path) = 0;
  // The only file whose path differs from this one in letter case alone.
  virtual std::optional<FileId> find_ignoring_case(const std::string& path) = 0;
  // Regular files of a directory ("" is the root) whose names end in `suffix`.
  virtual std::vector<FileId> list(const std::string& directory, std::string_view suffix) = 0;
};

struct ResolveOptions {
  // Where root-relative URLs begin. nullopt: the root of the tree, else the first directory on the way down to the
  // document where the file is found.
  std::optional<std::string> site_root;
};

// Files that `reference` means, usually none or one; several for a Go package. The first place that holds a file wins.
std::vector<FileId> resolve(const std::string& document, const Extracted& extracted,
                            const Reference& reference, const ResolveOptions& options, FileLookup& lookup);
// The file that a rule's holder names.
std::vector<FileId> resolve_holder(const std::string& document, const Reference& reference,
                                   FileLookup& lookup);

// The path that a URL names, seen from a document; nullopt where it names none (data:, mailto:, a fragment).
// root_relative says that the URL began at the root, whose place is for ResolveOptions to say.
struct UrlPath {
  std::string path;  // decoded, dot segments removed
  std::string raw;   // the same before percent-encoding was undone
  bool root_relative = false;
};
std::optional<UrlPath> resolve_url(const std::string& document, const std::string& base,
                                   std::string_view url);

// Whether a path's ".." lead out of the tree that it is relative to, on the way at least.
bool leads_out(std::string_view path);
// Percent-encoding undone, but for %00 and %2F, which no file name can hold.
std::string percent_decoded(std::string_view text);
// "a/./b/../c" -> "a/c"; ".." above the root stays at the root.
std::string normalised(std::string_view path);

}  // namespace cffs::grouping
