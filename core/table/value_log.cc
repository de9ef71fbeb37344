#include "core/table/value_log.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/base/undisturbed.h"

namespace cffs {
namespace {

// The last byte of a row. Never renumber: on disk.
constexpr char kValue = 0, kPointer = 1;
constexpr std::size_t kPointerRow = 8 + 8 + 4 + 4 + 1;

constexpr std::size_t kMostOpen = 16;   // of those that nobody appends to
constexpr std::size_t kMostDirty = 16;  // as many wait for the next sync, each with a descriptor

std::uint32_t sum_of(std::string_view bytes) { return static_cast<std::uint32_t>(checksum(bytes)); }

tl::unexpected<Error> lost(const ValuePointer& pointer, const char* why) {
  return fail(Error::corruption(ValueLog::object_name(pointer.object) + ": " +
                                std::to_string(pointer.length) + " bytes from " +
                                std::to_string(pointer.offset) + " on " + why));
}

Result<std::string> read_from(const Object& object, const ValuePointer& pointer) {
  if (pointer.length > kLongestValue) return lost(pointer, "are longer than any value");
  std::string bytes(pointer.length, '\0');
  auto n = object.read_at(pointer.offset, as_writable_bytes(bytes));
  // What the medium does not give the first time it often does the second, and scans go on without the value.
  if (!n && n.error().is_damage()) n = object.read_at(pointer.offset, as_writable_bytes(bytes));
  if (!n) return fail(n.error());
  if (*n < bytes.size()) return lost(pointer, "are not there");
  if (sum_of(bytes) != pointer.sum) return lost(pointer, "are not those that were written");
  return bytes;
}

}  // namespace

std::string row_of_value(std::string_view value) {
  std::string row;
  row.reserve(value.size() + 1);
  row.append(value);
  row.push_back(kValue);
  return row;
}

std::string row_of_pointer(const ValuePointer& pointer) {
  std::string row;
  ByteWriter w(row);
  w.u64(pointer.object);
  w.u64(pointer.offset);
  w.u32(pointer.length);
  w.u32(pointer.sum);
  row.push_back(kPointer);
  return row;
}

bool is_as_long_as_a_pointer(std::size_t row_bytes) { return row_bytes == kPointerRow; }

Result<std::optional<ValuePointer>> pointer_in_row(std::string_view row) {
  if (!row.empty() && row.back() == kValue) return std::optional<ValuePointer>();
  if (row.empty() || row.back() != kPointer || row.size() != kPointerRow) {
    return fail(Error::corruption("a row of file data is neither a value nor where one is"));
  }
  ByteReader r(row);
  ValuePointer pointer;
  pointer.object = r.u64();
  pointer.offset = r.u64();
  pointer.length = r.u32();
  pointer.sum = r.u32();
  return std::optional<ValuePointer>(pointer);
}

Result<std::string> read_value(ObjectStore& store, const ValuePointer& pointer) {
  const auto object = store.open(ValueLog::object_name(pointer.object));
  if (!object && object.error().errno_value == ENOENT) return lost(pointer, "are gone with it");
  // What no store has in its place no power cut has put there.
  if (!object && object.error().kind == ErrorKind::corruption) return fail(EIO, object.error().message());
  if (!object) return fail(object.error());
  return read_from(**object, pointer);
}

std::string ValueLog::object_name(std::uint64_t object) {
  return std::string(kValueFolder) + "/" + std::to_string(object);
}

Status ValueLog::sync_all(ObjectStore& store) {
  CFFS_TRY(const auto names, store.list(kValueFolder));
  for (const std::string& name : names) {
    const auto object = store.open(name);
    if (!object && object.error().is_damage()) continue;  // whoever reads a value of it is told
    if (!object) return fail(object.error());
    CFFS_TRY_VOID((*object)->sync());
  }
  return {};
}

std::uint64_t ValueLog::object_number(std::string_view name) {
  constexpr std::string_view kFolder(kValueFolder);
  if (!name.starts_with(kFolder) || name.size() <= kFolder.size() + 1) return 0;
  name.remove_prefix(kFolder.size() + 1);
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() && end == name.data() + name.size() ? number : 0;
}

Status ValueLog::load(const std::map<std::uint64_t, Known>& known) {
  CFFS_TRY(const auto names, store_.list(kValueFolder));
  const MutexLock guard(mutex_);
  for (const auto& [number, part] : known) next_ = std::max(next_, number + 1);
  for (const std::string& name : names) {
    const std::uint64_t number = object_number(name);
    if (number == 0) continue;
    next_ = std::max(next_, number + 1);
    Part& part = parts_[number];
    if (const auto it = known.find(number); it != known.end()) {
      part.size = it->second.size;
      part.live = it->second.live;
      live_ += part.live;
      continue;
    }
    const auto object = store_.open(name);
    const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
    if (!info && !info.error().is_damage()) return fail(info.error());
    if (!info) {  // nobody names it; what stands in its place is somebody else's, and stays
      parts_.erase(number);
      continue;
    }
    part.object = *object;
    part.size = info->size;
  }
  return {};
}

// With nothing held: who is short of descriptors has others closed, those of this log among them.
bool ValueLog::begin_part() {
  constexpr int kTries = 3;
  std::shared_ptr<Object> former;
  std::uint64_t number = 0;
  Result<std::shared_ptr<Object>> object = fail(EEXIST);
  for (int attempt = 0; attempt < kTries && !object && object.error().errno_value == EEXIST; ++attempt) {
    {
      const MutexLock guard(mutex_);
      number = next_++;
    }
    object = store_.create(object_name(number), ObjectStore::Create::exclusive);
  }
  if (object) (*object)->expect(object_bytes_);
  {
    const MutexLock guard(mutex_);
    beginning_ = false;
    if (!object) return false;
    if (const auto it = parts_.find(current_); it != parts_.end()) former = it->second.object;
    parts_[number].object = std::move(*object);
    current_ = number;
  }
  if (former) former->begin_writeback();
  return true;
}

// nullopt: somebody else is making one, or none can be made.
std::optional<ValuePointer> ValueLog::reserve(std::uint64_t bytes, std::shared_ptr<Object>& object) {
  for (bool begun = false;; begun = true) {
    {
      const MutexLock guard(mutex_);
      if (current_ != 0 && (begun || parts_[current_].size < object_bytes_)) {
        Part& part = parts_[current_];
        const ValuePointer at{current_, part.size, 0, 0};
        object = part.object;
        part.size += bytes;
        part.live += bytes;
        live_ += bytes;
        ++part.writers;
        return at;
      }
      if (begun || beginning_) return {};
      beginning_ = true;
    }
    if (!begin_part()) return {};
  }
}

std::optional<std::vector<ValuePointer>> ValueLog::append(std::span<const std::string_view> values) {
  if (only_reads_) return {};
  std::string bytes;
  for (const std::string_view value : values) bytes.append(value);
  std::shared_ptr<Object> object;
  auto reserved = reserve(bytes.size(), object);
  if (!reserved) return {};
  ValuePointer at = *reserved;
  const Status done = object->write_at(at.offset, as_bytes(bytes));
  if (done) bytes_written_.fetch_add(bytes.size(), std::memory_order_relaxed);
  bool many = false;
  {
    const MutexLock guard(mutex_);
    Part& part = parts_[at.object];
    --part.writers;
    if (!done) {
      part.live -= bytes.size();
      live_ -= bytes.size();
      if (current_ == at.object) current_ = 0;
      if (is_idle(at.object, part)) part.object.reset();  // each further try begins another
      return {};
    }
    part.dirty = true;
    std::size_t dirty = 0;
    for (const auto& [number, other] : parts_) dirty += other.dirty ? 1 : 0;
    many = dirty > kMostDirty;
  }
  if (many) (void)sync();  // where it fails so does the table's, and nothing is written any more
  std::vector<ValuePointer> pointers;
  pointers.reserve(values.size());
  for (const std::string_view value : values) {
    at.length = static_cast<std::uint32_t>(value.size());
    at.sum = sum_of(value);
    pointers.push_back(at);
    at.offset += value.size();
  }
  return pointers;
}

Result<std::shared_ptr<Object>> ValueLog::object_of(std::uint64_t number) const {
  {
    const MutexLock guard(mutex_);
    const auto it = parts_.find(number);
    if (it != parts_.end() && it->second.object) return it->second.object;
  }
  CFFS_TRY(auto object, store_.open(object_name(number)));
  const MutexLock guard(mutex_);
  const auto it = parts_.find(number);
  if (it == parts_.end() && !only_reads_) return object;  // it has gone meanwhile
  parts_[number].object = object;
  std::size_t open = 0;
  for (auto& [other, part] : parts_) {
    if (other != number && is_idle(other, part) && ++open > kMostOpen) part.object.reset();
  }
  return object;
}

bool ValueLog::is_idle(std::uint64_t number, const Part& part) const {
  return part.object && !part.dirty && part.writers == 0 && number != current_;
}

std::size_t ValueLog::close_idle() {
  std::vector<std::shared_ptr<Object>> closed;  // they go when the lock has been let go
  const MutexLock guard(mutex_);
  for (auto& [number, part] : parts_) {
    if (is_idle(number, part)) closed.push_back(std::exchange(part.object, nullptr));
  }
  return closed.size();
}

Result<std::string> ValueLog::read(const ValuePointer& pointer) const {
  const auto object = object_of(pointer.object);
  if (!object && object.error().errno_value == ENOENT) return lost(pointer, "are gone with it");
  auto value = object ? read_from(**object, pointer) : Result<std::string>(fail(object.error()));
  const bool not_given = !value && value.error().kind == ErrorKind::os && value.error().is_damage();
  if (not_given) return lost(pointer, ("cannot be read: " + value.error().message()).c_str());
  return value;
}

void ValueLog::let_go(const ValuePointer& pointer) {
  const MutexLock guard(mutex_);
  const auto it = parts_.find(pointer.object);
  if (it == parts_.end()) return;
  const std::uint64_t gone = std::min<std::uint64_t>(pointer.length, it->second.live);
  it->second.live -= gone;
  live_ -= gone;
}

void ValueLog::nobody_names(const std::vector<std::uint64_t>& objects) {
  const MutexLock guard(mutex_);
  for (const std::uint64_t number : objects) {
    const auto it = parts_.find(number);
    if (it == parts_.end()) continue;
    live_ -= it->second.live;
    it->second.live = 0;
  }
}

Status ValueLog::sync() {
  const MutexLock one_at_a_time(sync_mutex_);
  if (failed_) return fail(EIO, "the value log could not be made durable before");
  const Undisturbed or_parts_would_be_forgotten;
  std::vector<std::shared_ptr<Object>> due;
  {
    const MutexLock guard(mutex_);
    for (auto& [number, part] : parts_) {
      if (part.dirty) due.push_back(part.object);
      part.dirty = false;
    }
  }
  if (due.size() > 1) {
    for (const auto& object : due) object->begin_writeback();
  }
  for (const auto& object : due) {
    Status done = object->sync();
    failed_ = failed_ || !done;
    CFFS_TRY_VOID(done);
  }
  return {};
}

bool ValueLog::in_use() const {
  const MutexLock guard(mutex_);
  return live_ > 0;
}

std::vector<std::uint64_t> ValueLog::dead() const {
  std::vector<std::uint64_t> found;
  if (only_reads_) return found;
  const MutexLock guard(mutex_);
  for (const auto& [number, part] : parts_) {
    if (part.live == 0 && part.writers == 0 && number != current_) found.push_back(number);
  }
  return found;
}

void ValueLog::forget(std::uint64_t object) {
  const MutexLock guard(mutex_);
  parts_.erase(object);
}

std::vector<std::uint64_t> ValueLog::wasteful() const {
  constexpr std::uint64_t kTimes = 4, kObjects = 4;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sparse;  // bytes that are named, number
  std::uint64_t size = 0, live = 0;
  const MutexLock guard(mutex_);
  for (const auto& [number, part] : parts_) {
    if (number == current_) continue;
    size += part.size;
    live += part.live;
    if (part.live > 0 && part.live * kTimes < part.size) sparse.emplace_back(part.live, number);
  }
  if (size < kTimes * live + kObjects * object_bytes_) return {};
  std::sort(sparse.begin(), sparse.end());
  std::vector<std::uint64_t> found;
  for (const auto& [named, number] : sparse) found.push_back(number);
  return found;
}

std::vector<std::uint64_t> ValueLog::worth_emptying(std::uint64_t least, std::uint64_t most) const {
  constexpr std::uint64_t kTimes = 2;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sparse;  // bytes that are named, number
  std::vector<std::uint64_t> found;
  std::uint64_t named = 0, given = 0;
  const MutexLock guard(mutex_);
  for (const auto& [number, part] : parts_) {
    if (number != current_ && part.live > 0 && part.live * kTimes <= part.size)
      sparse.emplace_back(part.live, number);
  }
  std::sort(sparse.begin(), sparse.end());
  for (const auto& [live, number] : sparse) {
    if (live > most - named) break;
    named += live;
    given += parts_.at(number).size - live;
    found.push_back(number);
  }
  return given < least ? std::vector<std::uint64_t>() : found;
}

std::map<std::uint64_t, ValueLog::Known> ValueLog::known() const {
  std::map<std::uint64_t, Known> all;
  const MutexLock guard(mutex_);
  for (const auto& [number, part] : parts_) all[number] = {part.size, part.live};
  return all;
}

std::string encode_values(const std::map<std::uint64_t, ValueLog::Known>& known) {
  std::string bytes;
  ByteWriter w(bytes);
  w.varint(known.size());
  for (const auto& [number, part] : known) {
    for (const std::uint64_t n : {number, part.size, part.live}) w.varint(n);
  }
  return bytes;
}

Result<std::map<std::uint64_t, ValueLog::Known>> decode_values(std::string_view bytes) {
  std::map<std::uint64_t, ValueLog::Known> known;
  ByteReader r(bytes);
  const std::uint64_t count = r.varint();
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) {
    ValueLog::Known& part = known[r.varint()];
    part.size = r.varint();
    part.live = r.varint();
  }
  if (!r.ok() || !r.at_end() || known.contains(0))
    return fail(Error::corruption("table: what the value log holds is malformed"));
  return known;
}

}  // namespace cffs
