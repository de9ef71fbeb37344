// The room that a store in a Ceph pool has.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/object/blocking_section.h"
#include "core/rados/rados_store.h"

namespace cffs {
namespace {

constexpr std::int64_t kSpaceMs = 1000;  // what the monitors said counts for so long

}  // namespace

// What the monitors say lags behind by a second or two: what was sent since they were asked is taken off.
Result<SpaceInfo> RadosStore::space() {
  const MutexLock guard(space_mutex_);
  const std::int64_t now = SystemClock().steady_ms();
  if (now >= space_known_until_ms_) {
    sent_at_space_ = shared_->on_the_way.total();
    announce_blocking();
    CFFS_TRY(space_, space_of_pool());
    space_known_until_ms_ = now + kSpaceMs;
  }
  const std::uint64_t since = shared_->on_the_way.total() - sent_at_space_;
  SpaceInfo space = space_;
  space.available_bytes -= std::min(space.available_bytes, since);
  space.free_bytes = space.available_bytes;
  return space;
}

Result<SpaceInfo> RadosStore::space_of_pool() const {
  CFFS_TRY(const std::string answer,
           pool_->ask_monitors(R"({"prefix":"df","detail":"detail","format":"json"})"));
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  if (!json.is_object())
    return fail(EIO, description() + ": what the monitors say of the pools' room is no JSON");
  const nlohmann::json none = nlohmann::json::array();
  for (const auto& pool : json.contains("pools") ? json["pools"] : none) {
    if (!pool.is_object() || pool.value("name", "") != pool_->address().pool) continue;
    const auto stats = pool.value("stats", nlohmann::json::object());
    const std::uint64_t stored = stats.value("stored", std::uint64_t{0});
    const std::uint64_t quota = stats.value("quota_bytes", std::uint64_t{0});
    SpaceInfo space;
    space.available_bytes = stats.value("max_avail", std::uint64_t{0});
    if (quota != 0) space.available_bytes = std::min(space.available_bytes, quota - std::min(quota, stored));
    space.free_bytes = space.available_bytes;
    space.total_bytes = space.free_bytes + stored;
    return space;
  }
  return fail(EIO, description() + ": the monitors know nothing of the pool's room");
}

}  // namespace cffs
