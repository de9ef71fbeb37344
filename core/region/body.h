// One object of a region store: its name, its size, where its blocks lie, and its onode.
//
// Every change is written at once to the onode's live sector, which the next process reads as long as the device has not failed
// meanwhile; commit() makes what it is durable, in two steps: first bytes, nodes and region heads, then the onode's sector. Blocks
// that it lost go back to the store after that, not before.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/region/allocation.h"
#include "core/region/mapping.h"

namespace cffs::region {

// What the bodies of one store share.
struct Shared {
  BlockDevice& device;
  Geometry geometry;
  Allocation allocation;
  Epoch epoch;                 // in which the store was read
  std::atomic<int> failed{0};  // errno of the first flush that failed: nothing becomes durable any more
  std::atomic<std::uint64_t> freed{0};  // blocks that wait for a commit of their object
  std::atomic<bool> in_use{false};      // the superblock says so: what is to be changed may be
  std::atomic<bool> ended{false};       // the store was let go of
};

class Body {
 public:
  Body(std::shared_ptr<Shared> shared, OnodeId id, std::string name)
      : shared_(std::move(shared)), id_(id), name_(std::move(name)) {}
  // As recovery found it: durable as `durable_version` in that sector (none: 2).
  Body(std::shared_ptr<Shared> shared, OnodeId id, const Onode& onode, Mapping mapping,
       unsigned durable_sector, std::uint64_t durable_version, bool is_block_known);

  OnodeId id() const { return id_; }
  std::string name() const;

  Result<std::size_t> read(std::uint64_t offset, Bytes out) const;
  Result<std::optional<std::size_t>> try_read(std::uint64_t offset, Bytes out) const;
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const;
  Status write(std::uint64_t offset, ConstBytes data);
  Result<std::uint64_t> append(ConstBytes data);
  Status truncate(std::uint64_t size);
  Status punch(std::uint64_t offset, std::uint64_t length);
  Status reserve(std::uint64_t offset, std::uint64_t length);
  void expect(std::uint64_t bytes) { expected_.store(bytes, std::memory_order_relaxed); }
  ObjectInfo info() const;
  std::uint64_t extents() const;
  std::uint64_t next(std::uint64_t offset, bool data) const;
  // The pieces of the device that a range lies in.
  std::vector<DeviceRange> ranges(std::uint64_t offset, std::uint64_t length) const;

  // What it has among these blocks moves elsewhere; the old ones are free after its next commit. False: it has nothing there.
  Result<bool> move_out(const Run& region);

  // The live sector is written for the first time, or with another name.
  Status be_called(const std::string& name);
  // Its name is gone: the live sector says so.
  Status remove();
  // The same where another object has its name, and is newer. Where the live sector cannot say so, a tombstone will before anything of
  // it is anybody else's.
  void be_replaced();
  bool is_removed() const;
  bool may_be_durable() const;
  bool needs_commit() const;
  bool has_freed() const;

  // The first step of a commit has these ranges flushed, the second writes the onode and flushes that.
  struct Commit {
    std::vector<DeviceRange> ranges;
    std::string sector;  // empty: the onode has not changed
    std::uint64_t sector_offset = 0;
    unsigned sector_number = 0;
    std::uint64_t version = 0;
    // What the body has to do no more once it is done.
    std::uint64_t dirty_from = ~std::uint64_t{0}, dirty_to = 0;
    std::vector<std::uint64_t> nodes;
    std::vector<Run> freed;
  };
  // One commit of a body at a time (CommitTurns). Each that begins ends, or is given up: then the next one has to do all of it.
  Result<Commit> begin_commit();
  void end_commit(Commit commit);
  void give_up_commit(const Commit& commit);

  // Of one that is removed: what says so for good, in both sectors. Where its region becomes one of data and the power fails before that
  // is durable, bytes of others may lie over either.
  std::pair<std::uint64_t, std::string> tombstone();
  // All that it had, once no handle is left and its removal is durable (or it never was).
  void release();

  std::atomic<int> handles{0};

  // For who writes down the state of a store: what the medium has.
  struct Found {
    OnodeId id;
    Onode onode;
    unsigned durable_sector = kLiveSector;  // kLiveSector: none
    std::uint64_t durable_version = 0;
  };
  Result<Found> found();

 private:
  Result<std::size_t> read_with(const std::function<Status(std::uint64_t, Bytes)>& read, std::uint64_t offset,
                                Bytes out) const CFFS_REQUIRES_SHARED(mutex_);
  Status move_pieces(const std::vector<Mapping::Piece>& pieces) CFFS_REQUIRES(mutex_);
  Status writable(std::uint64_t offset = 0, std::uint64_t length = 0) const;
  Result<bool> write_in_place(std::uint64_t offset, ConstBytes data);
  Status write_blocks(std::uint64_t offset, ConstBytes data) CFFS_REQUIRES(mutex_);
  Status write_new(std::uint64_t offset, ConstBytes data, const Run& run) CFFS_REQUIRES(mutex_);
  Status write_growing(std::uint64_t offset, ConstBytes data) CFFS_REQUIRES(mutex_);
  Status zero(std::uint64_t offset, std::uint64_t length) CFFS_REQUIRES(mutex_);
  Status cut_block(std::uint64_t size) CFFS_REQUIRES(mutex_);
  Result<Run> take(std::uint64_t logical, std::uint64_t want) CFFS_REQUIRES(mutex_);
  void free(std::vector<Run> runs) CFFS_REQUIRES(mutex_);
  // To be called before a change: the onode's block is written whole, if it is not in memory, as it should be on the medium.
  Status begin_change() CFFS_REQUIRES(mutex_);
  Status write_live() CFFS_REQUIRES(mutex_);
  Status write_removal() CFFS_REQUIRES(mutex_);
  Status fill(Onode& onode, std::vector<Run>& unneeded) CFFS_REQUIRES(mutex_);
  void note_dirty(std::uint64_t offset, std::uint64_t length);
  std::vector<DeviceRange> ranges_locked(std::uint64_t offset, std::uint64_t length) const
      CFFS_REQUIRES_SHARED(mutex_);

  const std::shared_ptr<Shared> shared_;
  const OnodeId id_;
  std::atomic<std::uint64_t> expected_{0};  // bytes that it will have
  mutable SharedMutex mutex_;
  std::string name_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t size_ CFFS_GUARDED_BY(mutex_) = 0;
  Mapping mapping_ CFFS_GUARDED_BY(mutex_);
  bool removed_ CFFS_GUARDED_BY(mutex_) = false;
  std::uint64_t live_version_ CFFS_GUARDED_BY(mutex_) = 0, durable_version_ CFFS_GUARDED_BY(mutex_) = 0;
  unsigned durable_sector_ CFFS_GUARDED_BY(mutex_) = kLiveSector;  // kLiveSector: none
  bool is_block_known_ CFFS_GUARDED_BY(mutex_) = false;  // the onode's block is in the kernel's memory
  // A change is not in the live sector yet, since writing it failed. Whoever comes next writes it: also who repeats the change, and
  // finds nothing left to be done.
  bool live_is_behind_ CFFS_GUARDED_BY(mutex_) = false;
  bool released_ CFFS_GUARDED_BY(mutex_) = false;
  // Or a commit is under way, or it was replaced and could not say so.
  bool may_be_durable_ CFFS_GUARDED_BY(mutex_) = false;
  std::vector<Run> freed_ CFFS_GUARDED_BY(mutex_);       // since the last commit
  std::vector<Run> given_up_ CFFS_GUARDED_BY(mutex_);    // the same, once the live sector is written
  Mutex dirty_mutex_;                                    // leaf
  std::uint64_t dirty_from_ CFFS_GUARDED_BY(dirty_mutex_) = ~std::uint64_t{0}, dirty_to_ CFFS_GUARDED_BY(
                                                                                   dirty_mutex_) = 0;
};
using BodyPtr = std::shared_ptr<Body>;

}  // namespace cffs::region
