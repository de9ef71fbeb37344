#include <algorithm>
#include <deque>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/table/table.h"
#include "core/warm/placed_data.h"
#include "core/warm/warming.h"

namespace cffs {
namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;
constexpr std::uint64_t kAheadBytes = 16u << 20;  // asked of the medium before the reader comes there

struct WantedPiece {
  std::size_t object = 0;
  std::uint64_t offset = 0, length = 0;
};

// Objects, and what is wanted of each, in the order in which they are read.
class Wanted {
 public:
  void add(const std::string& name, std::uint64_t begin, std::uint64_t end) {
    if (names_.empty() || names_.back() != name) names_.push_back(name);
    for (std::uint64_t at = begin; at < end; at += kPieceBytes) {
      pieces_.push_back({names_.size() - 1, at, std::min(kPieceBytes, end - at)});
      bytes_ += pieces_.back().length;
    }
  }
  const std::vector<WantedPiece>& pieces() const { return pieces_; }
  const std::string& name_of(const WantedPiece& piece) const { return names_[piece.object]; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> names_;
  std::vector<WantedPiece> pieces_;
  std::uint64_t bytes_ = 0;
};

class Warmer {
 public:
  Warmer(ObjectStore& objects, const WarmOptions& options, WarmReport& report)
      : objects_(objects), options_(options), report_(report) {}

  // Reads from front to back, while the medium is asked for what comes behind.
  Status read(const Wanted& wanted) {
    const auto& pieces = wanted.pieces();
    open_.clear();
    std::size_t ahead = 0;
    std::uint64_t asked = 0;  // bytes of [i, ahead)
    std::vector<bool> was_there(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (options_.go_on && !options_.go_on()) return fail(EINTR);
      for (; ahead < pieces.size() && (ahead <= i || asked < kAheadBytes); ++ahead) {
        asked += pieces[ahead].length;
        const auto object = open(wanted, pieces[ahead]);
        was_there[ahead] = object && is_there(*object, pieces[ahead]);
        if (object && !was_there[ahead]) object->prefetch(pieces[ahead].offset, pieces[ahead].length);
      }
      asked -= pieces[i].length;
      const auto object = open(wanted, pieces[i]);
      if (object && !was_there[i]) {
        // What was asked for ahead is on its way all the same: so much more at most.
        if (filled_ + pieces[i].length > options_.most_bytes) {
          report_.memory_full = true;
          return {};
        }
        const auto n = object->read_at(pieces[i].offset, as_writable_bytes(buffer_).first(pieces[i].length));
        if (!n) report_.fail(wanted.name_of(pieces[i]) + ": " + n.error().message());
        filled_ += pieces[i].length;
      }
      report_.bytes += pieces[i].length;
      if (options_.on_progress) options_.on_progress(report_);
    }
    return {};
  }

 private:
  static bool is_there(const Object& object, const WantedPiece& piece) {
    return object.share_in_memory(piece.offset, piece.length).value_or(0) >= 1;
  }

  std::shared_ptr<Object> open(const Wanted& wanted, const WantedPiece& piece) {
    for (const auto& [known, object] : open_) {
      if (known == piece.object) return object;
    }
    auto opened = objects_.open(wanted.name_of(piece));
    if (!opened) {
      // Beside a writer an object may go.
      if (opened.error().errno_value != ENOENT)
        report_.fail(wanted.name_of(piece) + ": " + opened.error().message());
      open_.emplace_back(piece.object, nullptr);
    } else {
      open_.emplace_back(piece.object, std::move(*opened));
    }
    constexpr std::size_t kMostOpen = 64;
    std::shared_ptr<Object> result = open_.back().second;
    if (open_.size() > kMostOpen) open_.pop_front();
    return result;
  }

  ObjectStore& objects_;
  const WarmOptions& options_;
  WarmReport& report_;
  std::uint64_t filled_ = 0;
  std::deque<std::pair<std::size_t, std::shared_ptr<Object>>> open_;  // by their place in what is read
  std::string buffer_ = std::string(kPieceBytes, '\0');
};

// How much of what is wanted is in memory now.
std::uint64_t bytes_there(ObjectStore& objects, const Wanted& wanted) {
  double bytes = 0;
  std::shared_ptr<Object> object;
  std::size_t of = ~std::size_t{0};
  for (const WantedPiece& piece : wanted.pieces()) {
    if (piece.object != of) {
      auto opened = objects.open(wanted.name_of(piece));
      object = opened ? std::move(*opened) : nullptr;
      of = piece.object;
    }
    if (object)
      bytes += std::min(1.0, object->share_in_memory(piece.offset, piece.length).value_or(0)) *
               static_cast<double>(piece.length);
  }
  return static_cast<std::uint64_t>(bytes);
}

Status want_all_below(ObjectStore& objects, const std::string& folder, Wanted& wanted) {
  CFFS_TRY(const auto names, objects.list(folder));
  for (const std::string& name : names) {
    const auto object = objects.open(name);
    if (!object) continue;
    const auto info = (*object)->info();
    if (info) wanted.add(name, 0, info->size);
  }
  return {};
}

// Of a packed composite all: it is small, and its frames hold more than one file.
void want_composite(ObjectStore& objects, FileSystem& fs, CompositeId id,
                    std::vector<PlacedData::Range> ranges, Wanted& wanted) {
  const std::string name = CompositeStore::object_name(id);
  const auto object = objects.open(name);
  if (!object) return;
  const auto info = (*object)->info();
  if (!info) return;
  const auto plain = fs.composites().open(id);
  const bool packed = plain && CompositeStore::compression_of(**plain) != Compression{};
  std::sort(ranges.begin(), ranges.end(),
            [](const PlacedData::Range& a, const PlacedData::Range& b) { return a.begin < b.begin; });
  // A request more costs a device as much as some bytes that nobody wants.
  constexpr std::uint64_t kWorthAGap = 128u << 10;
  std::vector<PlacedData::Range> joined;
  for (const auto& range : ranges) {
    if (!joined.empty() && range.begin <= joined.back().end + kWorthAGap) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back(range);
    }
  }
  if (packed) joined = {{0, info->size}};
  for (const auto& range : joined)
    wanted.add(name, std::min(range.begin, info->size), std::min(range.end, info->size));
}

// What the object has of it: holes take nothing of the medium, and may be as long as a file can be; what a damaged row claims beyond the
// object is nowhere. What cannot be asked of it is told when it is read.
void want_blob(ObjectStore& objects, InodeId ino, std::uint64_t size, Wanted& wanted) {
  const std::string name = BlobStore::object_name(ino);
  const auto object = objects.open(name);
  const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
  if (!info) return wanted.add(name, 0, std::min(kPieceBytes, size));
  const std::uint64_t end = std::min(size, info->size);
  for (std::uint64_t at = 0; at < end;) {
    const auto from = (*object)->next_data(at);
    if (!from) return wanted.add(name, at, std::min(at + kPieceBytes, end));
    if (*from >= end) return;
    const std::uint64_t to = std::min(end, (*object)->next_hole(*from).value_or(end));
    wanted.add(name, *from, to);
    at = std::max(to, *from + 1);
  }
}

// Files in the table are read as files.
Status read_inline(FileSystem& fs, const PlacedData& placed, const WarmOptions& options, WarmReport& report) {
  std::string buffer(64u << 10, '\0');
  for (const auto& [directory, name] : placed.inline_files) {
    if (options.go_on && !options.go_on()) return fail(EINTR);
    const auto found = fs.lookup(directory, name);
    if (!found) continue;
    for (std::uint64_t at = 0; at < found->size;) {
      const auto n = fs.read(found->ino, at, as_writable_bytes(buffer));
      if (!n) report.fail(name + ": " + n.error().message());
      if (!n || *n == 0) break;
      at += *n;
    }
    fs.forget(found->ino, 1);
  }
  return {};
}

}  // namespace

Result<WarmReport> warm_store(ObjectStore& objects, FileSystem& fs, const std::vector<std::string>& paths,
                              const WarmOptions& options) {
  WarmReport report;
  Warmer warmer(objects, options, report);
  bool whole = false;
  for (const std::string& path : paths) whole = whole || path.find_first_not_of('/') == std::string::npos;
  Wanted table;
  if (whole) {
    CFFS_TRY_VOID(want_all_below(objects, "table", table));
    if (!options.metadata_only) CFFS_TRY_VOID(want_all_below(objects, std::string(kValueFolder), table));
    report.bytes_in_all = table.bytes();
    report.found_bytes = bytes_there(objects, table);
    CFFS_TRY_VOID(warmer.read(table));
    if (report.memory_full) return report;
  }
  PlacedData placed;
  for (const std::string& path : paths) {
    CFFS_TRY_VOID(placed.add(fs, path, [&] {
      report.names = placed.names;
      report.directories = placed.directories;
      if (options.on_progress) options.on_progress(report);
      return !options.go_on || options.go_on();
    }));
  }
  report.names = placed.names;
  report.directories = placed.directories;
  if (options.metadata_only) return report;
  Wanted data;
  for (auto& [id, ranges] : placed.composites) want_composite(objects, fs, id, std::move(ranges), data);
  for (const auto& [ino, size] : placed.blobs) want_blob(objects, ino, size, data);
  report.bytes_in_all += data.bytes();
  report.found_bytes += bytes_there(objects, data);
  CFFS_TRY_VOID(warmer.read(data));
  if (!report.memory_full && !whole) CFFS_TRY_VOID(read_inline(fs, placed, options, report));
  return report;
}

Result<DataOrder> find_data_order(FileSystem& fs, const std::vector<std::string>& paths,
                                  const std::function<bool()>& go_on) {
  DataOrder order;
  PlacedData placed;
  // Composites by their numbers, then blobs; what is in the table comes first, as nothing has to be fetched for it.
  constexpr unsigned kOffsetBits = 33;
  constexpr std::uint64_t kBlobs = std::uint64_t{1} << 63;
  placed.on_file = [&](const Inode& inode) {
    if (inode.home == Home::composite) {
      order[inode.ino.value] = (inode.extent.composite.value << kOffsetBits | inode.extent.offset) & ~kBlobs;
    } else if (inode.home == Home::blob) {
      order[inode.ino.value] = kBlobs | inode.ino.value;
    }
  };
  for (const std::string& path : paths) CFFS_TRY_VOID(placed.add(fs, path, go_on));
  return order;
}

}  // namespace cffs
