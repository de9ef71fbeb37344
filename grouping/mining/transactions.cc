#include "grouping/mining/transactions.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cffs::grouping {
namespace {

// Without a name, in the directory that TMPDIR names, else in /tmp; null: it cannot be made.
std::FILE* unnamed_file() {
  const char* named = ::getenv("TMPDIR");
  const std::string directory = named != nullptr && *named != '\0' ? named : "/tmp";
  int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {  // some file systems know no files without a name
    std::string name = directory + "/cffs-sessions.XXXXXX";
    fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd >= 0) (void)::unlink(name.c_str());
  }
  std::FILE* file = fd < 0 ? nullptr : ::fdopen(fd, "w+");
  if (file == nullptr && fd >= 0) ::close(fd);
  return file;
}

}  // namespace

bool Transactions::add(std::span<const Item> items) {
  if (items.empty()) return true;
  if (problem_ != 0) return false;
  if (buffer_.size() + items.size() + 1 > memory_items_ && !buffer_.empty() && !spill()) {
    problem_ = errno;
    return false;
  }
  buffer_.push_back(static_cast<Item>(items.size()));
  buffer_.insert(buffer_.end(), items.begin(), items.end());
  ++count_;
  return true;
}

bool Transactions::spill() {
  if (!file_) file_.reset(unnamed_file());
  if (!file_) return false;
  if (std::fseek(file_.get(), 0, SEEK_END) != 0) return false;
  const bool written =
      std::fwrite(buffer_.data(), sizeof(Item), buffer_.size(), file_.get()) == buffer_.size();
  buffer_.clear();
  return written;
}

// errno says why it is false.
bool Transactions::read_back(const std::function<void(std::uint64_t, std::span<const Item>)>& visit,
                             std::uint64_t& number) const {
  // What was written last is on its way yet; rewind(3) would forget that it did not get there.
  if (std::fflush(file_.get()) != 0 || std::fseek(file_.get(), 0, SEEK_SET) != 0) return false;
  std::vector<Item> items;
  Item length = 0;
  errno = EIO;  // of a file that is shorter than it was
  while (std::fread(&length, sizeof length, 1, file_.get()) == 1) {
    items.resize(length);
    if (std::fread(items.data(), sizeof(Item), length, file_.get()) != length) return false;
    visit(number++, items);
    errno = EIO;
  }
  return std::ferror(file_.get()) == 0;
}

bool Transactions::for_each(const std::function<void(std::uint64_t, std::span<const Item>)>& visit) const {
  if (problem_ != 0) return false;
  std::uint64_t number = 0;
  if (file_ && !read_back(visit, number)) {
    problem_ = errno;
    return false;
  }
  for (std::size_t at = 0; at < buffer_.size(); at += buffer_[at] + 1) {
    visit(number++, std::span(buffer_).subspan(at + 1, buffer_[at]));
  }
  // All that was added, or a part: the file may have been cut.
  if (number != count_) problem_ = EIO;
  return problem_ == 0;
}

std::vector<std::uint64_t> item_supports(const Transactions& transactions) {
  std::vector<std::uint64_t> counts;
  (void)transactions.for_each([&](std::uint64_t, std::span<const Item> items) {
    for (const Item item : items) {
      if (item >= counts.size()) counts.resize(item + 1);
      ++counts[item];
    }
  });
  return counts;
}

}  // namespace cffs::grouping
