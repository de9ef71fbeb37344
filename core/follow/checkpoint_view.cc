#include "core/follow/checkpoint_view.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/object/memory_store.h"
#include "core/table/table_files.h"

namespace cffs {
namespace {

constexpr std::string_view kTableFolder = "table";
constexpr std::string_view kCurrent = "table/CURRENT";
constexpr std::string_view kManifests = "table/MANIFEST-";

tl::unexpected<Error> only_read(std::string_view name) { return fail(EROFS, std::string(name)); }

class NoStoreLock final : public StoreLock {};

// What both kinds of objects share: nothing of them changes.
class PastObject : public Object {
 public:
  Status write_at(std::uint64_t, ConstBytes) override { return only_read("checkpoint"); }
  Result<std::uint64_t> append(ConstBytes) override { return only_read("checkpoint"); }
  Status truncate(std::uint64_t) override { return only_read("checkpoint"); }
  Status punch_hole(std::uint64_t, std::uint64_t) override { return only_read("checkpoint"); }
  Status allocate(std::uint64_t, std::uint64_t) override { return only_read("checkpoint"); }
  Status sync() override { return {}; }
};

// The first bytes of an object.
class Beginning final : public PastObject {
 public:
  Beginning(std::shared_ptr<Object> below, std::uint64_t end) : below_(std::move(below)), end_(end) {}
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    if (offset >= end_) return std::size_t{0};
    return below_->read_at(offset, out.first(std::min<std::uint64_t>(out.size(), end_ - offset)));
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    if (offset >= end_) return std::size_t{0};
    return below_->read_medium(offset, out.first(std::min<std::uint64_t>(out.size(), end_ - offset)));
  }
  Result<ObjectInfo> info() const override {
    CFFS_TRY(ObjectInfo info, below_->info());
    info.size = std::min(info.size, end_);
    return info;
  }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return std::min(offset, end_); }
  Result<std::uint64_t> next_hole(std::uint64_t) const override { return end_; }
  void prefetch(std::uint64_t, std::uint64_t) const override {}

 private:
  const std::shared_ptr<Object> below_;
  const std::uint64_t end_;
};

// A blob, as it was. Where the object below is gone all that it had was kept.
class PastBlob final : public PastObject {
 public:
  PastBlob(const CheckpointView& view, PastBytes& past, InodeId ino, std::shared_ptr<Object> below)
      : view_(view), past_(past), ino_(ino), below_(std::move(below)) {}
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    const std::uint64_t checkpoint = view_.sequence();
    std::size_t n = 0;
    if (below_) {
      CFFS_TRY(n, below_->read_at(offset, out));
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(n), out.end(), std::byte{0});
    return past_.restore(ino_, checkpoint, view_.published(), offset, out, n);
  }
  // What was kept is looked for in the store with each read: that may wait for its device, or its network.
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t, Bytes) const override {
    return std::optional<std::size_t>();
  }
  Result<ObjectInfo> info() const override { return below_ ? below_->info() : ObjectInfo(); }
  // Where it has changed since, nobody knows of its holes: it has none. Asked after the object, as for its bytes.
  Result<std::uint64_t> next_data(std::uint64_t offset) const override {
    return unless_changed([&] { return below_->next_data(offset); }, offset);
  }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override {
    return unless_changed([&] { return below_->next_hole(offset); },
                          std::numeric_limits<std::uint64_t>::max());
  }
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    return below_ ? below_->share_in_memory(offset, length) : std::nullopt;
  }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    if (below_) below_->prefetch(offset, length);
  }

 private:
  template <typename Ask>
  Result<std::uint64_t> unless_changed(const Ask& ask, std::uint64_t where_changed) const {
    if (!below_) return where_changed;
    const std::uint64_t checkpoint = view_.sequence();
    const Result<std::uint64_t> now = ask();
    CFFS_TRY(const bool changed, past_.has(ino_, checkpoint, view_.published()));
    if (changed) return where_changed;
    return now;
  }

  const CheckpointView& view_;
  PastBytes& past_;
  const InodeId ino_;
  const std::shared_ptr<Object> below_;
};

// "blobs/J/I"
std::optional<InodeId> blob_number(std::string_view name) {
  if (!name.starts_with("blobs/")) return {};
  const std::string_view digits = name.substr(name.rfind('/') + 1);
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc() || end != digits.data() + digits.size()) return {};
  return InodeId{number};
}

}  // namespace

std::optional<std::uint64_t> CheckpointView::end_of(std::string_view name) const {
  if (name == checkpoint_.table.manifest) return checkpoint_.table.manifest_bytes;
  for (const auto& [log, bytes] : checkpoint_.table.logs) {
    if (name == log) return bytes;
  }
  return {};
}

bool CheckpointView::is_later(std::string_view name) const {
  const bool grows = table_file_number(name, kTableFolder, kLogEnding) > 0 || name.starts_with(kManifests);
  return grows && !end_of(name);
}

Result<std::shared_ptr<Object>> CheckpointView::create(std::string_view name, Create how) {
  if (how != Create::keep) return only_read(name);
  return open(name);
}

Result<std::shared_ptr<Object>> CheckpointView::open(std::string_view name) {
  if (name == kCurrent) {
    auto current = make_memory_object();
    const std::string text = checkpoint_.table.manifest.substr(kTableFolder.size() + 1) + "\n";
    CFFS_TRY_VOID(current->write_at(0, as_bytes(text)));
    return current;
  }
  if (is_later(name)) return fail(ENOENT, std::string(name));
  auto below = below_.open(name);
  if (const auto ino = blob_number(name)) {
    if (!below && below.error().errno_value != ENOENT) return below;
    if (!below) {
      CFFS_TRY(const bool kept, past_.has(*ino, sequence(), published()));
      if (!kept) return below;
    }
    return std::shared_ptr<Object>(
        std::make_shared<PastBlob>(*this, past_, *ino, below ? std::move(*below) : nullptr));
  }
  if (!below) return below;
  if (const auto end = end_of(name)) {
    return std::shared_ptr<Object>(std::make_shared<Beginning>(std::move(*below), *end));
  }
  return below;
}

Status CheckpointView::remove(std::string_view name) { return only_read(name); }
Status CheckpointView::rename(std::string_view from, std::string_view) { return only_read(from); }

Result<bool> CheckpointView::exists(std::string_view name) {
  if (name == kCurrent) return true;
  if (is_later(name)) return false;
  return below_.exists(name);
}

Result<std::vector<std::string>> CheckpointView::list(std::string_view folder) {
  CFFS_TRY(auto names, below_.list(folder));
  std::erase_if(names, [this](const std::string& name) { return is_later(name); });
  return names;
}

Result<std::unique_ptr<StoreLock>> CheckpointView::lock(std::string_view) { return only_read("lock"); }
Result<std::unique_ptr<StoreLock>> CheckpointView::lock_for_reading() {
  return std::unique_ptr<StoreLock>(std::make_unique<NoStoreLock>());
}

}  // namespace cffs
