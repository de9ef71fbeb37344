#include "tests/crash/crash_store.h"

#include <algorithm>
#include <utility>

namespace cffs::test {
namespace {

constexpr std::uint64_t kTotalBytes = std::uint64_t{1} << 40;

}  // namespace

class CrashObject final : public Object {
 public:
  CrashObject(CrashStore& store, std::string name, CrashMedium::BodyPtr body)
      : store_(store), name_(std::move(name)), body_(std::move(body)) {}

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    return store_.read(*body_, name_, offset, out);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    CFFS_TRY_VOID(store_.begin("write", name_));
    return store_.write(*body_, name_, offset, {reinterpret_cast<const char*>(data.data()), data.size()});
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    CFFS_TRY(const ObjectInfo now, info());
    CFFS_TRY_VOID(write_at(now.size, data));
    return now.size;
  }
  Status truncate(std::uint64_t size) override {
    CFFS_TRY_VOID(store_.begin("truncate", name_));
    const MutexLock guard(store_.mutex_);
    CFFS_TRY_VOID(store_.alive(name_));
    if (store_.capacity_ && store_.room_for(store_.to_cut_) < store_.to_cut_)
      return fail(store_.when_full_, name_);
    CrashMedium::resize(*body_, size);
    return {};
  }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY(const ObjectInfo now, info());
    if (offset >= now.size) return {};
    CFFS_TRY_VOID(store_.begin("write", name_));
    return store_.write(*body_, name_, offset, std::string(std::min(length, now.size - offset), '\0'), true);
  }
  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY_VOID(store_.begin("allocate", name_));
    const MutexLock guard(store_.mutex_);
    if (!store_.can_allocate_) return fail(EOPNOTSUPP, name_);
    if (!store_.capacity_) return {};
    const std::uint64_t end = offset + length,
                        has = std::max<std::uint64_t>(body_->live.size(), body_->reserved);
    if (end > has && store_.room_for(end - has) < end - has) return fail(store_.when_full_, name_);
    body_->reserved = std::max(body_->reserved, end);
    return {};
  }
  Result<ObjectInfo> info() const override {
    const MutexLock guard(store_.mutex_);
    CFFS_TRY_VOID(store_.alive(name_));
    return ObjectInfo{body_->live.size(), std::max<std::uint64_t>(body_->live.size(), body_->reserved)};
  }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override {
    CFFS_TRY(const ObjectInfo now, info());
    return std::min(offset, now.size);
  }
  Result<std::uint64_t> next_hole(std::uint64_t) const override {
    CFFS_TRY(const ObjectInfo now, info());
    return now.size;
  }
  Status sync() override {
    CFFS_TRY_VOID(store_.begin("sync", name_));
    return store_.sync(body_, name_);
  }
  void prefetch(std::uint64_t, std::uint64_t) const override {}

 private:
  CrashStore& store_;
  const std::string name_;
  const CrashMedium::BodyPtr body_;
};

CrashMedium CrashStore::medium() {
  const MutexLock guard(mutex_);
  return medium_;
}

void CrashStore::kill() {
  const MutexLock guard(mutex_);
  killed_ = true;
}

void CrashStore::revive() {
  const MutexLock guard(mutex_);
  killed_ = false;
}

void CrashStore::fail_sync(std::uint64_t n) {
  const MutexLock guard(mutex_);
  syncs_to_failure_ = n;
}

void CrashStore::tear_write(std::uint64_t n) {
  const MutexLock guard(mutex_);
  writes_to_failure_ = n;
}

void CrashStore::set_capacity(std::optional<std::uint64_t> bytes) {
  const MutexLock guard(mutex_);
  capacity_ = bytes;
  when_full_ = ENOSPC;
  to_cut_ = 0;
}

bool CrashStore::zeros_hold_room() const {
  const MutexLock guard(mutex_);
  return capacity_.has_value();
}

void CrashStore::refuse_to_allocate() {
  const MutexLock guard(mutex_);
  can_allocate_ = false;
}

void CrashStore::set_quota(std::uint64_t bytes, bool copies) {
  const MutexLock guard(mutex_);
  capacity_ = bytes;
  when_full_ = EDQUOT;
  to_cut_ = copies ? 64u << 10 : 0;
}

std::uint64_t CrashStore::used() {
  const MutexLock guard(mutex_);
  return used_now();
}

std::uint64_t CrashStore::used_now() const {
  std::uint64_t all = 0;
  for (const auto& [name, body] : medium_.live()) all += body->held();
  return all;
}

std::uint64_t CrashStore::room_for(std::uint64_t bytes) const {
  if (!capacity_) return bytes;
  const std::uint64_t used = used_now();
  return std::min(bytes, *capacity_ - std::min(*capacity_, used));
}

void CrashStore::refuse_handles(std::uint64_t n, std::uint64_t count) {
  const MutexLock guard(mutex_);
  handles_ = 0;
  refused_from_ = n;
  refused_to_ = n + count;
}

Status CrashStore::handle(std::string_view name) {
  ++handles_;
  if (refused_from_ > 0 && handles_ >= refused_from_ && handles_ < refused_to_)
    return fail(EMFILE, std::string(name));
  return {};
}

void CrashStore::break_reads(std::string name, std::uint64_t at) {
  const MutexLock guard(mutex_);
  broken_ = std::move(name);
  broken_at_ = at;
}

void CrashStore::flip(const std::string& name, std::uint64_t at, unsigned char bits) {
  const MutexLock guard(mutex_);
  const CrashMedium::BodyPtr body = medium_.find(name);
  for (std::string* bytes : {&body->live, &body->durable}) {
    if (at < bytes->size()) (*bytes)[at] = static_cast<char>(static_cast<unsigned char>((*bytes)[at]) ^ bits);
  }
}

Status CrashStore::alive(std::string_view name) {
  return killed_ ? Status(fail(EIO, std::string(name))) : Status();
}

Status CrashStore::begin(std::string_view what, std::string_view name) {
  {
    const MutexLock guard(mutex_);
    CFFS_TRY_VOID(alive(name));
  }
  if (told_) {
    std::string sentence(what);
    sentence += ' ';
    sentence += name;
    told_(sentence);
  }
  return {};
}

Status CrashStore::write(CrashMedium::Body& body, const std::string& name, std::uint64_t offset,
                         std::string_view data, bool punches) {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(name));
  Status done;
  if (writes_to_failure_ > 0 && --writes_to_failure_ == 0) {
    data = data.substr(0, data.size() / 2);
    done = fail(EIO, name);
  }
  const std::uint64_t end = offset + data.size();
  const std::uint64_t has = std::max<std::uint64_t>(body.live.size(), body.reserved);
  if (end > has) {
    const std::uint64_t lacks = end - has - room_for(end - has);
    if (lacks > 0) done = fail(when_full_, name);
    data = data.substr(0, data.size() - std::min<std::uint64_t>(data.size(), lacks));
  }
  if (data.empty() && !done) return done;
  if (punches && done.has_value()) {
    CrashMedium::punch(body, offset, data.size());
  } else {
    CrashMedium::write(body, offset, data);
  }
  return done;
}

Status CrashStore::sync(const CrashMedium::BodyPtr& body, const std::string& name) {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(name));
  if (syncs_to_failure_ > 0 && --syncs_to_failure_ == 0) {
    CrashMedium::lose(*body);
    return fail(EIO, name);
  }
  medium_.sync(body);
  return {};
}

Result<std::size_t> CrashStore::read(const CrashMedium::Body& body, const std::string& name,
                                     std::uint64_t offset, Bytes out) {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(name));
  if (name == broken_ && broken_at_ >= offset && broken_at_ < offset + out.size()) return fail(EIO, name);
  if (offset >= body.live.size()) return std::size_t{0};
  const std::size_t n = std::min<std::size_t>(out.size(), body.live.size() - offset);
  std::copy_n(as_bytes(body.live).begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
  return n;
}

Result<std::shared_ptr<Object>> CrashStore::create(std::string_view name, Create how) {
  const Result<bool> there = exists(name);
  const bool changes = there && (!*there || how == Create::truncate);
  if (changes) CFFS_TRY_VOID(begin("create", name));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(name));
  CFFS_TRY_VOID(handle(name));
  CrashMedium::BodyPtr body = medium_.find(name);
  if (body && how == Create::exclusive) return fail(EEXIST, std::string(name));
  if (!body) {
    body = medium_.create(name);
  } else if (how == Create::truncate) {
    CrashMedium::resize(*body, 0);
  }
  return std::make_shared<CrashObject>(*this, std::string(name), body);
}

Result<std::shared_ptr<Object>> CrashStore::open(std::string_view name) {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(name));
  CFFS_TRY_VOID(handle(name));
  CrashMedium::BodyPtr body = medium_.find(name);
  if (!body) return fail(ENOENT, std::string(name));
  return std::make_shared<CrashObject>(*this, std::string(name), std::move(body));
}

Status CrashStore::remove(std::string_view name) {
  CFFS_TRY_VOID(begin("remove", name));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(name));
  if (!medium_.find(name)) return fail(ENOENT, std::string(name));
  medium_.remove(name);
  return {};
}

Status CrashStore::rename(std::string_view from, std::string_view to) {
  CFFS_TRY_VOID(begin("rename", from));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(from));
  if (!medium_.find(from)) return fail(ENOENT, std::string(from));
  medium_.rename(from, to);
  return {};
}

Result<bool> CrashStore::exists(std::string_view name) {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(name));
  return medium_.find(name) != nullptr;
}

Result<std::vector<std::string>> CrashStore::list(std::string_view folder) {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive(folder));
  const std::string prefix = folder.empty() ? std::string() : std::string(folder) + "/";
  std::vector<std::string> names;
  for (const auto& [name, body] : medium_.live()) {
    if (name.starts_with(prefix)) names.push_back(name);
  }
  return names;
}

Status CrashStore::sync_names() {
  CFFS_TRY_VOID(begin("sync names of", "the store"));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive("names"));
  medium_.sync_names();
  return {};
}

Status CrashStore::sync_everything() {
  CFFS_TRY_VOID(begin("sync everything of", "the store"));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive("everything"));
  medium_.sync_everything();
  return {};
}

Result<SpaceInfo> CrashStore::space() {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(alive("space"));
  if (!capacity_ || when_full_ == EDQUOT)
    return SpaceInfo{kTotalBytes, kTotalBytes / 2, kTotalBytes / 2, 0, 0};
  const std::uint64_t left = room_for(*capacity_);
  return SpaceInfo{*capacity_, left, left, 0, 0};
}

}  // namespace cffs::test
