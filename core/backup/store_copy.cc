#include "core/backup/store_copy.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "core/base/checksum.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/fs/kept_bytes.h"
#include "core/fs/space_guard.h"
#include "core/fs/store_format.h"
#include "core/object/store_use.h"
#include "core/table/checkpoint.h"

namespace cffs {
namespace {

using Create = ObjectStore::Create;

constexpr std::size_t kRead = 1u << 20;  // bytes at a time
constexpr std::size_t kCompared =
    64 << 10;  // what differs is written in pieces of this; what is zeros alone stays a hole

// What makes a store of the objects; last there, first gone.
constexpr const char* kSuperblocks[] = {"superblock.copy", "superblock"};

// A store's own locks, the room that it keeps for a full disk, and what it has for those who follow it are not copied.
bool stays(const std::string& name) {
  return name == "lock" || name == "followers" || name == SpaceGuard::kObjectName ||
         SpareObjects::is_one(name) || name == kUnfinishedCopy || name == kCheckpointObject ||
         name.starts_with(std::string(kKeptFolder) + "/");
}
bool is_superblock(const std::string& name) {
  return std::find(std::begin(kSuperblocks), std::end(kSuperblocks), name) != std::end(kSuperblocks);
}

bool is_uuid(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_zeros(ConstBytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

class StoreCopy {
 public:
  StoreCopy(ObjectStore& from, ObjectStore& to, const StoreCopyOptions& options)
      : from_(from), to_(to), options_(options) {}

  Result<StoreCopyReport> run() {
    CFFS_TRY(const auto reading, use_to_look(from_));
    CFFS_TRY(const StoreFormat format, read_format(from_));
    CFFS_TRY_VOID(look(format.uuid));  // a place that is refused is left as it is, without a lock of ours
    CFFS_TRY(const auto writing, use_alone(to_, "cffs copy"));
    CFFS_TRY_VOID(begin(format.uuid));
    CFFS_TRY(const auto names, from_.list(""));
    std::vector<std::string> wanted;
    for (const std::string& name : names)
      if (!stays(name) && !is_superblock(name)) wanted.push_back(name);
    CFFS_TRY_VOID(remove_others({wanted.begin(), wanted.end()}));
    // Names of each folder are durable by themselves: none of what was here comes back beside the superblock.
    CFFS_TRY_VOID(to_.sync_names());
    Mutex mutex;
    Status failed;
    in_parallel(wanted.size(), options_.workers, [&](std::size_t i) {
      {
        const MutexLock guard(mutex);
        if (!failed) return;
      }
      const Status done = copy(wanted[i]);
      const MutexLock guard(mutex);
      if (!done && failed) failed = done;
    });
    CFFS_TRY_VOID(failed);
    for (const char* superblock : kSuperblocks) {
      CFFS_TRY(const bool is_there, from_.exists(superblock));
      if (is_there) CFFS_TRY_VOID(copy(superblock));
    }
    CFFS_TRY_VOID(to_.remove(kUnfinishedCopy));
    CFFS_TRY_VOID(to_.sync_names());
    return report();
  }

 private:
  // What the target is by now: nothing, or a copy of this store. Anything else is refused.
  struct Found {
    bool is_begun = false, is_copy = false;
  };
  Result<Found> look(const std::string& uuid) const {
    CFFS_TRY(const auto names, to_.list(""));
    Found found;
    std::string of;
    CFFS_TRY(const bool is_marked, to_.exists(kUnfinishedCopy));
    if (is_marked) {
      CFFS_TRY(const auto mark, to_.open(kUnfinishedCopy));
      CFFS_TRY(of, read_whole(*mark));
    }
    // One that was cut in its first moment, before anything was changed here, may have lost its bytes, or the last ones, and says nothing.
    found.is_begun = of == uuid || is_uuid(of);
    if (found.is_begun) {
      found.is_copy = of == uuid;
    } else if (std::any_of(names.begin(), names.end(),
                           [](const std::string& name) { return is_superblock(name); })) {
      CFFS_TRY(const StoreFormat there, read_format(to_));
      found.is_copy = there.uuid == uuid;
    } else if (std::any_of(names.begin(), names.end(),
                           [](const std::string& name) { return !stays(name); })) {
      return fail(Error::usage(to_.description() +
                               " holds something that is no store; name another place for the copy"));
    } else {
      return found;
    }
    if (!found.is_copy)
      return fail(Error::usage(to_.description() +
                               " is another store, or a copy of one; name another place for the copy"));
    return found;
  }

  // The target becomes a copy of this store, or is left alone.
  Status begin(const std::string& uuid) {
    CFFS_TRY(const Found found, look(uuid));
    if (!found.is_copy || !found.is_begun) {
      CFFS_TRY(const auto mark, to_.create(kUnfinishedCopy, Create::truncate));
      CFFS_TRY_VOID(mark->write_at(0, as_bytes(uuid)));
      CFFS_TRY_VOID(mark->sync());
    }
    for (const char* superblock : kSuperblocks) {
      CFFS_TRY(const bool is_there, to_.exists(superblock));
      if (is_there) CFFS_TRY_VOID(to_.remove(superblock));
    }
    return to_.sync_names();
  }

  Status remove_others(const std::set<std::string>& wanted) {
    CFFS_TRY(const auto names, to_.list(""));
    for (const std::string& name : names) {
      if (stays(name) || wanted.contains(name)) continue;
      CFFS_TRY_VOID(to_.remove(name));
      ++removed_;
    }
    return {};
  }

  Status copy(const std::string& name) {
    CFFS_TRY(const auto source, from_.open(name));
    CFFS_TRY(const auto target, to_.create(name, Create::keep));
    CFFS_TRY(const ObjectInfo info, source->info());
    CFFS_TRY(const ObjectInfo before, target->info());
    const std::uint64_t known =
        std::min(before.size, info.size);  // bytes of the target that may be right already
    if (before.size > info.size) CFFS_TRY_VOID(target->truncate(info.size));
    if (before.size == 0) target->expect(info.size);
    std::string bytes(kRead, '\0'), there(kRead, '\0');
    std::vector<std::pair<std::uint64_t, std::uint64_t>>
        sums;  // of what was written: where, and what it must be
    std::uint64_t written = 0;
    for (std::uint64_t at = 0, next = 0; at < info.size; at = next) {
      next = at + std::min<std::uint64_t>(kRead, info.size - at);
      // A sparse file may be of any length. What the target has already is looked at.
      const auto data = at < known ? Result<std::uint64_t>(at) : source->next_data(at);
      if (data && *data >= next) {
        next = *data >= info.size ? info.size : *data / kRead * kRead;
        note(next - at);
        continue;
      }
      const std::size_t n = next - at;
      const auto got = source->read_at(at, as_writable_bytes(bytes).first(n));
      if (!got) return cannot_read(name, got.error());
      if (*got != n)
        return fail(EIO, from_.description() + ":" + name + " became shorter while it was copied");
      const std::size_t old = at < known ? std::min<std::uint64_t>(n, known - at) : 0;
      bool is_damaged = false;
      if (old > 0) {
        // Damaged there: written anew.
        is_damaged = !target->read_at(at, as_writable_bytes(there).first(old));
      }
      bool differs = false;
      for (std::size_t within = 0; within < n; within += kCompared) {
        const ConstBytes piece = as_bytes(bytes).subspan(within, std::min(kCompared, n - within));
        const bool is_known = at + within + piece.size() <= known;
        const bool is_same = is_known
                                 ? std::equal(piece.begin(), piece.end(),
                                              as_bytes(there).begin() + static_cast<std::ptrdiff_t>(within))
                                 : at + within >= known && is_zeros(piece);
        if (is_same && !is_damaged) continue;
        CFFS_TRY_VOID(target->write_at(at + within, piece));
        written += piece.size();
        differs = true;
      }
      if (differs) sums.emplace_back(at, checksum(as_bytes(bytes).first(n)));
      note(n);
    }
    CFFS_TRY(const ObjectInfo now, target->info());
    if (now.size != info.size) CFFS_TRY_VOID(target->truncate(info.size));
    CFFS_TRY_VOID(target->sync());
    for (const auto& [at, sum] : sums) {
      const std::size_t n = std::min<std::uint64_t>(kRead, info.size - at);
      CFFS_TRY(const std::size_t got, target->read_medium(at, as_writable_bytes(there).first(n)));
      if (got != n || checksum(as_bytes(there).first(n)) != sum)
        return fail(
            Error::corruption(to_.description() + ":" + name + " does not come back as it was written"));
    }
    ++objects_;
    bytes_written_ += written;
    if (written > 0 || before.size != info.size) ++written_;
    return {};
  }

  tl::unexpected<Error> cannot_read(const std::string& name, Error error) const {
    if (error.is_shortage()) return fail(std::move(error));  // says nothing of the object
    error.context = from_.description() + ":" + name + " cannot be read (" + error.message() +
                    "); cffs fsck says what is damaged, and the copy is not finished";
    error.kind = ErrorKind::corruption;
    return fail(std::move(error));
  }

  void note(std::size_t bytes) {
    bytes_ += bytes;
    if (!options_.progress) return;
    const MutexLock guard(progress_mutex_);
    options_.progress(report());
  }
  StoreCopyReport report() const { return {objects_, written_, removed_, bytes_, bytes_written_}; }

  ObjectStore& from_;
  ObjectStore& to_;
  const StoreCopyOptions& options_;
  Mutex progress_mutex_;
  std::atomic<std::uint64_t> objects_{0}, written_{0}, removed_{0}, bytes_{0}, bytes_written_{0};
};

}  // namespace

Result<StoreCopyReport> copy_store(ObjectStore& from, ObjectStore& to, const StoreCopyOptions& options) {
  return StoreCopy(from, to, options).run();
}

}  // namespace cffs
