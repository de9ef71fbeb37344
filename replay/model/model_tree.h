// What a file system must answer: a tree of names, sizes and contents to which a trace's operations are applied, one after
// the other, in memory.
//
// Two uses. Replaying: each operation's expected outcome (success or errno, bytes, contents, number of entries) and what it
// touches, from which the order between clients follows. Importing: with `infers`, a name that an operation found, and
// that nothing in the trace made, must have been there before; so the initial tree of a recording emerges, with the
// sizes that reads and stats showed.
//
// Contents: a byte is a function of the operation that wrote it (its stamp) and its offset (content.h); what was never
// written is zero. Paths are taken as normalised. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/trace/trace.h"

namespace cffs::replay {

using NodeIndex = std::uint32_t;

// A piece of a file as one operation wrote it. Stamp 0: a hole.
struct Segment {
  std::uint64_t offset = 0, length = 0;
  std::uint64_t stamp = 0;
};

struct Outcome {
  int error = 0;             // errno; 0: success
  std::uint64_t length = 0;  // bytes moved (read, write, fetch), size (stat), entries (readdir)
  bool checkable = false;    // whether `length` is known to be right
  bool is_directory = false;
};

// How operations on one thing order each other: those of one kind commute with their like, but for exclusive ones.
struct Touch {
  enum class How : std::uint8_t { shared, additive, exclusive };
  std::uint64_t what = 0;  // a name, a node, a listing or a handle, numbered apart
  How how = How::shared;
};

class ModelTree {
 public:
  enum class Mode { replays, infers };
  // `root`: what absolute symlink targets start with, of the place that was recorded.
  ModelTree(Mode mode, std::string root);

  // An entry of the initial tree; its parents are made where they are missing.
  void add(const std::string& path, const InitialEntry& entry);
  // `stamp` marks what it writes. Segments of what a read must return are appended to `segments`, where given.
  Outcome apply(const Operation& operation, const Trace& trace, std::uint64_t stamp,
                std::vector<Segment>* segments);
  const std::vector<Touch>& touches() const { return touches_; }  // of the last apply()

  // The size of what a handle is open on; 0 where it is not known.
  std::uint64_t size_of(std::uint32_t handle) const;
  bool is_directory(const std::string& path);
  // What is known of a path. Symlinks on the way are not followed: what is behind one counts as there.
  enum class Presence { there, absent, unknown };
  Presence presence(std::string_view path) const;
  bool is_open_on(std::uint32_t handle, const std::string& path);
  // The tree as it is now, parents first, with paths interned in `trace`; and the present path of what each open handle is
  // on (none where its name is gone).
  std::vector<InitialEntry> present(Trace& trace,
                                    std::unordered_map<std::uint32_t, PathId>& open_paths) const;
  // What is at a path now, and below it, by paths relative to it ("": itself), which the entries do not have. Where nothing is
  // known to be there, an empty file.
  using Found = std::vector<std::pair<std::string, InitialEntry>>;
  Found present_at(const std::string& path);
  // The entries that must have been there before, parents first; paths are interned in `trace`.
  std::vector<InitialEntry> inferred(Trace& trace) const;
  // Stamp of a file of the initial tree; no operation has such a one.
  static std::uint64_t initial_stamp(std::string_view path);

 private:
  static constexpr NodeIndex kUnknown = 0xffffffff;  // nothing was said about this name yet
  static constexpr NodeIndex kAbsent = 0xfffffffe;

  struct Node {
    char kind = 'f';
    bool kind_certain = false;
    bool initial = false;
    bool changed = false;  // by the trace: sizes seen later are not the initial one's
    bool size_certain = false;
    std::uint32_t mode = 0;
    std::uint32_t children = 0;
    NodeIndex parent = 0;  // of a directory
    std::uint64_t size = 0, initial_size = 0;
    std::map<std::uint64_t, Segment> extents;  // by offset, disjoint; holes are not there
    std::string target;
    std::string initial_path;
  };
  struct WalkEnd {
    NodeIndex directory = 0;
    std::uint32_t entry = 0;  // of the last component; 0 for the root itself
    NodeIndex node = kAbsent;
    int error = 0;  // the walk failed before the last component, or the last one is not there
  };
  struct EntryKey {
    NodeIndex directory;
    std::string name;
    bool operator==(const EntryKey&) const = default;
  };
  struct EntryHash {
    std::size_t operator()(const EntryKey& key) const {
      return std::hash<std::string>()(key.name) ^ (key.directory * 0x9e3779b97f4a7c15u);
    }
  };
  // What the recording tells about the last component: whether it existed, and what it was.
  struct Evidence {
    bool exists = false;
    char kind = '?';  // '?': unknown, '-': it was looked for and is not there
  };

  std::uint32_t entry_of(NodeIndex directory, std::string_view name);
  WalkEnd walk(NodeIndex from, std::string_view path, bool follow, const Evidence& evidence, int depth);
  NodeIndex make_node(char kind, bool initial);
  NodeIndex infer(NodeIndex directory, std::string_view name, char kind);
  void settle_kind(NodeIndex node, char kind);
  Evidence evidence_of(const Operation& o) const;
  std::optional<std::string> within(const std::string& target) const;

  void touch(std::uint64_t kind, std::uint64_t id, Touch::How how) {
    touches_.push_back({id * 4 + kind, how});
  }
  void touch_entry(std::uint32_t entry, Touch::How how) { touch(0, entry, how); }
  void touch_node(NodeIndex node, Touch::How how) { touch(1, node, how); }
  void touch_listing(NodeIndex node, Touch::How how) { touch(2, node, how); }
  void touch_handle(std::uint32_t handle, Touch::How how) { touch(3, handle, how); }

  WalkEnd walk_to_new(PathId path, bool made, const Trace& trace);
  Outcome apply_open(const Operation& o, const Trace& trace);
  Outcome apply_rename(const Operation& o, const Trace& trace);
  Outcome apply_link(const Operation& o, const Trace& trace);
  Outcome make_entry(const Operation& o, const Trace& trace, char kind);
  Outcome remove_entry(const Operation& o, const Trace& trace);
  Outcome list(NodeIndex node);
  Outcome read(NodeIndex node, const Operation& o, std::vector<Segment>* segments);
  Outcome write(NodeIndex node, const Operation& o, std::uint64_t stamp);
  void truncate(NodeIndex node, std::uint64_t size);
  void cut(Node& node, std::uint64_t from, std::uint64_t to);
  void see_size(NodeIndex node, const Operation& o);
  void put(const WalkEnd& end, NodeIndex node);
  using Children = std::unordered_map<NodeIndex, std::vector<std::pair<const std::string*, NodeIndex>>>;
  Children children() const;
  static InitialEntry described(const Node& node);
  NodeIndex on_handle(std::uint32_t handle) const;
  int refusal_on_handle(const Operation& o) const;

  Mode mode_;
  std::string root_;
  bool refused_ = false;  // the operation at hand failed when it was recorded: it changes nothing
  std::vector<Node> nodes_;
  std::unordered_map<EntryKey, std::uint32_t, EntryHash> entries_;
  std::vector<NodeIndex> entry_nodes_;
  struct Opened {
    NodeIndex node = kAbsent;
    std::uint32_t flags = 0;  // of its open
  };
  std::unordered_map<std::uint32_t, Opened> handles_;
  std::vector<Touch> touches_;
};

}  // namespace cffs::replay
