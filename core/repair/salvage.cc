#include "core/repair/salvage.h"

#include <algorithm>
#include <charconv>

#include "core/base/checksum.h"
#include "core/composite/composite_store.h"

namespace cffs {
namespace {

constexpr std::size_t kRecordAlignment = 8;
constexpr std::uint64_t kPieceBytes = 1u << 20;

// composites/0/17: 17; 0 where somebody else named it.
std::uint64_t number_in(const std::string& object) {
  std::uint64_t number = 0;
  std::from_chars(object.data() + object.rfind('/') + 1, object.data() + object.size(), number);
  return number;
}

}  // namespace

Result<SalvageReport> Salvage::run() {
  for (const char* folder : {"composites", "lost+found/composites"}) {
    CFFS_TRY(const auto objects, from_.list(folder));
    for (const std::string& object : objects) {
      progress_("reading " + object);
      CFFS_TRY_VOID(look_into(object));
    }
  }
  for (auto& [ino, found] : records_) {
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.age > b.age; });
    CFFS_TRY_VOID(bring_back(ino, found));
    if (report_.files % 1000 == 0) progress_(std::to_string(report_.files) + " files are back");
  }
  for (const char* folder : {"blobs", "lost+found/blobs"}) {
    CFFS_TRY(const auto objects, from_.list(folder));
    for (const std::string& object : objects) {
      progress_("reading " + object);
      CFFS_TRY_VOID(bring_back_blob(object));
    }
  }
  CFFS_TRY_VOID(to_.sync());
  return std::move(report_);
}

// Behind damage the next record that its own checksum proves is looked for, byte group by byte group.
Status Salvage::look_into(const std::string& object) {
  const auto opened = from_.open(object);
  const auto bytes = opened ? read_whole(**opened) : Result<std::string>(fail(opened.error()));
  if (!bytes) {
    report_.lost.push_back(bytes.error().message());
    return {};
  }
  const std::string_view all(*bytes);
  const std::uint64_t number = number_in(object);
  std::uint64_t lost_from = 0;
  bool lost = false;
  const auto tell = [&](std::uint64_t until) {
    if (lost)
      report_.lost.push_back(object + ": no records in bytes " + std::to_string(lost_from) + " to " +
                             std::to_string(until - 1));
    lost = false;
  };
  for (std::uint64_t at = kCompositeHeaderBytes; at < all.size();) {
    const auto record = parse_record(all.substr(at));
    const auto inode = record && *record ? record_inode(all.substr(at)) : Result<Inode>(fail(EIO));
    if (!inode) {
      if (!lost) lost_from = at;
      lost = true;
      at += kRecordAlignment;
      continue;
    }
    tell(at);
    records_[inode->ino].push_back(
        {object, at, (*record)->record_bytes(), {inode->ctime_ns, inode->version, number, at}});
    at += (*record)->record_bytes();
  }
  tell(all.size());
  return {};
}

Status Salvage::bring_back(InodeId ino, const std::vector<Found>& newest_first) {
  for (const Found& found : newest_first) {
    CFFS_TRY(const bool done, bring_back(found));
    if (!done) continue;
    if (&found != &newest_first.front()) ++report_.older;
    return {};
  }
  report_.lost.push_back("inode " + std::to_string(ino.value) + ": no record of it has its data");
  return {};
}

// False: its data is not what its checksum says.
Result<bool> Salvage::bring_back(const Found& found) {
  const auto object = from_.open(found.object);
  if (!object) return false;
  CFFS_TRY(const ObjectInfo info, (*object)->info());
  std::string bytes(std::min(found.bytes, info.size - std::min(found.at, info.size)), '\0');
  const auto n = (*object)->read_at(found.at, as_writable_bytes(bytes));
  if (!n) return false;
  bytes.resize(*n);
  const auto record = parse_record(bytes);
  if (!record || !*record) return false;
  const RecordMeta& meta = **record;
  if (meta.meta_bytes > bytes.size() || meta.data_length > bytes.size() - meta.meta_bytes) return false;
  const std::string_view data = std::string_view(bytes).substr(meta.meta_bytes, meta.data_length);
  if (checksum(data) != meta.data_checksum) return false;
  CFFS_TRY(const Inode inode, record_inode(bytes));
  InodeId parent = kRootInode;
  if (meta.parent != kRootInode) {
    CFFS_TRY(parent, directory("#" + std::to_string(meta.parent.value)));
  }
  const Caller root = Caller::privileged(0, 0);
  auto file = to_.mknod(parent, meta.name, S_IFREG | 0600, 0, root);
  if (!file && file.error().errno_value == EEXIST) {  // another file had the name before, or after
    file = to_.mknod(parent, meta.name + "#" + std::to_string(inode.ino.value), S_IFREG | 0600, 0, root);
  }
  if (!file) {
    report_.lost.push_back("inode " + std::to_string(inode.ino.value) + ": " + file.error().message());
    return true;
  }
  CFFS_TRY_VOID(to_.write(file->ino, 0, as_bytes(data), root));
  CFFS_TRY_VOID(set_attributes(file->ino, inode));
  to_.forget(file->ino, 1);
  ++report_.files;
  report_.bytes += data.size();
  return true;
}

Status Salvage::set_attributes(InodeId file, const Inode& inode) {
  const Caller root = Caller::privileged(0, 0);
  for (const auto& [name, value] : inode.xattrs) {
    if (const Status set = to_.setxattr(file, name, value, XattrMode::any, root); !set)
      report_.lost.push_back("inode " + std::to_string(inode.ino.value) + ": attribute " + name + ": " +
                             set.error().message());
  }
  AttributeChange change;
  change.uid = inode.uid;
  change.gid = inode.gid;
  CFFS_TRY_VOID(to_.setattr(file, change, root));
  AttributeChange last;  // after the owner, which takes set-id bits away
  last.mode = inode.mode & 07777;
  last.atime_ns = inode.atime_ns;
  last.mtime_ns = inode.mtime_ns;
  CFFS_TRY_VOID(to_.setattr(file, last, root));
  return {};
}

// A blob that cannot be read to its end comes back as far as it can.
Status Salvage::bring_back_blob(const std::string& object) {
  CFFS_TRY(const InodeId parent, directory("#blobs"));
  const Caller root = Caller::privileged(0, 0);
  const auto opened = from_.open(object);
  const auto info = opened ? (*opened)->info() : Result<ObjectInfo>(fail(opened.error()));
  if (!info) {
    report_.lost.push_back(info.error().message());
    return {};
  }
  std::string name = object.substr(object.rfind('/') + 1);
  if (!object.starts_with("blobs/")) name += " of lost+found";
  CFFS_TRY(const Attributes file, to_.mknod(parent, name, S_IFREG | 0600, 0, root));
  AttributeChange change;
  change.size = info->size;
  CFFS_TRY_VOID(to_.setattr(file.ino, change, root));
  std::string piece(kPieceBytes, '\0');
  for (std::uint64_t at = 0; at < info->size;) {
    const auto data = (*opened)->next_data(at);
    if (data && *data >= info->size) break;
    at = data ? *data : at;
    const auto n = (*opened)->read_at(at, as_writable_bytes(piece));
    if (!n || *n == 0) {
      report_.lost.push_back(object + ": what is at byte " + std::to_string(at) + " cannot be read");
      at += kPieceBytes;
      continue;
    }
    CFFS_TRY_VOID(to_.write(file.ino, at, as_bytes(piece).first(*n), root));
    at += *n;
    report_.bytes += *n;
  }
  to_.forget(file.ino, 1);
  ++report_.files;
  return {};
}

// Referred to as long as the new store is open.
Result<InodeId> Salvage::directory(const std::string& name) {
  if (const auto known = directories_.find(name); known != directories_.end()) return known->second;
  CFFS_TRY(const Attributes made, to_.mkdir(kRootInode, name, 0700, Caller::privileged(0, 0)));
  directories_[name] = made.ino;
  return made.ino;
}

}  // namespace cffs
