#include "core/batch/group_members.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/composite/composite_store.h"
#include "core/composite/record.h"
#include "core/fs/rehousing.h"

namespace cffs {
namespace {

// From a directory's number to its path: up, by the names that the engine knows.
class DirectoryPaths {
 public:
  explicit DirectoryPaths(FileSystem& fs) : fs_(fs) {}
  ~DirectoryPaths() { forget(); }
  DirectoryPaths(const DirectoryPaths&) = delete;
  DirectoryPaths& operator=(const DirectoryPaths&) = delete;

  // nullopt: it is gone. Without recursion: a tree may be deep.
  std::optional<std::string> of(InodeId directory) {
    if (const auto known = known_.find(directory); known != known_.end()) return known->second;
    std::vector<std::string> names;  // upwards
    std::size_t bytes = 0;
    std::unordered_set<InodeId> met;  // rows of a damaged store may lead in a circle
    forget();
    for (InodeId at = directory; at != kRootInode;) {
      if (!met.insert(at).second || !fs_.lookup(at, ".")) return std::nullopt;
      referenced_.push_back(at);
      auto place = fs_.last_place(at);
      if (!place) return std::nullopt;
      at = place->parent;
      bytes += 1 + place->name.size();
      names.push_back(std::move(place->name));
    }
    std::string path;
    path.reserve(bytes);
    for (auto name = names.rbegin(); name != names.rend(); ++name) path.append("/").append(*name);
    return known_[directory] = std::move(path);
  }

 private:
  void forget() {
    for (const InodeId ino : std::exchange(referenced_, {})) fs_.forget(ino, 1);
  }

  FileSystem& fs_;
  std::unordered_map<InodeId, std::string> known_;
  std::vector<InodeId> referenced_;
};

std::string shown(const std::string& path) {
  const std::size_t first = path.find_first_not_of('/');
  return first == std::string::npos ? "/" : "/" + path.substr(first);
}

}  // namespace

Result<std::vector<GroupMember>> group_of(FileSystem& fs, const std::string& path) {
  CFFS_TRY(const FilePlace own, PlaceFinder(fs).find(path));
  std::vector<GroupMember> members;
  if (own.composite.value == 0) return std::vector<GroupMember>{{shown(path), own}};
  CFFS_TRY(const auto object, fs.composites().open(own.composite));
  CFFS_TRY(const ObjectInfo info, object->info());
  DirectoryPaths directories(fs);
  // From record to record; a member that was appended later begins another group.
  for (std::uint64_t at = own.group_offset;;) {
    std::string bytes(kRecordHeaderBytes, '\0');
    CFFS_TRY(const std::size_t header, object->read_at(at, as_writable_bytes(bytes)));
    if (header < kRecordHeaderBytes) break;
    const std::uint64_t meta = meta_length(bytes);
    if (meta == 0 || meta > kLargestMeta || meta > info.size - std::min(at, info.size)) break;
    bytes.resize(kRecordHeaderBytes + meta);
    CFFS_TRY(const std::size_t n, object->read_at(at, as_writable_bytes(bytes)));
    const auto parsed = parse_record(std::string_view(bytes).substr(0, n));
    if (!parsed || !*parsed) break;  // damage: those before it are whole
    const RecordMeta& record = **parsed;
    CFFS_TRY(const auto files, fs.rehousing().members_of(record, own.composite));
    bool other_group = false;
    for (const FileToMove& file : files) {
      if (file.inode.extent.group_offset != own.group_offset) {
        other_group = true;
        continue;
      }
      const FilePlace place = place_of(file.inode, file.at.parent);
      if (place.ino == own.ino) {
        members.push_back({shown(path), own});
      } else if (const auto above = directories.of(file.at.parent); above && !file.at.name.empty()) {
        members.push_back({*above + "/" + file.at.name, place});
      }
    }
    if (other_group) break;
    at += record.record_bytes();
  }
  const bool has_own = std::any_of(members.begin(), members.end(),
                                   [&](const GroupMember& m) { return m.place.ino == own.ino; });
  if (!has_own) members.push_back({shown(path), own});
  return members;
}

}  // namespace cffs
