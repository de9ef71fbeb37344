// Who embeds whom, and which group follows from it.
//
// Rules (composite-file paper, reference mode, made exact):
//  - A file that several documents embed belongs to one: an HTML document before others, then the one that was there
//    first (the lowest number).
//  - An HTML document never is a member of another's group; other documents (style sheets, headers) may be.
//  - A file that at least `shared` documents embed goes to its owner's second group, of shared resources, so that no
//    single document's group carries it.
//  - Files further than `depth` references from the group's document stay out.
//  - A cycle is headed by its lowest number.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "grouping/reference/resolve.h"

namespace cffs::grouping {

struct ReferenceOptions {
  ResolveOptions resolve;
  unsigned depth = 1;   // 1: immediate references
  unsigned shared = 8;  // documents
};

// An edge: `document` says that `holder` embeds `target`. For all but build rules the holder is the document itself.
struct Edge {
  FileId holder = 0;
  FileId target = 0;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

struct DocumentLinks {
  std::vector<Edge> edges;         // without repetitions and self-references, in order of appearance
  std::vector<std::string> stems;  // stem_of() every target, found or not, each once
  std::uint64_t lookups = 0;  // what was looked up for it, long paths more than once; at most kMostLookups
};
inline constexpr std::uint64_t kMostLookups = 1u << 16;

DocumentLinks links_of(FileId document, const std::string& path, const Extracted& extracted,
                       const ReferenceOptions& options, FileLookup& lookup);

// What a file's name has in common with every way to refer to it: "Logo" for img/Logo.png, lowercased. A file that
// arrives after the document that embeds it is found again by it.
std::string stem_of(std::string_view path);

// What the rules need to know of the graph; in memory, or kept in a table.
class ReferenceGraph {
 public:
  virtual ~ReferenceGraph() = default;
  struct Owner {
    FileId holder = 0;
    unsigned holders = 0;  // how many embed it; may stop counting at ReferenceOptions::shared
  };
  virtual std::optional<Owner> owner(FileId target) = 0;   // nullopt: nobody embeds it
  virtual std::vector<FileId> targets(FileId holder) = 0;  // in order of appearance
  virtual bool is_html(FileId file) = 0;
};

struct Placement {
  FileId head = 0;
  bool shared = false;
  friend auto operator<=>(const Placement&, const Placement&) = default;
};
// The group that a file belongs to; nullopt: none, its directory decides.
std::optional<Placement> placement_of(FileId file, ReferenceGraph& graph, const ReferenceOptions& options);
// Members of a group in the order in which they are to lie: the head, then what it embeds as it appears.
std::vector<FileId> members_of(const Placement& group, ReferenceGraph& graph,
                               const ReferenceOptions& options);

class MemoryReferenceGraph final : public ReferenceGraph {
 public:
  // Before the edges: who owns a file depends on it.
  void set_html(FileId file) { html_.insert(file); }
  void add(const Edge& edge);
  std::optional<Owner> owner(FileId target) override;
  std::vector<FileId> targets(FileId holder) override;
  bool is_html(FileId file) override { return html_.contains(file); }

 private:
  std::unordered_map<FileId, std::vector<FileId>> targets_;
  std::unordered_map<FileId, Owner> owners_;
  std::unordered_set<FileId> html_;
};

}  // namespace cffs::grouping
