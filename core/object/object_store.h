// ObjectStore: the one seam for I/O. Everything a store owns, LevelDB's own files included, is a named object
// here, so a backend is one class and fault injection is another.
//
// Names are relative paths of one or more components ("blobs/0/17"); a backend makes the folders it needs.
// Contract (tests/unit/object_store_contract_test.cc runs against every backend):
//  - An Object stays readable and writable after remove() of its name, until the last handle goes (as POSIX unlink).
//  - What is visible: a completed write is seen by every later read through any handle.
//  - What is durable: an object's bytes and its name after Object::sync(); removals and renames of names after
//    sync_names(). Nothing else is promised to survive a power cut.
//  - Thread safety: all calls, on stores and on objects, from any thread. Overlapping concurrent writes to one object
//    are the caller's to order.
//  - Errors carry the errno and the object's name. Reads past the end are short, never an error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"

namespace cffs {

struct ObjectInfo {
  std::uint64_t size = 0;       // bytes
  std::uint64_t allocated = 0;  // bytes that the backend holds for it; less than size where it is sparse
};

class Object {
 public:
  virtual ~Object() = default;

  // Fills `out` from `offset`; returns the bytes read, short only at the end of the object.
  virtual Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const = 0;
  // The same, but only if no device has to be waited for: nullopt where it would have to.
  virtual Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const {
    CFFS_TRY(const std::size_t n, read_at(offset, out));
    return std::optional<std::size_t>(n);
  }
  // The same, but what the medium has, whatever memory has: for who looks for rot. Backends that cannot tell read as always.
  virtual Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const {
    return read_at(offset, out);
  }
  // How much of the range is in memory, or on its way there: 0 to 1, without asking the device for it; nullopt where that cannot
  // be told. try_read_at() of a range that is absent makes the kernel fetch just that range: a request of its own beside the
  // one that would bring more.
  virtual std::optional<double> share_in_memory(std::uint64_t /*offset*/, std::uint64_t /*length*/) const {
    return std::nullopt;
  }
  // Writes all of `data`; a gap between the old end and `offset` reads as zeros.
  virtual Status write_at(std::uint64_t offset, ConstBytes data) = 0;
  // Writes all of `data` at the end, returns where it begins. Not to be mixed with concurrent appends.
  virtual Result<std::uint64_t> append(ConstBytes data) = 0;
  // A hint that it will have about so many bytes: for backends that choose its place before they are there.
  virtual void expect(std::uint64_t /*bytes*/) {}
  virtual Status truncate(std::uint64_t size) = 0;
  // Turns the range into a hole inside the object, where the backend can; zeros are written where it cannot.
  virtual Status punch_hole(std::uint64_t offset, std::uint64_t length) = 0;
  // The range, inside the object, becomes a hole whose room is the medium's again. False: the backend cannot, nothing is done.
  virtual Result<bool> give_back(std::uint64_t offset, std::uint64_t length) {
    CFFS_TRY_VOID(punch_hole(offset, length));
    return true;
  }
  // Reserves room for the range, so that writing there cannot fail for want of space; what was not written reads as
  // zeros. Never changes the size: the range may lie beyond the end. EOPNOTSUPP where the backend cannot promise it.
  virtual Status allocate(std::uint64_t offset, std::uint64_t length) = 0;
  virtual Result<ObjectInfo> info() const = 0;
  // The first byte at or after `offset` that may hold data; the object's size if none does.
  virtual Result<std::uint64_t> next_data(std::uint64_t offset) const = 0;
  // The first byte at or after `offset` that is in a hole; the object's size if none is.
  virtual Result<std::uint64_t> next_hole(std::uint64_t offset) const = 0;
  // All that `source` holds, shared with it until one of the two changes (FICLONE). False: the backend cannot, nothing is done.
  virtual bool clone_from(const Object& /*source*/) { return false; }
  // The object that this one shows unchanged, for clone_from().
  virtual std::shared_ptr<const Object> unchanged() const { return nullptr; }
  // A hint that it will be synced soon: for who syncs many, so that the medium has them all at once. Returns without waiting.
  // `length` 0: from there to its end.
  virtual void begin_writeback(std::uint64_t /*offset*/ = 0, std::uint64_t /*length*/ = 0) {}
  // Bytes, size and name become durable.
  virtual Status sync() = 0;
  // From now on a read brings what it asks for and no more, through whoever's handle: who reads ahead does it by prefetch().
  virtual void read_no_further() const {}
  // A hint that [offset, offset+length) will be read soon; returns at once.
  virtual void prefetch(std::uint64_t offset, std::uint64_t length) const = 0;
};

// No object that is read whole is larger: logs, manifests, the plan, a part of the access record. Bytes.
inline constexpr std::uint64_t kWholeMax = std::uint64_t{1} << 30;

// All that an object holds. EFBIG: more than kWholeMax.
inline Result<std::string> read_whole(const Object& object) {
  CFFS_TRY(const ObjectInfo info, object.info());
  if (info.size > kWholeMax) return fail(EFBIG, "an object of " + std::to_string(info.size) + " bytes");
  std::string bytes(info.size, '\0');
  CFFS_TRY(const std::size_t n, object.read_at(0, as_writable_bytes(bytes)));
  bytes.resize(n);
  return bytes;
}

struct SpaceInfo {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t available_bytes = 0;  // to an unprivileged user
  std::uint64_t total_inodes = 0;     // 0 where the backend has no such limit
  std::uint64_t free_inodes = 0;
  bool shares_inodes = false;  // others on the same medium take them, too
};

// What a backend that lays objects out itself has of one kind of room.
struct RoomKind {
  std::string kind;           // "small", "large"
  std::uint64_t regions = 0;  // pieces of the medium of this kind
  std::uint64_t bytes = 0, free_bytes = 0;
  std::uint64_t free_runs = 0;  // pieces that the free bytes are in
};
struct Layout {
  std::vector<RoomKind> rooms;             // empty: the backend leaves that to a file system
  std::uint64_t objects = 0, extents = 0;  // pieces that the objects are in
  std::vector<std::string> damaged;        // objects that it cannot show, and why; a sentence each
};

// What a backend keeps of the store nearer than the store itself is (docs/RADOS_STORE.md), since it was opened.
struct NearCopies {
  std::string directory;
  bool is_ours =
      false;  // else another user of the store on this host has it, and this one does without, until it is free
  std::uint64_t bytes = 0, most_bytes = 0;
  std::uint64_t found = 0, missed = 0;  // pages that were asked for
  std::uint64_t damaged = 0;            // reads of which a page was not what had been put there
};

// Held as long as the store is in use; releasing is destroying.
class StoreLock {
 public:
  virtual ~StoreLock() = default;
};

// The holder's text where those who hold the store only look at it.
inline constexpr const char* kSomebodyReads = "a read-only mount, or a command that looks at it";

class ObjectStore {
 public:
  enum class Create { exclusive, truncate, keep };

  virtual ~ObjectStore() = default;

  // exclusive: EEXIST where the name is taken. truncate: empties it. keep: opens what is there.
  virtual Result<std::shared_ptr<Object>> create(std::string_view name, Create how) = 0;
  virtual Result<std::shared_ptr<Object>> open(std::string_view name) = 0;  // ENOENT
  virtual Status remove(std::string_view name) = 0;                         // ENOENT
  virtual Status rename(std::string_view from, std::string_view to) = 0;    // replaces `to`
  virtual Result<bool> exists(std::string_view name) = 0;
  // Names of all objects below `folder` ("" is everything), sorted, relative to the store.
  virtual Result<std::vector<std::string>> list(std::string_view folder) = 0;
  // Makes removals and renames so far durable.
  virtual Status sync_names() = 0;
  // Makes everything durable that anybody has written so far, in objects and names, through whatever handle: also what a
  // process left that is gone. Slow; for who opens a store that nobody closed.
  virtual Status sync_everything() = 0;
  virtual Result<SpaceInfo> space() = 0;
  virtual Result<Layout> layout() { return Layout(); }
  virtual std::optional<NearCopies> near_copies() const { return {}; }
  // One user at a time. `owner` tells the next one who holds it. EBUSY carries the holder's text.
  virtual Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) = 0;
  // Several at a time, none beside a lock(). Writes nothing: who looks leaves no name. EPERM: whoever asks may not hold one.
  virtual Result<std::unique_ptr<StoreLock>> lock_for_reading() = 0;
  // Who has the lock() now, alive or not, for those who may hold none; `owner` is "" where nobody has. `turn` differs for any two that
  // had it, so what is the same before and behind had nobody between. EOPNOTSUPP: the backend cannot tell.
  struct Writer {
    std::string owner, turn;
    bool operator==(const Writer&) const = default;
  };
  virtual Result<Writer> writer() {
    return fail(EOPNOTSUPP, "a store of this kind does not tell who has it");
  }
  // Who reads the store beside its writer makes itself known for as long as the result lives, whoever has the lock. Writes nothing.
  // EOPNOTSUPP: the backend cannot say so to its writer. ENOENT: nobody who tells followers has written to the store yet.
  virtual Result<std::unique_ptr<StoreLock>> follow() {
    return fail(EOPNOTSUPP, "a store of this kind cannot be followed");
  }
  // For who reads beside a writer: names below `folder` ("" is everything), and what their objects have, are as the writer has them by
  // now. Handles may stay at what they were. Backends that look at what the writer changes have nothing to do.
  virtual Status look_again(std::string_view /*folder*/) { return {}; }
  // The same of one object.
  virtual Status look_again_at(std::string_view /*name*/) { return {}; }
  // Whether anybody does follow; for the holder of lock(). Who cannot be asked may be there.
  virtual bool followed() { return false; }
  // What to call where the process has no descriptor left: closes some that can be opened again and returns how many. Null:
  // nothing any more. What needs a descriptor then tries again. Called with no lock of the store held.
  virtual void on_shortage(std::function<std::size_t()> /*relieve*/) {}
  // The block device that all of it lies on, where the kernel can mount that as such; empty: there is none.
  virtual std::string block_device() const { return {}; }
  // While the store is locked nobody else has its device for himself alone, as the kernel has one that is mounted. From the first of
  // these to the second the kernel may. EBUSY: somebody has it.
  virtual void lend_device() {}
  virtual Status take_device_back() { return {}; }
  // What was written and not synced is there after the end of this process, as what a kernel was given is.
  virtual bool outlives_the_process() const { return true; }
  // Zeros that are written into an object take room as all bytes do, until they go: where allocate() can promise none they hold it.
  virtual bool zeros_hold_room() const { return false; }
  // Nobody but its owner, who is the caller or root, could have put anything into it.
  virtual bool is_private() const { return true; }
  // For messages: where this store is.
  virtual std::string description() const = 0;
};

}  // namespace cffs
