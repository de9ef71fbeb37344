#include "core/object/faulty_store.h"

#include <algorithm>
#include <random>
#include <set>

namespace cffs {

constexpr std::size_t kSector = 512;  // what a device writes whole

class FaultyObject final : public Object {
 public:
  FaultyObject(FaultyStore& store, std::string name, std::shared_ptr<Object> live,
               std::shared_ptr<FaultyStore::Body> body)
      : store_(store), name_(std::move(name)), live_(std::move(live)), body_(std::move(body)) {}

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    CFFS_TRY_VOID(store_.charge_read("read " + name_));
    return live_->read_at(offset, out);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    const Status charged = store_.charge("write " + name_);
    if (!charged && !store_.tears_.load()) return charged;
    if (!charged) data = data.first(data.size() / 2);
    const MutexLock guard(store_.mutex_);
    if (store_.cut_) return charged;
    const auto* text = reinterpret_cast<const char*>(data.data());
    body_->unsynced.push_back({offset, std::string(text, data.size()), std::nullopt});
    CFFS_TRY_VOID(live_->write_at(offset, data));
    return charged;
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    CFFS_TRY(const ObjectInfo now, live_->info());
    CFFS_TRY_VOID(write_at(now.size, data));
    return now.size;
  }
  Status truncate(std::uint64_t size) override {
    CFFS_TRY_VOID(store_.charge("truncate " + name_));
    const MutexLock guard(store_.mutex_);
    body_->unsynced.push_back({0, {}, size});
    return live_->truncate(size);
  }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY(const ObjectInfo now, live_->info());
    if (offset >= now.size) return {};
    return write_at(offset, as_bytes(std::string(std::min(length, now.size - offset), '\0')));
  }
  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY_VOID(store_.charge("allocate " + name_));
    return live_->allocate(offset, length);
  }
  Result<ObjectInfo> info() const override { return live_->info(); }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return live_->next_data(offset); }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override { return live_->next_hole(offset); }
  Status sync() override {
    CFFS_TRY_VOID(store_.charge("sync " + name_));
    const MutexLock guard(store_.mutex_);
    if (store_.syncs_to_failure_ > 0 && --store_.syncs_to_failure_ == 0) {
      for (auto& change : body_->unsynced) {  // the size gets there, the data does not
        std::fill(change.data.begin(), change.data.end(), '\0');
        FaultyStore::apply(body_->durable, change, change.data.size());
      }
      body_->unsynced.clear();
      return fail(store_.sync_errno_, "sync " + name_);
    }
    for (const auto& change : body_->unsynced) FaultyStore::apply(body_->durable, change, change.data.size());
    body_->unsynced.clear();
    store_.name_became_durable(body_);
    return {};
  }
  void prefetch(std::uint64_t, std::uint64_t) const override {}

 private:
  FaultyStore& store_;
  const std::string name_;
  std::shared_ptr<Object> live_;
  std::shared_ptr<FaultyStore::Body> body_;
};

FaultyStore::FaultyStore(std::unique_ptr<MemoryStore> survivor) {
  const auto names = survivor->list("");
  for (const std::string& name : *names) {
    auto object = *survivor->open(name);
    std::string bytes(object->info()->size, '\0');
    (void)object->read_at(0, as_writable_bytes(bytes));
    (void)(*live_.create(name, Create::exclusive))->write_at(0, as_bytes(bytes));
    auto body = std::make_shared<Body>();
    body->durable = std::move(bytes);
    live_bodies_[name] = body;
    durable_names_[name] = body;
  }
}

void FaultyStore::fail_operation(std::uint64_t n, int errno_value, Persistence persistence) {
  const MutexLock guard(mutex_);
  fail_at_ = n == 0 ? 0 : operations_.load() + n;
  fail_errno_ = errno_value;
  persistence_ = persistence;
}

bool FaultyStore::fail_sync(std::uint64_t n, int errno_value) {
  const MutexLock guard(mutex_);
  sync_errno_ = errno_value;
  return std::exchange(syncs_to_failure_, n) > 0;
}

Status FaultyStore::charge(std::string_view what) {
  const std::uint64_t now = operations_.fetch_add(1) + 1;
  const MutexLock guard(mutex_);
  if (cut_) return fail(EIO, std::string(what));
  if (fail_at_ == 0) return {};
  const bool hit = persistence_ == Persistence::once ? now == fail_at_ : now >= fail_at_;
  if (hit) return fail(fail_errno_, std::string(what));
  return {};
}

void FaultyStore::apply(Names& names, const NameChange& change) {
  if (!change.from.empty()) names.erase(change.from);
  if (!change.to.empty()) names[change.to] = change.body;
}

void FaultyStore::apply(std::string& bytes, const Change& change, std::size_t limit) {
  if (change.truncate_to) {
    bytes.resize(*change.truncate_to);
    return;
  }
  const std::size_t n = std::min(limit, change.data.size());
  if (bytes.size() < change.offset + n) bytes.resize(change.offset + n);
  std::copy_n(change.data.begin(), n, bytes.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

void FaultyStore::name_became_durable(const std::shared_ptr<Body>& body) {
  // Syncing an object makes its creation durable; renames and removals wait for sync_names.
  const auto creation =
      std::find_if(unsynced_names_.begin(), unsynced_names_.end(),
                   [&](const NameChange& change) { return change.body == body && change.from.empty(); });
  if (creation == unsynced_names_.end()) return;
  apply(durable_names_, *creation);
  // A removal that came before can no longer undo it.
  const std::string name = creation->to;
  unsynced_names_.erase(std::remove_if(unsynced_names_.begin(), creation,
                                       [&](const NameChange& c) { return c.from == name && c.to.empty(); }),
                        creation + 1);
}

// Of what was written any subset of sectors reaches the medium, and of the sizes that the object had, any. False where it was
// truncated in between.
bool FaultyStore::keep_sectors(const Body& body, std::string& bytes, std::mt19937_64& random) {
  std::string whole = body.durable;
  std::vector<std::size_t> sizes{whole.size()};
  std::set<std::size_t> sectors;
  for (const Change& change : body.unsynced) {
    if (change.truncate_to) return false;
    apply(whole, change, change.data.size());
    sizes.push_back(whole.size());
    for (std::size_t at = change.offset / kSector; at * kSector < change.offset + change.data.size(); ++at) {
      sectors.insert(at);
    }
  }
  bytes.resize(sizes[random() % sizes.size()], '\0');
  for (const std::size_t sector : sectors) {
    const std::size_t at = sector * kSector;
    if (random() % 4 == 0 || at >= bytes.size()) continue;
    const std::size_t n = std::min({kSector, bytes.size() - at, whole.size() - at});
    bytes.replace(at, n, whole, at, n);
  }
  return true;
}

std::unique_ptr<MemoryStore> FaultyStore::power_cut(std::uint64_t seed,
                                                    const std::function<bool(std::string_view)>& by_sectors) {
  const MutexLock guard(mutex_);
  cut_ = true;
  std::mt19937_64 random(seed);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::size_t kept_names = below(unsynced_names_.size() + 1);
  for (std::size_t i = 0; i < kept_names; ++i) apply(durable_names_, unsynced_names_[i]);
  auto survivor = std::make_unique<MemoryStore>();
  for (const auto& [name, body] : durable_names_) {
    std::string bytes = body->durable;
    if (by_sectors && by_sectors(name) && below(2) == 0 && keep_sectors(*body, bytes, random)) {
      (void)(*survivor->create(name, Create::exclusive))->write_at(0, as_bytes(bytes));
      continue;
    }
    const std::size_t kept = below(body->unsynced.size() + 1);
    for (std::size_t i = 0; i < kept; ++i) {
      const Change& change = body->unsynced[i];
      const bool torn = i + 1 == kept && below(4) == 0;
      apply(bytes, change, torn ? below(change.data.size() + 1) : change.data.size());
    }
    (void)(*survivor->create(name, Create::exclusive))->write_at(0, as_bytes(bytes));
  }
  return survivor;
}

Result<std::shared_ptr<Object>> FaultyStore::create(std::string_view name, Create how) {
  CFFS_TRY_VOID(charge("create " + std::string(name)));
  const MutexLock guard(mutex_);
  CFFS_TRY(auto live, live_.create(name, how));
  auto& body = live_bodies_[std::string(name)];
  if (!body) {
    body = std::make_shared<Body>();
    unsynced_names_.push_back({{}, std::string(name), body});
  } else if (how == Create::truncate) {
    body->unsynced.push_back({0, {}, std::uint64_t{0}});
  }
  return std::make_shared<FaultyObject>(*this, std::string(name), std::move(live), body);
}

Result<std::shared_ptr<Object>> FaultyStore::open(std::string_view name) {
  CFFS_TRY_VOID(charge_read("open " + std::string(name)));
  const MutexLock guard(mutex_);
  if (cut_) return fail(EIO, std::string(name));
  CFFS_TRY(auto live, live_.open(name));
  return std::make_shared<FaultyObject>(*this, std::string(name), std::move(live),
                                        live_bodies_.find(name)->second);
}

Status FaultyStore::remove(std::string_view name) {
  CFFS_TRY_VOID(charge("remove " + std::string(name)));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(live_.remove(name));
  const NameChange change{std::string(name), {}, live_bodies_.find(name)->second};
  apply(live_bodies_, change);
  unsynced_names_.push_back(change);
  return {};
}

Status FaultyStore::rename(std::string_view from, std::string_view to) {
  CFFS_TRY_VOID(charge("rename " + std::string(from)));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(live_.rename(from, to));
  const NameChange change{std::string(from), std::string(to), live_bodies_.find(from)->second};
  apply(live_bodies_, change);
  unsynced_names_.push_back(change);
  return {};
}

Result<bool> FaultyStore::exists(std::string_view name) { return live_.exists(name); }
Result<std::vector<std::string>> FaultyStore::list(std::string_view folder) { return live_.list(folder); }

Status FaultyStore::sync_names() {
  CFFS_TRY_VOID(charge("sync names"));
  const MutexLock guard(mutex_);
  for (const NameChange& change : unsynced_names_) apply(durable_names_, change);
  unsynced_names_.clear();
  return {};
}

Status FaultyStore::sync_everything() {
  CFFS_TRY_VOID(charge("sync everything"));
  const MutexLock guard(mutex_);
  for (const NameChange& change : unsynced_names_) apply(durable_names_, change);
  unsynced_names_.clear();
  for (const auto& [name, body] : live_bodies_) {
    for (const Change& change : body->unsynced) apply(body->durable, change, change.data.size());
    body->unsynced.clear();
  }
  return {};
}

}  // namespace cffs
