#include "tests/pool/pool_medium.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <random>

namespace cffs::test {
namespace {

using Kind = PoolMedium::Step::Kind;

void put(std::string& bytes, std::uint64_t offset, std::string_view data) {
  if (bytes.size() < offset + data.size()) bytes.resize(offset + data.size());
  bytes.replace(offset, data.size(), data);
}

// As an OSD does it (PrimaryLogPG::do_osd_ops): what an object must be there for does nothing, or fails, where there is none.
int apply_step(std::optional<PoolMedium::Object>& object, const PoolMedium::Step& step) {
  switch (step.kind) {
    case Kind::create_new:
      if (object) return -EEXIST;
      object.emplace();
      return 0;
    case Kind::remove:
      if (!object) return -ENOENT;
      object.reset();
      return 0;
    case Kind::truncate:
      if (object) object->bytes.resize(step.offset);
      return 0;
    case Kind::zero:
      // As an OSD does: zeros up to the end are a cut.
      if (object && step.offset + step.length >= object->bytes.size()) {
        object->bytes.resize(std::min<std::size_t>(object->bytes.size(), step.offset));
      } else if (object) {
        put(object->bytes, step.offset, std::string(step.length, '\0'));
      }
      return 0;
    case Kind::erase_attribute:
      if (!object) return -ENOENT;
      object->attributes.erase(step.name);
      return 0;
    case Kind::erase_key:
      if (!object) return -ENOENT;
      object->keys.erase(step.name);
      return 0;
    default:
      break;
  }
  if (!object) object.emplace();
  if (step.kind == Kind::write) put(object->bytes, step.offset, step.data);
  if (step.kind == Kind::set_attribute) object->attributes[step.name] = step.data;
  if (step.kind == Kind::set_key) object->keys[step.name] = step.data;
  return 0;
}

}  // namespace

int PoolMedium::apply(Objects& objects, const std::string& name, const Operation& operation) {
  std::optional<Object> object;
  if (const auto at = objects.find(name); at != objects.end()) object = *at->second;
  for (const Step& step : operation) {
    if (const int code = apply_step(object, step); code < 0) return code;
  }
  if (object) {
    objects[name] = std::make_shared<const Object>(std::move(*object));
  } else {
    objects.erase(name);
  }
  return 0;
}

PoolMedium::ObjectPtr PoolMedium::find(std::string_view name) const {
  const auto at = live_.find(name);
  return at == live_.end() ? nullptr : at->second;
}

int PoolMedium::submit(const std::string& object, const Operation& operation) {
  if (const int code = apply(live_, object, operation); code < 0) return code;
  pending_.push_back({object, operation});
  return 0;
}

void PoolMedium::acknowledge(const std::string& object) {
  std::erase_if(pending_, [&](const Pending& pending) {
    if (pending.object != object) return false;
    (void)apply(durable_, pending.object, pending.operation);
    return true;
  });
}

void PoolMedium::acknowledge_all() {
  pending_.clear();
  durable_ = live_;
}

std::uint64_t PoolMedium::bytes() const {
  std::uint64_t all = 0;
  for (const auto& [name, object] : live_) all += object->bytes.size();
  return all;
}

PoolMedium PoolMedium::cut(std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  PoolMedium after;
  after.live_ = durable_;
  const std::uint64_t how = random() % 4;  // 0: nothing more arrived, 1: everything
  std::map<std::string, std::size_t> count, arrived;
  for (const Pending& pending : pending_) ++count[pending.object];
  for (const auto& [object, n] : count) arrived[object] = how == 0 ? 0 : how == 1 ? n : random() % (n + 1);
  for (const Pending& pending : pending_) {
    std::size_t& left = arrived[pending.object];
    if (left == 0) continue;
    --left;
    (void)apply(after.live_, pending.object, pending.operation);
  }
  after.durable_ = after.live_;
  return after;
}

std::size_t PoolMedium::fingerprint() const {
  std::size_t all = 0;
  const auto add = [&all](std::string_view text) {
    all = all * 1'000'003 + std::hash<std::string_view>{}(text);
  };
  for (const auto& [name, object] : live_) {
    add(name);
    add(object->bytes);
    for (const auto* pairs : {&object->attributes, &object->keys}) {
      for (const auto& [key, value] : *pairs) {
        add(key);
        add(value);
      }
    }
  }
  return all;
}

}  // namespace cffs::test
