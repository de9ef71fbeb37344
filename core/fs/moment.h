// A moment of a store in use, held still for who copies it, while its users go on.
//
// Rows: a snapshot of the table. Composites: never changed below the size that their row has, where a row
// names their data (core/reorganise/punching.h waits for the moment's end). Blobs are changed in place, so who is
// about to change one tells a BlobKeeper first, which puts the old bytes where it wants them. Objects that go are moved below
// `held/` until they are let go; a store that nobody closed removes what is there when it is opened (core/fs/recovery.h).
//
// The moment itself is a gate that changes of blobs pass: it is closed for as long as the snapshot takes, and who only reads, or
// changes names or small files, never meets it. While nobody holds a moment a change of a blob costs one relaxed load.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/mutex.h"
#include "core/object/object_store.h"
#include "core/table/inode.h"
#include "core/table/pending_removal.h"
#include "core/table/table.h"

namespace cffs {

// Who keeps what blobs had at the moment. Called from any thread, without locks of the engine.
class BlobKeeper {
 public:
  virtual ~BlobKeeper() = default;
  // Bytes [offset, offset + length) of the blob are about to change. `size`: of the file, as it was at the moment where this is
  // the first call for it. Nothing that fails here may fail the change: the keeper remembers it.
  virtual void keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size,
                    std::uint64_t offset, std::uint64_t length) = 0;
};

// One moment, from FileSystem::hold_moment(). It ends with this object, which must go before the file system closes.
class Moment {
 public:
  virtual ~Moment() = default;
  virtual const TableSnapshot& rows() const = 0;
  // What was known of the inode beyond its row, where that could not be written; `inode` is the row's.
  virtual void complete(Inode& inode) const = 0;
  // The object as of the moment, wherever it is by now. ENOENT.
  virtual Result<std::shared_ptr<Object>> open(const PendingRemoval& object) = 0;
  // It need not be held any longer.
  virtual void let_go(const PendingRemoval& object) = 0;
  // Why the moment can be held no longer: the medium is full, and its users need the room of what they have removed.
  virtual Status good() const = 0;
  virtual std::int64_t at_ns() const = 0;      // clock's
  virtual std::int64_t paused_us() const = 0;  // how long changes of blobs had to wait
};

// The engine's side. Thread safety: everything.
class MomentHold {
 public:
  explicit MomentHold(ObjectStore& store) : store_(store) {}

  // Whether changes of blobs must pass. Under the lock of the node that is changed, which begin()'s caller has had once since.
  bool watched() const { return watched_.load(std::memory_order_relaxed); }

  // Of who changes a blob in place, from before keep() until the row says what was done. No moment begins meanwhile.
  class Passage {
   public:
    explicit Passage(MomentHold& hold) : hold_(hold) { hold_.enter(); }
    ~Passage() { hold_.leave(); }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
    void keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size, std::uint64_t offset,
              std::uint64_t length);

   private:
    MomentHold& hold_;
  };

  // An object is about to be removed. True: it was moved aside, and is gone as far as its name goes.
  Result<bool> set_aside(const PendingRemoval& object);
  // A blob of this number is about to be made: it is not the moment's.
  void made_anew(InodeId ino);
  // Gives back the room of what is held. False: nothing is.
  bool give_up();

  // Who follows the store reads blobs as of a checkpoint: `keeper` is asked about all of them from now on; null: no more. While the
  // gate is closed, or nobody can have come to it. Changes pass once every node's lock was had.
  void ask_for_followers(BlobKeeper* keeper);
  // An end to close() that changes nothing else.
  void reopen();

  // --- for who holds ---
  static constexpr const char* kFolder = "held";
  // EBUSY: somebody holds one already. Changes pass the gate from now on, once every node's lock was had.
  Status begin();
  // No change of a blob is under way between close() and open().
  void close();
  // No object goes, and no blob is made, while `snapshot` runs: what goes after it is moved aside.
  void take(const std::function<void()>& snapshot);
  // `keeper` is asked from now on, about numbers below this one.
  void open(BlobKeeper* keeper, std::uint64_t first_new_number);
  // Nobody calls the keeper any more; what was moved aside is removed.
  void end();
  Result<std::shared_ptr<Object>> open_object(const PendingRemoval& object);
  void let_go(const PendingRemoval& object);
  Status good() const;

 private:
  void enter();
  void leave();
  static std::string held_name(const PendingRemoval& object);
  void remove_held() CFFS_REQUIRES(objects_);
  void remove_left();

  ObjectStore& store_;
  std::atomic<bool> watched_{false};
  std::atomic<bool> full_{false};

  Mutex gate_;  // leaf
  CondVar gate_changed_;
  bool begun_ CFFS_GUARDED_BY(gate_) = false;
  bool closed_ CFFS_GUARDED_BY(gate_) = false;
  std::size_t inside_ CFFS_GUARDED_BY(gate_) = 0;
  // Changes only while the gate is closed, so who is inside reads it without the mutex.
  std::atomic<BlobKeeper*> keeper_{nullptr};
  std::atomic<BlobKeeper*> followers_keeper_{nullptr};
  std::atomic<std::uint64_t> first_new_{0};

  mutable Mutex objects_;  // rank 5: held while an object is opened or renamed
  bool taken_ CFFS_GUARDED_BY(objects_) = false;
  std::set<PendingRemoval> aside_ CFFS_GUARDED_BY(objects_);
  std::set<PendingRemoval> let_go_ CFFS_GUARDED_BY(objects_);
  std::unordered_set<InodeId> anew_ CFFS_GUARDED_BY(objects_);
};

}  // namespace cffs
