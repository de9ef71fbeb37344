#include "bench/suite/object_population.h"

#include <fmt/format.h>

#include <algorithm>

namespace cffs::bench {
namespace {

template <typename Action>
std::int64_t timed(Lane* lane, const char* call, const Action& action) {
  return lane == nullptr ? action() : lane->time(call, action);
}

// Fewer bytes than there should be are a failure, too.
Status all_of(std::int64_t moved, std::uint64_t size, const std::string& what) {
  CFFS_TRY_VOID(must(moved, what));
  if (static_cast<std::uint64_t>(moved) != size)
    return fail(EIO, fmt::format("{}: {} bytes of {}", what, moved, size));
  return {};
}

}  // namespace

Result<Mix> mix_of(const std::string& name) {
  if (name == "mixed") return Mix::mixed;
  if (name == "large") return Mix::large;
  if (name == "small") return Mix::small;
  return fail(Error::command_line("--mix: '" + name + "' is not mixed, large or small"));
}

Population::Population(Rig& rig, ObjectSurface& objects, Mix mix, std::uint64_t largest, std::uint64_t seed)
    : rig_(rig), objects_(objects), mix_(mix), random_(seed), largest_(largest), buffer_(largest, 'o') {}

double Population::utilization() const {
  return rig_.room() > 0 ? static_cast<double>(bytes_) / rig_.room() : 0;
}

std::uint64_t Population::pick_size() {
  const bool large = mix_ == Mix::large || (mix_ == Mix::mixed && random_() % 5 != 0);
  if (large || largest_ <= 1024) return largest_;
  return 1024 + random_() % (largest_ - 1024);
}

Status Population::create(Lane* lane) {
  const std::uint64_t id = next_++, size = pick_size();
  CFFS_TRY_VOID(
      all_of(timed(lane, "write", [&] { return objects_.write(id, std::span(buffer_).first(size), true); }),
             size, rig_.name() + ": write"));
  ids_.push_back(id);
  sizes_[id] = size;
  bytes_ += size;
  last_bytes_ = size;
  return {};
}

std::uint64_t Population::next_of(std::vector<std::uint64_t>& order) {
  for (;;) {
    if (order.empty()) {
      order = ids_;
      std::shuffle(order.begin(), order.end(), random_);
    }
    const std::uint64_t id = order.back();
    order.pop_back();
    if (sizes_.contains(id)) return id;
  }
}

Status Population::read(Lane* lane) {
  const std::uint64_t id = next_of(to_read_), size = sizes_[id];
  last_bytes_ = size;
  return all_of(timed(lane, "read", [&] { return objects_.read(id, std::span(buffer_).first(size)); }), size,
                rig_.name() + ": read");
}

Status Population::rewrite(Lane* lane) {
  const std::uint64_t id = next_of(to_rewrite_), size = sizes_[id];
  last_bytes_ = size;
  const auto data = std::span<const char>(buffer_).first(size);
  return all_of(timed(lane, "rewrite", [&] { return objects_.write(id, data, false); }), size,
                rig_.name() + ": rewrite");
}

Status Population::remove(Lane* lane) {
  const std::size_t index = random_() % ids_.size();
  const std::uint64_t id = ids_[index];
  ids_[index] = ids_.back();
  ids_.pop_back();
  bytes_ -= sizes_[id];
  sizes_.erase(id);
  last_bytes_ = 0;
  return must(timed(lane, "delete", [&] { return objects_.remove(id); }), rig_.name() + ": delete");
}

Status Population::remove_all() {
  return rig_.in_a_hurry([&]() -> Status {
    while (!ids_.empty()) CFFS_TRY_VOID(remove(nullptr));
    return {};
  });
}

Status Population::reach(double wanted) {
  while (utilization() < wanted) CFFS_TRY_VOID(create(nullptr));
  while (utilization() > wanted && count() > kFewest) CFFS_TRY_VOID(remove(nullptr));
  return {};
}

Status Population::age(double wanted, std::uint64_t requests) {
  if (wanted > 0 && rig_.room() <= 0) {
    return fail(Error::usage("how full its disk is cannot be told of " + rig_.name() +
                             ", which has none of its own: leave it out of --targets, or --utilization=0"));
  }
  return rig_.in_a_hurry([&] { return grow_old(wanted, requests); });
}

Status Population::grow_old(double wanted, std::uint64_t requests) {
  CFFS_TRY_VOID(reach(wanted));
  constexpr double kLeast = 0.1, kMost = 0.9,
                   kBack = 20;  // chance of a create; what a share too much or too little adds
  for (std::uint64_t i = 0; i < requests && wanted > 0; ++i) {
    const double create_chance = std::clamp(0.5 + kBack * (wanted - utilization()), kLeast, kMost);
    if (std::generate_canonical<double, 32>(random_) < create_chance || count() <= kFewest) {
      CFFS_TRY_VOID(create(nullptr));
    } else {
      CFFS_TRY_VOID(remove(nullptr));
    }
  }
  return reach(wanted);
}

Status Population::cool() {
  objects_.let_go();
  CFFS_TRY_VOID(rig_.cool());
  return objects_.reopen();
}

}  // namespace cffs::bench
