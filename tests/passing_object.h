// An object that hands everything on to another one: for those that change a few things about it.
#pragma once

#include <memory>
#include <utility>

#include "core/object/object_store.h"

namespace cffs::test {

class PassingObject : public Object {
 public:
  explicit PassingObject(std::shared_ptr<Object> below) : below_(std::move(below)) {}

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    return below_->read_at(offset, out);
  }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    below_->prefetch(offset, length);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override { return below_->write_at(offset, data); }
  Result<std::uint64_t> append(ConstBytes data) override { return below_->append(data); }
  Status truncate(std::uint64_t size) override { return below_->truncate(size); }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    return below_->punch_hole(offset, length);
  }
  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    return below_->allocate(offset, length);
  }
  Result<ObjectInfo> info() const override { return below_->info(); }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return below_->next_data(offset); }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override { return below_->next_hole(offset); }
  Status sync() override { return below_->sync(); }

 protected:
  const std::shared_ptr<Object> below_;
};

}  // namespace cffs::test
