// A medium with sectors that stay unreadable: every read of a range with such a byte is refused, each time. They go with their objects,
// whatever those are called by then, and are gone with them.
#pragma once

#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/mutex.h"
#include "tests/passing_object.h"
#include "tests/passing_store.h"

namespace cffs::test {

class BadSectors final : public PassingStore {
 public:
  explicit BadSectors(ObjectStore& below) : PassingStore(below) {}
  BadSectors(ObjectStore& below, const std::string& object, std::uint64_t byte) : BadSectors(below) {
    refuse(object, byte);
  }

  // Reads of `object` that cover this byte fail from now on, with this errno.
  void refuse(const std::string& object, std::uint64_t byte, int errno_value = EIO) {
    const auto bad = of(object);
    const MutexLock guard(bad->mutex);
    bad->bytes[byte] = errno_value;
  }
  // `object` cannot be opened from now on: what the medium does not give is where it is.
  void refuse_opening(const std::string& object, Error error = Error::os(EIO)) {
    const auto bad = of(object);
    const MutexLock guard(bad->mutex);
    error.context = object;
    bad->opening = std::move(error);
  }
  // The medium gives all that it has of this object again.
  void mend(const std::string& object) {
    const auto bad = of(object);
    const MutexLock guard(bad->mutex);
    bad->bytes.clear();
    bad->opening.reset();
  }
  // How many reads were refused so far.
  std::uint64_t refused() const { return refused_.load(); }

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    auto object = below_.create(name, how);
    if (object && how == Create::truncate) forget(name);  // it gets other sectors
    return shown(name, std::move(object));
  }
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    {
      const auto bad = of(name);
      const MutexLock guard(bad->mutex);
      if (bad->opening) return fail(*bad->opening);
    }
    return shown(name, below_.open(name));
  }
  Status remove(std::string_view name) override {
    Status done = below_.remove(name);
    if (done) forget(name);
    return done;
  }
  Status rename(std::string_view from, std::string_view to) override {
    Status done = below_.rename(from, to);
    if (!done || from == to) return done;
    const MutexLock guard(mutex_);
    bad_.erase(std::string(to));
    auto moved = bad_.extract(std::string(from));
    if (moved.empty()) return done;
    moved.key() = std::string(to);
    bad_.insert(std::move(moved));
    return done;
  }

 private:
  struct Bad {
    Mutex mutex;
    std::map<std::uint64_t, int> bytes;  // and the errno
    std::optional<Error> opening;
  };

  class Refusing final : public PassingObject {
   public:
    Refusing(std::shared_ptr<Object> below, std::string_view name, std::shared_ptr<Bad> bad,
             std::atomic<std::uint64_t>& refused)
        : PassingObject(std::move(below)), name_(name), bad_(std::move(bad)), refused_(refused) {}
    Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
      {
        const MutexLock guard(bad_->mutex);
        const auto met = bad_->bytes.lower_bound(offset);
        if (met != bad_->bytes.end() && met->first < offset + out.size()) {
          refused_.fetch_add(1);
          return fail(met->second, name_);
        }
      }
      return PassingObject::read_at(offset, out);
    }

   private:
    const std::string name_;
    const std::shared_ptr<Bad> bad_;
    std::atomic<std::uint64_t>& refused_;
  };

  std::shared_ptr<Bad> of(std::string_view name) {
    const MutexLock guard(mutex_);
    auto& bad = bad_[std::string(name)];
    if (!bad) bad = std::make_shared<Bad>();
    return bad;
  }
  void forget(std::string_view name) {
    const MutexLock guard(mutex_);
    bad_.erase(std::string(name));
  }
  Result<std::shared_ptr<Object>> shown(std::string_view name, Result<std::shared_ptr<Object>> object) {
    if (!object) return object;
    return std::shared_ptr<Object>(std::make_shared<Refusing>(std::move(*object), name, of(name), refused_));
  }

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Bad>> bad_;
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace cffs::test
