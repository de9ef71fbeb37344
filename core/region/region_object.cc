#include "core/region/region_object.h"

#include "core/region/onward_reads.h"
#include "core/region/region_store.h"

namespace cffs {

using namespace region;

// The last handle of a removed object takes it along.
class RegionObject final : public Object {
 public:
  RegionObject(RegionStore& store, std::shared_ptr<Shared> shared, BodyPtr body)
      : store_(store), shared_(std::move(shared)), body_(std::move(body)) {
    body_->handles.fetch_add(1);
  }
  ~RegionObject() override {
    if (body_->handles.fetch_sub(1) == 1 && !shared_->ended.load(std::memory_order_acquire))
      store_.handle_gone(*shared_, body_);
  }

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    if (!no_further_.load(std::memory_order_relaxed)) {
      const DeviceRange ahead = onward_.before(offset, out.size());
      prefetch(ahead.offset, ahead.length);
    }
    return say(body_->read(offset, out));
  }
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    return say(body_->try_read(offset, out));
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    return say(body_->read_medium(offset, out));
  }
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    double there = 0;
    std::uint64_t all = 0;
    for (const DeviceRange& range : body_->ranges(offset, length)) {
      const auto share = shared_->device.share_in_memory(range);
      if (!share) return std::nullopt;
      there += *share * static_cast<double>(range.length);
      all += range.length;
    }
    return all == 0 ? 1 : there / static_cast<double>(all);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    if (shared_->allocation.wants_cleaning() && data.size() >= shared_->geometry.large_blocks * kBlock)
      store_.clean(*shared_);
    return say(store_.with_room(*shared_, [&] { return body_->write(offset, data); }));
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    return say(store_.with_room(*shared_, [&] { return body_->append(data); }));
  }
  Status truncate(std::uint64_t size) override {
    return say(store_.with_room(*shared_, [&] { return body_->truncate(size); }));
  }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    return say(store_.with_room(*shared_, [&] { return body_->punch(offset, length); }));
  }
  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    return say(store_.with_room(*shared_, [&] { return body_->reserve(offset, length); }));
  }
  Result<ObjectInfo> info() const override { return body_->info(); }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return body_->next(offset, true); }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override { return body_->next(offset, false); }
  void begin_writeback(std::uint64_t offset, std::uint64_t length) override {
    for (const DeviceRange& range : body_->ranges(offset, length)) shared_->device.begin_write_back(range);
  }
  void expect(std::uint64_t bytes) override { body_->expect(bytes); }
  Status sync() override {
    if (shared_->device.is_read_only()) return {};
    if (shared_->ended.load(std::memory_order_acquire)) return say(Status(fail(EBADF)));
    return say(store_.sync(*shared_, body_));
  }
  void read_no_further() const override { no_further_.store(true, std::memory_order_relaxed); }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) return;
    for (const DeviceRange& range : body_->ranges(offset, length)) shared_->device.prefetch(range);
  }

 private:
  template <typename T>
  T say(T done) const {
    if (done) return done;
    return store_.named(std::move(done).error(), body_->name());
  }

  RegionStore& store_;
  const std::shared_ptr<Shared> shared_;
  const BodyPtr body_;
  mutable OnwardReads onward_;
  mutable std::atomic<bool> no_further_{false};
};

std::shared_ptr<Object> make_region_object(RegionStore& store, std::shared_ptr<Shared> shared, BodyPtr body) {
  return std::make_shared<RegionObject>(store, std::move(shared), std::move(body));
}

}  // namespace cffs
