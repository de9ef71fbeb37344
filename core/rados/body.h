// One object of a store in a Ceph pool: its pieces, its end, and what of it is on its way (docs/RADOS_STORE.md). Handles share it.
//
// Rank: mutex_ before the page cache's and those of flights; never held by a callback.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/rados/page_cache.h"
#include "core/rados/pool.h"
#include "core/rados/written_pieces.h"

namespace cffs::rados {

using ObjectId = std::uint64_t;

// Bounds the bytes that were given to RADOS and not acknowledged.
class OnTheWay {
 public:
  void enter(std::size_t bytes);
  void leave(std::size_t bytes);
  // All that ever entered.
  std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kMost = std::size_t{64} << 20;
  Mutex mutex_;  // leaf
  CondVar less_;
  std::size_t bytes_ CFFS_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> total_{0};
};

// What all bodies of one opened store share.
struct Shared {
  std::shared_ptr<Pool> pool;
  std::shared_ptr<PageCache> cache;
  std::uint64_t piece_bytes = 0;
  OnTheWay on_the_way;

  std::string piece_name(ObjectId id, std::uint64_t piece) const;
};

class Body final : public PageCache::Source, public std::enable_shared_from_this<Body> {
 public:
  // grows: a byte that was written is never written again, but may become a hole once nobody asks for it any more.
  enum class Kind { changes, grows };
  // A new one; `naming`: what makes its name durable.
  Body(std::shared_ptr<Shared> shared, ObjectId id, std::shared_ptr<Together> naming, Kind kind);
  // One that is there. An object whose first piece nobody wrote is empty.
  static Result<std::shared_ptr<Body>> load(std::shared_ptr<Shared> shared, ObjectId id, Kind kind);
  // One that is to be removed: its end is not looked for.
  static Result<std::shared_ptr<Body>> load_to_remove(std::shared_ptr<Shared> shared, ObjectId id);

  ObjectId id() const { return id_; }
  const Shared& shared() const { return *shared_; }

  Result<std::size_t> read(std::uint64_t offset, Bytes out);
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out);
  // nullopt: RADOS would have to be asked.
  std::optional<std::size_t> read_if_here(std::uint64_t offset, Bytes out);
  double share_in_memory(std::uint64_t offset, std::uint64_t length) const;
  void prefetch(std::uint64_t offset, std::uint64_t length);
  Status write(std::uint64_t offset, ConstBytes data);
  Result<std::uint64_t> append(ConstBytes data);
  Status truncate(std::uint64_t size);
  Status punch(std::uint64_t offset, std::uint64_t length);
  std::uint64_t size() const;
  // Has what was written sent, without waiting for it.
  Status send();
  Status sync();
  // It will have so many bytes.
  void expect(std::uint64_t bytes);
  // Removes all pieces, and waits for that. Once `stops`: ECANCELED, and what is left is noted for whoever goes on.
  Status remove_pieces(const std::atomic<bool>& stops);

  PageCache::ObjectNumber number() const override { return id_; }
  void fetch(std::uint64_t offset, std::uint64_t length,
             std::function<void(Result<std::string>)> done) const override;
  std::optional<Lasting> lasting() const override;

 private:
  std::string piece_name(std::uint64_t piece) const { return shared_->piece_name(id_, piece); }
  std::uint64_t last_piece(std::uint64_t size) const {
    return size == 0 ? 0 : (size - 1) / shared_->piece_bytes;
  }
  Status usable() CFFS_REQUIRES(mutex_);
  Status send_pending() CFFS_REQUIRES(mutex_);
  Status send_bytes(std::uint64_t offset, std::string_view bytes) CFFS_REQUIRES(mutex_);
  void send_to_piece(std::uint64_t piece, std::uint64_t offset, std::string_view bytes) CFFS_REQUIRES(mutex_);
  static Result<std::shared_ptr<Body>> load_pieces(std::shared_ptr<Shared> shared, ObjectId id, Kind kind,
                                                   bool to_its_end);
  Status find_end(std::uint64_t first_bytes) CFFS_REQUIRES(mutex_);
  // EFBIG: nothing may end there.
  Status may_end_at(std::uint64_t end) const CFFS_REQUIRES(mutex_);
  // These pieces may be written.
  Status reach(std::uint64_t first, std::uint64_t last) CFFS_REQUIRES(mutex_);
  Status make_first_piece() CFFS_REQUIRES(mutex_);
  void set_first_attributes(WriteOperation& operation, const WrittenPieces& written) const
      CFFS_REQUIRES(mutex_);
  // Those of [begin, end) that may be there go.
  Status remove_between(std::uint64_t begin, std::uint64_t end) CFFS_REQUIRES(mutex_);
  Status zero_in_piece(std::uint64_t piece, std::uint64_t within, std::uint64_t n) CFFS_REQUIRES(mutex_);
  Status set_end(std::uint64_t size) CFFS_REQUIRES(mutex_);
  Status cut(std::uint64_t size) CFFS_REQUIRES(mutex_);
  Status punch_pieces(std::uint64_t offset, std::uint64_t end) CFFS_REQUIRES(mutex_);
  Status settle() CFFS_REQUIRES(mutex_);
  // What is to be told of a write of `bytes` from `offset` on.
  Pool::Done landed(std::uint64_t offset, std::size_t bytes);
  struct Lost {
    std::uint64_t begin = 0, end = 0;
    int code = 0;
  };
  void lose(const Lost& lost);
  // A write to this range was refused: nobody gets what lay there before for what somebody wrote.
  Status not_lost(std::uint64_t offset, std::uint64_t length) const;
  Status first_error(int code) const;
  bool is_pending(std::uint64_t offset, std::uint64_t length) const CFFS_REQUIRES(mutex_);
  // How much there is from `offset` on; what was written there is sent before.
  Result<std::uint64_t> readable(std::uint64_t offset, std::size_t wanted);

  const std::shared_ptr<Shared> shared_;
  const ObjectId id_;
  const std::shared_ptr<Together> naming_;  // null: it is durable
  const Kind kind_;
  Together flights_;
  mutable Mutex mutex_;
  std::uint64_t size_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t born_ CFFS_GUARDED_BY(mutex_) =
      0;  // one that grows: what tells it from all others; 0: nothing
  WrittenPieces written_ CFFS_GUARDED_BY(mutex_);          // no other piece was ever written
  WrittenPieces durable_written_ CFFS_GUARDED_BY(mutex_);  // and that is written down
  bool has_first_piece_ CFFS_GUARDED_BY(mutex_) = false;   // or it is on its way
  bool cut_unfinished_ CFFS_GUARDED_BY(mutex_) = false;    // by a program that is gone
  std::uint64_t pending_at_ CFFS_GUARDED_BY(mutex_) = 0;
  std::string pending_ CFFS_GUARDED_BY(mutex_);  // written, and not sent
  mutable Mutex lost_mutex_;  // leaf; callbacks take it
  std::vector<Lost> lost_
      CFFS_GUARDED_BY(lost_mutex_);  // writes that were refused, until the store is opened again
  int all_lost_ CFFS_GUARDED_BY(lost_mutex_) = 0;  // the error of one that there was no memory to note
  std::atomic<bool> has_lost_{false};
};

}  // namespace cffs::rados
