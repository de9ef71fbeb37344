// A store in memory that keeps account of what a device would have been asked for: of composites and blobs, what was read or fetched ahead
// and had not been before, and what was written.
#pragma once

#include <set>

#include "core/object/memory_store.h"
#include "tests/passing_object.h"
#include "tests/passing_store.h"

namespace cffs::test {

class ColdStore final : public PassingStore {
 public:
  ColdStore() : PassingStore(under_) {}

  std::uint64_t asked = 0;    // bytes, in pages of 4 KiB
  std::uint64_t written = 0;  // bytes
  // Nothing is in memory any more, and nothing was asked for.
  void make_cold() {
    there_.clear();
    asked = 0;
  }

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    return cold(name, below_.create(name, how));
  }
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    return cold(name, below_.open(name));
  }

 private:
  static constexpr std::uint64_t kPage = 4096;

  class Cold final : public PassingObject {
   public:
    Cold(ColdStore& store, std::string name, std::shared_ptr<Object> below)
        : PassingObject(std::move(below)), store_(store), name_(std::move(name)) {}
    Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
      store_.ask(name_, offset, out.size());
      return below_->read_at(offset, out);
    }
    Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
      if (*share_in_memory(offset, out.size()) < 1) return std::optional<std::size_t>();
      CFFS_TRY(const std::size_t n, below_->read_at(offset, out));
      return std::optional<std::size_t>(n);
    }
    std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
      return store_.share(name_, offset, length);
    }
    Status write_at(std::uint64_t offset, ConstBytes data) override {
      store_.written += data.size();
      return below_->write_at(offset, data);
    }
    void prefetch(std::uint64_t offset, std::uint64_t length) const override {
      const auto info = below_->info();
      if (info && offset < info->size) store_.ask(name_, offset, std::min(length, info->size - offset));
    }

   private:
    ColdStore& store_;
    const std::string name_;
  };

  Result<std::shared_ptr<Object>> cold(std::string_view name, Result<std::shared_ptr<Object>> object) {
    if (!object || !(name.starts_with("composites/") || name.starts_with("blobs/"))) return object;
    return std::shared_ptr<Object>(std::make_shared<Cold>(*this, std::string(name), std::move(*object)));
  }
  void ask(const std::string& name, std::uint64_t offset, std::uint64_t length) {
    for (std::uint64_t page = offset / kPage; page * kPage < offset + length; ++page) {
      if (there_.emplace(name, page).second) asked += kPage;
    }
  }
  double share(const std::string& name, std::uint64_t offset, std::uint64_t length) const {
    std::uint64_t pages = 0, there = 0;
    for (std::uint64_t page = offset / kPage; page * kPage < offset + length; ++page) {
      ++pages;
      there += there_.contains({name, page}) ? 1 : 0;
    }
    return static_cast<double>(there) / static_cast<double>(std::max<std::uint64_t>(1, pages));
  }

  MemoryStore under_;
  std::set<std::pair<std::string, std::uint64_t>> there_;
};

}  // namespace cffs::test
