// What large files had before they changed in place, for those who read an earlier checkpoint (docs/FOLLOWING.md).
//
// Changes between two checkpoints are of one epoch, which has the earlier one's number, and an object of its own,
// kept/EPOCH: records of file, offset and bytes, each written before the bytes that it saves are overwritten. Who reads
// checkpoint C reads the blob first, then the records of C and of every later epoch, and takes of several that speak of one byte the
// first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/fs/moment.h"
#include "core/object/object_store.h"

namespace cffs {

struct KeptRecord {
  InodeId ino;
  std::uint64_t offset = 0;  // of the file; bytes
  std::string_view bytes;    // empty: what the file had is lost, from this record on
};

inline constexpr const char* kKeptFolder = "kept";
inline constexpr std::size_t kKeptHeader = 32;            // bytes before those of a record
inline constexpr std::uint64_t kKeptPiece = 1u << 20;     // most bytes in one record
std::string kept_object_name(std::uint64_t epoch);
// nullopt: not an epoch's.
std::optional<std::uint64_t> kept_epoch(std::string_view object_name);
std::string encode_kept(const KeptRecord& record);
struct KeptHead {
  InodeId ino;
  std::uint64_t offset = 0, length = 0;
};
// Of the record that these kKeptHeader bytes begin; its bytes are not looked at. nullopt: they begin none.
std::optional<KeptHead> kept_head(std::string_view bytes);
// The record that `bytes` begin with, and its length; nullopt: there is no whole one.
std::optional<std::pair<KeptRecord, std::size_t>> decode_kept(std::string_view bytes);

// The writer's side. Thread safety: everything; changes of blobs pass MomentHold's gate.
class KeptBytes final : public BlobKeeper {
 public:
  // Of one epoch, bytes: then the file at hand is lost to those who read what was before.
  static constexpr std::uint64_t kMost = 256u << 20;

  explicit KeptBytes(ObjectStore& store) : store_(store) {}
  // While no change is under way.
  void begin_epoch(std::uint64_t epoch);
  void keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size, std::uint64_t offset,
            std::uint64_t length) override;
  // Called, without locks, where not even the loss of a file could be said: what was before this epoch is nobody's any more.
  void on_lost(std::function<void()> lost) { lost_ = std::move(lost); }
  // Removes the objects of the epochs of which `may_go` says so; failures wait for the next call.
  void remove(const std::function<bool(std::uint64_t)>& may_go);
  bool empty() const;
  std::set<std::uint64_t> epochs() const;
  // Of the epochs that there is something of, the last; 0: there is none.
  std::uint64_t last() const;
  // What an earlier writer left.
  Status load();

 private:
  Status save(InodeId ino, const Object& object, std::uint64_t begin, std::uint64_t end) CFFS_REQUIRES(mutex_);
  Status append(const KeptRecord& record) CFFS_REQUIRES(mutex_);

  ObjectStore& store_;
  std::function<void()> lost_;
  mutable Mutex mutex_;  // rank 5: held while bytes are copied
  std::uint64_t epoch_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t bytes_ CFFS_GUARDED_BY(mutex_) = 0;  // of this epoch
  std::uint64_t end_ CFFS_GUARDED_BY(mutex_) = 0;    // of its object
  bool given_up_ CFFS_GUARDED_BY(mutex_) = false;    // what it had is gone, and nothing more is kept in it
  std::shared_ptr<Object> object_ CFFS_GUARDED_BY(mutex_);
  std::set<std::uint64_t> epochs_ CFFS_GUARDED_BY(mutex_);  // that have an object
  struct File {
    std::set<std::uint64_t> blocks;  // saved
    bool lost = false;
  };
  std::unordered_map<InodeId, File> files_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
