#include "core/rados/name_table.h"

#include <xxhash.h>

#include <algorithm>

#include "core/base/printable.h"

namespace cffs::rados {
namespace {

constexpr unsigned kMaps = 16;
constexpr std::string_view kName = "n/", kGone = "g/";

std::string name_key(std::string_view name) { return std::string(kName) + std::string(name); }
std::string gone_key(NameTable::ObjectId id) { return std::string(kGone) + hexadecimal(id, 16); }

std::string map_name(const Pool& pool, std::uint64_t number) {
  return pool.address().name + ".names." + hexadecimal(number, 2);
}

}  // namespace

std::string NameTable::map_of(std::string_view name) const {
  const std::string_view folder = name.substr(0, std::min(name.rfind('/'), name.size()));
  const bool has_folder = name.find('/') != std::string_view::npos;
  const std::uint64_t number = has_folder ? XXH64(folder.data(), folder.size(), 0) % kMaps : 0;
  return map_name(*pool_, number);
}

Status NameTable::load() {
  std::map<std::string, Entry, std::less<>> names;
  std::map<ObjectId, std::string> nameless;
  std::map<ObjectId, std::string> named;
  std::vector<std::string> stale;
  std::uint64_t highest = 0;
  for (unsigned i = 0; i < kMaps; ++i) {
    const std::string object = map_name(*pool_, i);
    CFFS_TRY(const auto pairs, pool_->map(object, ""));
    for (const auto& [key, value] : pairs) {
      if (key.starts_with(kGone)) {
        const ObjectId id = std::strtoull(key.c_str() + kGone.size(), nullptr, 16);
        nameless.emplace(id, object);
        highest = std::max(highest, id);
        continue;
      }
      ByteReader reader(value);
      Entry entry;
      entry.id = reader.varint();
      entry.version = reader.varint();
      if (!key.starts_with(kName) || !reader.ok() || !reader.at_end())
        return fail(Error::corruption(pool_->address().text() + ": " + printable(key) + " in the map of " +
                                      object + " says nothing that names an object"));
      const std::string name = key.substr(kName.size());
      highest = std::max({highest, entry.id, entry.version});
      // Two names of one object: a rename across maps that was half done. The one that it gave is the newer one.
      if (const auto [twin, is_first] = named.emplace(entry.id, name); !is_first) {
        const bool is_older = names.at(twin->second).version >= entry.version;
        stale.push_back(is_older ? name : twin->second);
        if (is_older) continue;
        names.erase(twin->second);
        twin->second = name;
      }
      names[name] = entry;
    }
  }
  // Replaced by such a rename, and named again by nobody.
  for (const auto& [id, name] : named) nameless.erase(id);
  const MutexLock guard(mutex_);
  names_ = std::move(names);
  nameless_ = std::move(nameless);
  stale_ = std::move(stale);
  highest_ = highest;
  return {};
}

Status NameTable::load_folder(std::string_view folder) {
  const std::string prefix = std::string(folder) + "/";
  CFFS_TRY(const auto pairs, pool_->map(map_of(prefix), name_key(prefix)));
  std::map<std::string, Entry, std::less<>> names;
  for (const auto& [key, value] : pairs) {
    ByteReader reader(value);
    Entry entry;
    entry.id = reader.varint();
    entry.version = reader.varint();
    const std::string name = key.substr(kName.size());
    if (reader.ok() && name.find('/', prefix.size()) == std::string::npos) names[name] = entry;
  }
  const MutexLock guard(mutex_);
  for (auto at = names_.lower_bound(prefix); at != names_.end() && at->first.starts_with(prefix);) {
    at = at->first.find('/', prefix.size()) == std::string::npos ? names_.erase(at) : std::next(at);
  }
  names_.merge(names);
  return {};
}

Status NameTable::erase_stale() {
  {
    const MutexLock guard(mutex_);
    for (const std::string& name : std::exchange(stale_, {})) {
      WriteOperation operation;
      operation.remove_key(name_key(name));
      (void)start(operation, map_of(name));
    }
  }
  return wait();
}

std::uint64_t NameTable::highest() const {
  const MutexLock guard(mutex_);
  return highest_;
}

std::vector<NameTable::ObjectId> NameTable::nameless() const {
  const MutexLock guard(mutex_);
  std::vector<ObjectId> ids;
  for (const auto& [id, object] : nameless_) ids.push_back(id);
  return ids;
}

std::optional<NameTable::ObjectId> NameTable::find(std::string_view name) const {
  const MutexLock guard(mutex_);
  const auto at = names_.find(name);
  if (at == names_.end()) return std::nullopt;
  return at->second.id;
}

std::vector<std::string> NameTable::list(std::string_view folder) const {
  const std::string prefix = folder.empty() ? std::string() : std::string(folder) + "/";
  const MutexLock guard(mutex_);
  std::vector<std::string> names;
  for (auto at = names_.lower_bound(prefix); at != names_.end() && at->first.starts_with(prefix); ++at)
    names.push_back(at->first);
  return names;
}

NameTable::Change NameTable::start(const WriteOperation& operation, const std::string& object) {
  const auto change = std::make_shared<Together>();
  pool_->start(operation, object, [change, one = change->one(), of_all = all_.one()](int code) {
    one(code);
    of_all(code);
  });
  return change;
}

NameTable::Change NameTable::add(std::string_view name, ObjectId id) {
  std::string value;
  ByteWriter writer(value);
  writer.varint(id);
  writer.varint(0);
  WriteOperation operation;
  operation.set_key(name_key(name), value);
  const MutexLock guard(mutex_);
  names_[std::string(name)] = Entry{id, 0};
  return start(operation, map_of(name));
}

std::optional<NameTable::ObjectId> NameTable::remove(std::string_view name) {
  const MutexLock guard(mutex_);
  const auto at = names_.find(name);
  if (at == names_.end()) return std::nullopt;
  const ObjectId id = at->second.id;
  const std::string object = map_of(name);
  WriteOperation operation;
  operation.remove_key(name_key(name));
  operation.set_key(gone_key(id), "");
  names_.erase(at);
  nameless_[id] = object;
  (void)start(operation, object);
  return id;
}

Result<std::optional<NameTable::ObjectId>> NameTable::rename(std::string_view from, std::string_view to,
                                                             std::uint64_t version) {
  const std::string from_object = map_of(from), to_object = map_of(to);
  const MutexLock guard(mutex_);
  const auto at = names_.find(from);
  if (at == names_.end()) return fail(ENOENT);
  std::optional<ObjectId> replaced;
  const Entry entry{at->second.id, version};
  if (from == to) return replaced;
  std::string value;
  ByteWriter writer(value);
  writer.varint(entry.id);
  writer.varint(entry.version);
  WriteOperation operation, behind;
  operation.set_key(name_key(to), value);
  if (const auto there = names_.find(to); there != names_.end()) {
    replaced = there->second.id;
    operation.set_key(gone_key(*replaced), "");
    nameless_[*replaced] = to_object;
  }
  (from_object == to_object ? operation : behind).remove_key(name_key(from));
  names_.erase(at);
  names_[std::string(to)] = entry;
  const Change change = start(operation, to_object);
  if (from_object != to_object) {
    // The old name goes once the new one is durable: until then the object has one of them at least.
    if (const int code = change->wait(); code != 0) return fail(pool_->error(-code, to_object));
    (void)start(behind, from_object);
  }
  return replaced;
}

void NameTable::forget(ObjectId id) {
  WriteOperation operation;
  operation.remove_key(gone_key(id));
  const MutexLock guard(mutex_);
  const auto at = nameless_.find(id);
  if (at == nameless_.end()) return;
  const std::string object = at->second;
  nameless_.erase(at);
  (void)start(operation, object);
}

Status NameTable::wait() {
  if (const int code = all_.wait(); code != 0) return fail(pool_->error(-code, "names"));
  return {};
}

}  // namespace cffs::rados
