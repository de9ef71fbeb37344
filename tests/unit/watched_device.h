// A device in memory that tells what it was asked for, and may have less room below than it says: a write where nobody asked for room
// fails then, as into a hole of an image on a full file system.
#pragma once

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>

#include "core/region/memory_device.h"

namespace cffs::test {

class WatchedDevice final : public BlockDevice {
 public:
  // What outlives the device's user. Pieces of `piece` bytes are provided, from `begin` on.
  struct State {
    explicit State(std::uint64_t bytes) : medium(std::make_shared<MemoryDevice::Medium>(bytes)) {}
    std::shared_ptr<MemoryDevice::Medium> medium;
    std::optional<std::uint64_t> limit;  // bytes that there is room for; nullopt: all
    std::uint64_t untrue = 0;  // bytes that room() tells of and nobody gets, as where there is a quota
    std::uint64_t begin = 0, piece = 1;
    std::set<std::uint64_t> provided;  // pieces
    // Blocks of 4 KiB that the medium does not give, until somebody writes the whole of one: then it lies elsewhere.
    std::set<std::uint64_t> unreadable;
    std::uint64_t largest_read = 0, bytes_read = 0, asked = 0, refused = 0, given_back = 0,
                  unprovided_writes = 0;
  };
  explicit WatchedDevice(std::shared_ptr<State> state) : state_(std::move(state)), device_(state_->medium) {}

  std::uint64_t size() const override { return device_.size(); }
  Status read(std::uint64_t offset, Bytes out) const override {
    state_->largest_read = std::max<std::uint64_t>(state_->largest_read, out.size());
    state_->bytes_read += out.size();
    const auto bad = state_->unreadable.lower_bound(offset / kSystemBlock);
    if (bad != state_->unreadable.end() && *bad * kSystemBlock < offset + out.size())
      return fail(EIO, "watched");
    return device_.read(offset, out);
  }
  Status write(std::uint64_t offset, ConstBytes data) override {
    if (state_->limit && offset >= state_->begin &&
        !state_->provided.contains((offset - state_->begin) / state_->piece)) {
      ++state_->unprovided_writes;
      return fail(ENOSPC, "watched");
    }
    const std::uint64_t end = offset + data.size();
    for (std::uint64_t block = offset / kSystemBlock; block * kSystemBlock < end; ++block) {
      const bool is_whole = offset <= block * kSystemBlock && (block + 1) * kSystemBlock <= end;
      // The rest of it would have to be read.
      if (!is_whole && state_->unreadable.contains(block)) return fail(EIO, "watched");
      if (is_whole) state_->unreadable.erase(block);
    }
    return device_.write(offset, data);
  }
  std::optional<std::uint64_t> room() const override {
    if (!state_->limit) return std::nullopt;
    const std::uint64_t taken = state_->provided.size() * state_->piece;
    return *state_->limit - std::min(*state_->limit, taken) + state_->untrue;
  }
  Status provide(DeviceRange range) override {
    ++state_->asked;
    const std::uint64_t number = (range.offset - state_->begin) / state_->piece;
    if (state_->provided.contains(number)) return {};
    if (*room() - state_->untrue < range.length) {
      ++state_->refused;
      return fail(ENOSPC, "watched");
    }
    state_->provided.insert(number);
    return {};
  }
  void give_back(DeviceRange range) override {
    if (state_->provided.erase((range.offset - state_->begin) / state_->piece) == 0) return;
    ++state_->given_back;
    (void)device_.write(range.offset, as_bytes(std::string(range.length, '\0')));
  }
  Status flush(std::span<const DeviceRange>) override { return {}; }
  Status flush_everything() override { return {}; }
  std::uint64_t incarnation() const override { return 1; }
  Result<std::unique_ptr<StoreLock>> lock(bool writes) override { return device_.lock(writes); }
  std::string description() const override { return "watched"; }

 private:
  static constexpr std::uint64_t kSystemBlock = 4096;  // bytes that are read and written together

  const std::shared_ptr<State> state_;
  MemoryDevice device_;
};

}  // namespace cffs::test
