#include "core/transfer/zip_names.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/object/file_descriptor.h"
#include "core/transfer/utf8_locale.h"

namespace cffs {
namespace {

// Of .ZIP's specification, 4.3: bytes.
constexpr std::size_t kEnd = 22, kLocator = 20, kEnd64 = 56, kHeader = 46;
constexpr std::uint32_t kIn64 = 0xffffffff;
constexpr std::uint8_t kMadeByDos = 0;

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t length) {
  std::uint64_t value = 0;
  for (std::size_t i = length; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

class ZipFile {
 public:
  explicit ZipFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat st {};
    if (fd_ && ::fstat(fd_.get(), &st) == 0) size_ = static_cast<std::uint64_t>(st.st_size);
  }
  std::uint64_t size() const { return size_; }
  // Fewer bytes at its end.
  std::string_view read(std::uint64_t offset, std::size_t length) {
    if (offset >= size_) return {};
    if (offset < begin_ || offset + length > begin_ + buffer_.size()) {
      buffer_.resize(std::max<std::size_t>(length, 256 * 1024));
      const ssize_t n = ::pread(fd_.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(offset));
      buffer_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
      begin_ = offset;
    }
    return std::string_view(buffer_).substr(offset - begin_, length);
  }

 private:
  const FileDescriptor fd_;
  std::uint64_t size_ = 0, begin_ = 0;
  std::string buffer_;
};

// Where its directory begins.
std::optional<std::uint64_t> directory_of(ZipFile& file) {
  const std::uint64_t from = file.size() - std::min<std::uint64_t>(file.size(), kEnd + 0xffff);
  const std::string tail(file.read(from, file.size() - from));
  const std::size_t end = tail.rfind("PK\5\6");
  if (end == std::string::npos || tail.size() - end < kEnd) return std::nullopt;
  const std::uint64_t begin = number(tail, end + 16, 4);
  if (begin != kIn64 || from + end < kLocator) return begin;
  const std::string locator(file.read(from + end - kLocator, kLocator));
  if (locator.size() < kLocator || !locator.starts_with("PK\6\7")) return begin;
  const std::string end64(file.read(number(locator, 8, 8), kEnd64));
  if (end64.size() < kEnd64 || !end64.starts_with("PK\6\6")) return std::nullopt;
  return number(end64, 48, 8);
}

// Of a member, from the directory's header and what is behind its name.
std::uint64_t offset_of(std::string_view header, std::string_view extra) {
  const std::uint64_t offset = number(header, 42, 4);
  if (offset != kIn64) return offset;
  while (extra.size() >= 4) {
    const std::size_t length = number(extra, 2, 2);
    if (extra.size() - 4 < length) break;
    if (number(extra, 0, 2) == 1) {
      const std::size_t at = 4 + 8 * std::size_t{number(header, 24, 4) == kIn64} +
                             8 * std::size_t{number(header, 20, 4) == kIn64};
      return at + 8 <= 4 + length ? number(extra, at, 8) : offset;
    }
    extra.remove_prefix(4 + length);
  }
  return offset;
}

std::string as_windows_path(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  return name;
}

}  // namespace

ZipNames ZipNames::of(const std::string& path) {
  ZipNames names;
  ZipFile file(path);
  auto at = directory_of(file);
  if (!at) return names;
  std::vector<std::pair<std::uint64_t, Member>>
      members;  // by their offsets; without a name: as the reader has it
  for (;;) {
    const std::string header(file.read(*at, kHeader));
    if (header.size() < kHeader || !header.starts_with("PK\1\2")) break;
    const std::size_t name_bytes = number(header, 28, 2), extra_bytes = number(header, 30, 2);
    const std::string rest(file.read(*at + kHeader, name_bytes + extra_bytes));
    if (rest.size() < name_bytes + extra_bytes) break;
    const std::string_view name = std::string_view(rest).substr(0, name_bytes);
    const std::uint64_t offset = offset_of(header, std::string_view(rest).substr(name_bytes));
    const bool by_dos = static_cast<std::uint8_t>(header[5]) == kMadeByDos;
    const bool with_backslashes = !by_dos && name.find('\\') != name.npos && name.find('/') == name.npos;
    const bool concerned = (with_backslashes || !is_ascii(name)) && name.find('\0') == name.npos;
    members.emplace_back(
        offset,
        concerned ? Member{std::string(name), static_cast<mode_t>(number(header, 40, 2)), by_dos} : Member{});
    *at += kHeader + rest.size() + number(header, 32, 2);
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].second.name.empty()) names.members_.emplace(i, std::move(members[i].second));
  }
  return names;
}

bool ZipNames::correct(archive_entry* entry) {
  const auto found = members_.find(next_++);
  const char* path = archive_entry_pathname(entry);
  if (found == members_.end()) return true;
  if (path == nullptr) {
    std::string name = found->second.name;
    if (found->second.made_by_dos && name.find('/') == name.npos) name = as_windows_path(std::move(name));
    archive_entry_copy_pathname(entry, name.c_str());
    if (name.ends_with('/') && archive_entry_filetype(entry) != AE_IFDIR)
      archive_entry_set_mode(entry, S_IFDIR | 0775);
    return true;
  }
  if (found->second.made_by_dos || path != as_windows_path(found->second.name)) return true;
  archive_entry_copy_pathname(entry, found->second.name.c_str());
  if (!found->second.name.ends_with('\\')) return true;
  // That one became a directory, of which no data is read.
  const mode_t mode = found->second.mode;
  const bool has_type = S_ISREG(mode) || S_ISDIR(mode);
  archive_entry_set_mode(entry, has_type ? mode : S_IFREG | 0644);
  return archive_entry_size(entry) == 0;
}

}  // namespace cffs
