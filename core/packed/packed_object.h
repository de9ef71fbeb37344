// A packed composite as an object with its plain bytes: what is above knows of no frames (docs/COMPRESSION.md).
//
// It is never written: write_at(), append(), truncate(), punch_hole() and allocate() are EPERM. Frames that were read stay in the
// cache; what is on the medium is what read_medium() tells, past any cache.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/object/object_store.h"
#include "core/packed/frame_cache.h"
#include "core/packed/frame_index.h"

namespace cffs {

class PackedObject final : public Object, public std::enable_shared_from_this<PackedObject> {
 public:
  // The object itself where it is not packed. `name` is for messages. `corruption`: it is packed, and neither its index nor the copy
  // of that is whole.
  static Result<std::shared_ptr<Object>> open(std::shared_ptr<Object> object, const std::string& name,
                                              const std::shared_ptr<FrameCache>& cache);

  // A reader goes from frame to frame, came to `from`, and the next ones are not ready.
  struct Ahead {
    std::shared_ptr<const PackedObject> object;
    std::size_t from = 0;
    int direction = 1;
  };
  using OnSequence = std::function<void(Ahead)>;
  void on_sequence(OnSequence call) { on_sequence_ = std::move(call); }
  // Has the next kAhead frames decompressed and kept, up to the first of which what is stored is not in memory.
  static void make_next_ready(const Ahead& ahead);

  const FrameIndex& index() const { return index_; }
  // What its plain bytes say of themselves was looked at: frames do not tell whose they are.
  bool is_identified() const { return is_identified_.load(std::memory_order_relaxed); }
  void identified() const { is_identified_.store(true, std::memory_order_relaxed); }
  // `corruption` where the index, or its copy, is not whole on the medium.
  Status check_index() const;
  // All plain bytes; zeros where a frame cannot be read. Fails where a shortage, and not the frame, is why.
  Result<std::string> read_what_can_be() const;

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override;
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override;
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override;
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override;
  Status write_at(std::uint64_t offset, ConstBytes data) override;
  Result<std::uint64_t> append(ConstBytes data) override;
  Status truncate(std::uint64_t size) override;
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override;
  Result<bool> give_back(std::uint64_t offset, std::uint64_t length) override;
  Status allocate(std::uint64_t offset, std::uint64_t length) override;
  Result<ObjectInfo> info() const override;
  Result<std::uint64_t> next_data(std::uint64_t offset) const override;
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override;
  Status sync() override { return object_->sync(); }
  void read_no_further() const override { object_->read_no_further(); }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override;

 private:
  enum class From { memory, anywhere };
  static constexpr std::size_t kNowhere = SIZE_MAX;
  PackedObject(std::shared_ptr<Object> object, std::string name, FrameIndex index,
               std::shared_ptr<FrameCache> cache);
  // nullopt, null: not in memory, and only that was asked. It then waits for nobody.
  Result<std::optional<std::size_t>> read(std::uint64_t offset, Bytes out, From from) const;
  Result<FrameCache::Plain> frame(std::size_t frame, From from) const;
  Result<FrameCache::Plain> unpack(std::size_t frame, From from) const;
  Result<FrameCache::Plain> decode(std::size_t frame, ConstBytes stored) const;
  std::size_t copy_of(std::size_t frame, const FrameBytes& plain, std::uint64_t offset, Bytes out) const;
  void came_to(std::size_t frame) const;
  bool make_ready(std::size_t frame) const;
  static constexpr std::size_t kAhead = 8;
  // The frames that have such plain bytes, as stored bytes.
  struct Stored {
    std::size_t first = 0, end = 0;
    std::uint64_t at = 0, bytes = 0;
  };
  Stored stored(std::uint64_t offset, std::uint64_t length) const;

  const std::shared_ptr<Object> object_;
  const std::string name_;
  const FrameIndex index_;
  const std::shared_ptr<FrameCache> cache_;
  const std::uint64_t owner_;
  mutable std::atomic<bool> is_identified_{false};
  OnSequence on_sequence_;                           // set before others come
  mutable std::atomic<std::size_t> last_{kNowhere};  // the frame that somebody came to last
};

}  // namespace cffs
