#include "core/inspect/directory_sizes.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "core/inspect/stored_shares.h"
#include "core/table/table.h"

namespace cffs {
namespace {

// Inode numbers that somebody came to. They are drawn from one counter, so a bit for each is little.
class SeenInodes {
 public:
  // Whether it is the first time.
  bool insert(InodeId ino) {
    auto& page = pages_[ino.value / kPage];
    if (!page) page = std::make_unique<std::bitset<kPage>>();
    const std::size_t bit = ino.value % kPage;
    const bool first = !page->test(bit);
    page->set(bit);
    return first;
  }

 private:
  static constexpr std::size_t kPage = 4096;
  std::unordered_map<std::uint64_t, std::unique_ptr<std::bitset<kPage>>> pages_;
};

class TreeWalk {
 public:
  TreeWalk(FileSystem& fs, unsigned depth) : table_(fs.table()), depth_(depth), shares_(fs.objects()) {
    open_line(".", 0);
    coming_.push_back({kRootInode, 0, 0});
    (void)seen_.insert(kRootInode);
  }

  Result<DirectorySizes> run() {
    while (!coming_.empty()) {
      const Coming now = coming_.back();
      coming_.pop_back();
      CFFS_TRY_VOID(table_.scan_directory(
          now.directory, 0,
          [&](Key, const Row& row) {
            for (const Entry& entry : row.entries) come_to(entry, now);
            return true;
          },
          pass_over));
    }
    return result();
  }

 private:
  struct Coming {
    InodeId directory;
    std::size_t line = 0;
    unsigned depth = 0;
  };
  struct Sum {
    std::string path;
    std::size_t above = 0;  // the line of the directory that it is in
    std::uint64_t files = 0, bytes = 0;
    double stored_bytes = 0;
  };

  std::size_t open_line(std::string path, std::size_t above) {
    sums_.push_back({std::move(path), above, 0, 0, 0});
    return sums_.size() - 1;
  }

  void come_to(const Entry& entry, const Coming& in) {
    if (S_ISDIR(entry.type)) {
      if (!seen_.insert(entry.ino)) return;  // damage: a tree has no second way to a directory
      std::size_t line = in.line;
      if (in.depth < depth_)
        line = open_line(in.depth == 0 ? entry.name : sums_[in.line].path + "/" + entry.name, in.line);
      coming_.push_back({entry.ino, line, in.depth + 1});
    } else if (S_ISREG(entry.type)) {
      if (entry.inode) {
        count(*entry.inode, sums_[in.line]);
      } else if (seen_.insert(entry.ino)) {
        const auto row = table_.get_row(Key::null_name(entry.ino));
        if (row && !row->entries.empty() && row->entries.front().inode)
          count(*row->entries.front().inode, sums_[in.line]);
      }
    }
  }

  void count(const Inode& inode, Sum& sum) {
    ++sum.files;
    sum.bytes += inode.size;
    sum.stored_bytes +=
        inode.home == Home::composite ? shares_.of(inode.extent) : static_cast<double>(inode.size);
  }

  DirectorySizes result() {
    // A line is opened behind that of the directory it is in.
    for (std::size_t i = sums_.size() - 1; i > 0; --i) {
      Sum& above = sums_[sums_[i].above];
      above.files += sums_[i].files;
      above.bytes += sums_[i].bytes;
      above.stored_bytes += sums_[i].stored_bytes;
    }
    std::sort(sums_.begin() + 1, sums_.end(), [](const Sum& a, const Sum& b) { return a.path < b.path; });
    DirectorySizes sizes;
    for (Sum& sum : sums_) {
      sizes.lines.push_back({std::move(sum.path), sum.files, sum.bytes,
                             static_cast<std::uint64_t>(std::llround(sum.stored_bytes))});
    }
    sizes.unread_composites = shares_.unread();
    return sizes;
  }

  const Table& table_;
  const unsigned depth_;
  StoredShares shares_;
  SeenInodes seen_;
  std::vector<Coming> coming_;
  std::vector<Sum> sums_;
};

}  // namespace

Result<DirectorySizes> collect_directory_sizes(FileSystem& fs, unsigned depth) {
  CFFS_TRY_VOID(fs.sync());
  return TreeWalk(fs, depth).run();
}

std::string directory_sizes_json(const DirectorySizes& sizes, std::size_t most_bytes) {
  constexpr auto kReplace =
      nlohmann::ordered_json::error_handler_t::replace;  // names are bytes, JSON is UTF-8
  constexpr std::size_t kAround = 100;                   // bytes of what is not a line
  std::vector<std::size_t> order(sizes.lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!order.empty()) {
    std::stable_sort(order.begin() + 1, order.end(), [&](std::size_t a, std::size_t b) {
      return sizes.lines[a].bytes > sizes.lines[b].bytes;
    });
  }
  std::vector<std::pair<std::size_t, nlohmann::ordered_json>> shown;
  std::size_t bytes = kAround;
  for (const std::size_t i : order) {
    const DirectorySizes::Line& line = sizes.lines[i];
    nlohmann::ordered_json json = {{"path", line.path},
                                   {"files", line.files},
                                   {"bytes", line.bytes},
                                   {"stored_bytes", line.stored_bytes}};
    bytes += json.dump(-1, ' ', false, kReplace).size() + 1;
    if (bytes > most_bytes) break;
    shown.emplace_back(i, std::move(json));
  }
  std::sort(shown.begin(), shown.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  nlohmann::ordered_json json = {{"by_directory", nlohmann::ordered_json::array()}};
  for (auto& [i, line] : shown) json["by_directory"].push_back(std::move(line));
  json["left_out_directories"] = sizes.lines.size() - shown.size();
  json["unread_composites"] = sizes.unread_composites;
  return json.dump(-1, ' ', false, kReplace);
}

}  // namespace cffs
