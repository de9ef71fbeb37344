#include "core/repair/lost_names.h"

namespace cffs {
namespace {

// A catalogue has 16 MiB of it; one that somebody else wrote shall not take more memory than this. Bytes.
constexpr std::uint64_t kMostData = 64u << 20;
constexpr std::uint64_t kChunk = 4096;  // bytes of a chunk of inline data

}  // namespace

void LostNames::load() {
  CatalogueVisitor visitor;
  visitor.row = [this](InodeId upper, Row& row) { note(upper, row); };
  visitor.data = [this](InodeId file, std::uint64_t chunk, std::string_view bytes) {
    note_data(file, chunk, bytes);
  };
  auto read = read_catalogue(store_, visitor);
  if (!read) {
    if (read.error().is_shortage()) looked_ = fail(read.error());
    damage_.push_back(read.error().message());
    return;
  }
  if (!*read) return;
  moment_ = (*read)->moment;
  damage_ = std::move((*read)->damage);
  present_ = moment_ != CatalogueMoment();  // some of it could be read
}

void LostNames::note(InodeId upper, Row& row) {
  for (Entry& entry : row.entries) {
    if (!entry.inode) {
      names_[entry.ino].push_back({upper, std::move(entry.name)});
    } else if (entry.ino == kRootInode) {
      root_ = std::move(entry.inode);
    } else if (entry.inode->is_directory()) {
      directories_.insert_or_assign(entry.ino,
                                    Directory{upper, std::move(entry.name), std::move(*entry.inode)});
    }
  }
}

void LostNames::note_data(InodeId file, std::uint64_t chunk, std::string_view bytes) {
  std::string& content = data_[file];
  const bool next = chunk < kMostData / kChunk && content.size() == chunk * kChunk;
  if (!next || bytes.size() > kChunk || data_bytes_ + bytes.size() > kMostData) return;
  content += bytes;
  data_bytes_ += bytes.size();
}

const LostNames::Directory* LostNames::directory(InodeId ino) const {
  const auto it = directories_.find(ino);
  return it == directories_.end() ? nullptr : &it->second;
}

const std::vector<EntryName>& LostNames::names(InodeId ino) const {
  static const std::vector<EntryName> kNone;
  const auto it = names_.find(ino);
  return it == names_.end() ? kNone : it->second;
}

std::optional<std::string> LostNames::inline_data(InodeId ino, std::uint64_t size) const {
  const auto it = data_.find(ino);
  if (it == data_.end() || it->second.size() != size) return {};
  return it->second;
}

Status LostNames::visit(
    const std::function<Status(const std::optional<EntryName>& at, const Inode& inode)>& file) const {
  if (!present_) return {};
  Status done;
  CatalogueVisitor visitor;
  visitor.row = [&](InodeId upper, const Row& row) {
    for (const Entry& entry : row.entries) {
      if (!done || !entry.inode || entry.inode->is_directory()) continue;
      const auto at = entry.name.empty() ? std::nullopt : std::optional(EntryName{upper, entry.name});
      done = file(at, *entry.inode);
    }
  };
  CFFS_TRY(const auto read, read_catalogue(store_, visitor));
  if (whole() && !(read && read->damage.empty()))
    return fail(Error::corruption("the catalogue was whole, and cannot be read again"));
  return done;
}

}  // namespace cffs
