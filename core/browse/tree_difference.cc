#include "core/browse/tree_difference.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>

#include "core/base/printable.h"

namespace cffs {
namespace {

constexpr std::int64_t kComparedSecondNs = 1'000'000'000;

std::string octal(mode_t mode) {
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777));
  return text.data();
}

const char* type_word(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "symbolic link";
    case S_IFIFO:
      return "named pipe";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

// Archives have whole seconds, mostly.
bool same_time(std::int64_t a, std::int64_t b) {
  if (a == b) return true;
  const auto second = [](std::int64_t ns) {
    return ns / kComparedSecondNs - (ns % kComparedSecondNs < 0 ? 1 : 0);
  };
  return (a % kComparedSecondNs == 0 || b % kComparedSecondNs == 0) && second(a) == second(b);
}

// Both trees are in the same directory.
class Comparison {
 public:
  Comparison(ComparedTree& first, ComparedTree& second, const DifferenceOptions& options)
      : first_(first), second_(second), options_(options) {}

  Result<DifferenceCount> run() {
    CFFS_TRY_VOID(pair("", first_.start(), second_.start()));
    while (!open_.empty()) {
      if (options_.go_on && !options_.go_on()) return fail(EINTR);
      Opened& at = open_.back();
      const bool left = at.in_first < at.first.size(), right = at.in_second < at.second.size();
      if (!left && !right) {
        open_.pop_back();
        path_.resize(open_.empty() ? 0 : open_.back().path_bytes);
        CFFS_TRY_VOID(first_.leave());
        CFFS_TRY_VOID(second_.leave());
        continue;
      }
      const int order = !left    ? 1
                        : !right ? -1
                                 : at.first[at.in_first].name.compare(at.second[at.in_second].name);
      if (order < 0) {
        alone(at.first[at.in_first++], '<');
      } else if (order > 0) {
        alone(at.second[at.in_second++], '>');
      } else {
        const ListedEntry a = std::move(at.first[at.in_first++]), b = std::move(at.second[at.in_second++]);
        CFFS_TRY_VOID(pair(a.name, a.attributes, b.attributes));
      }
    }
    return count_;
  }

 private:
  struct Opened {
    std::size_t path_bytes = 0;
    std::vector<ListedEntry> first, second;
    std::size_t in_first = 0, in_second = 0;
  };

  std::string path_of(const std::string& name) const { return path_.empty() ? name : path_ + "/" + name; }

  void tell(Difference difference) {
    ++count_.differences;
    if (options_.found) options_.found(difference);
  }
  void trouble(const std::string& path, const Error& error) {
    if (error.errno_value == EINTR) return;  // the end of it all, and said there
    ++count_.troubles;
    if (options_.trouble) options_.trouble(path, error);
  }
  void alone(const ListedEntry& entry, char side) {
    tell({path_of(entry.name), std::string(1, side), {type_word(entry.attributes.mode)}});
  }

  // Fails only where the trees are lost: what cannot be read is a trouble.
  Status pair(const std::string& name, const Attributes& a, const Attributes& b) {
    ++count_.files;
    Difference difference{path_of(name), "", {}};
    const auto add = [&](char kind, std::string detail) {
      difference.kinds += kind;
      difference.details.push_back(std::move(detail));
    };
    bool readable = true;
    const bool same_type = (a.mode & S_IFMT) == (b.mode & S_IFMT);
    if (!same_type) {
      add('T', std::string(type_word(a.mode)) + ", " + type_word(b.mode));
    } else {
      if (const Status done = compare_inside(name, a, b, add); !done) {
        readable = false;
        trouble(difference.path, done.error());
      }
    }
    if (options_.permissions && same_type && !S_ISLNK(a.mode) && ((a.mode ^ b.mode) & 07777) != 0)
      add('P', "mode " + octal(a.mode) + ", " + octal(b.mode));
    if (options_.owners && (a.uid != b.uid || a.gid != b.gid)) {
      add('O', "owner " + std::to_string(a.uid) + ":" + std::to_string(a.gid) + ", " + std::to_string(b.uid) +
                   ":" + std::to_string(b.gid));
    }
    if (options_.xattrs && same_type && readable) {
      if (const Status done = compare_xattrs(name, a, add); !done) trouble(difference.path, done.error());
    }
    if (options_.times && S_ISREG(a.mode) && same_type && !same_time(a.mtime_ns, b.mtime_ns))
      add('M', b.mtime_ns < a.mtime_ns ? "the second is older" : "the second is newer");
    if (!difference.kinds.empty()) tell(std::move(difference));
    return S_ISDIR(a.mode) && same_type ? descend(name) : Status();
  }

  template <typename Add>
  Status compare_inside(const std::string& name, const Attributes& a, const Attributes& b, const Add& add) {
    if (S_ISREG(a.mode) && options_.contents) {
      if (a.size != b.size) {
        add('C', std::to_string(a.size) + " bytes, " + std::to_string(b.size));
        return {};
      }
      CFFS_TRY(const auto where, first_difference(name, a.size));
      if (where) add('C', "from byte " + std::to_string(*where) + " on");
    } else if (S_ISLNK(a.mode)) {
      CFFS_TRY(const std::string to, first_.target(name));
      CFFS_TRY(const std::string other, second_.target(name));
      if (to != other) add('L', "to " + printable(to) + ", " + printable(other));
    } else if ((S_ISCHR(a.mode) || S_ISBLK(a.mode)) && a.rdev != b.rdev) {
      add('N', "device " + std::to_string(a.rdev) + ", " + std::to_string(b.rdev));
    }
    return {};
  }

  // The first byte that differs; one file may have become shorter since it was listed.
  Result<std::optional<std::uint64_t>> first_difference(const std::string& name, std::uint64_t size) {
    if (size == 0) return std::optional<std::uint64_t>();
    CFFS_TRY(const auto a, first_.open(name));
    CFFS_TRY(const auto b, second_.open(name));
    std::uint64_t at = 0;
    for (;;) {
      CFFS_TRY(const std::size_t n, a->read(at, as_writable_bytes(first_bytes_)));
      CFFS_TRY(const std::size_t m, b->read(at, as_writable_bytes(second_bytes_)));
      const std::size_t both = std::min(n, m);
      if (std::memcmp(first_bytes_.data(), second_bytes_.data(), both) != 0 || n != m) {
        const auto differs =
            std::mismatch(first_bytes_.begin(), first_bytes_.begin() + static_cast<std::ptrdiff_t>(both),
                          second_bytes_.begin());
        return std::optional<std::uint64_t>(at +
                                            static_cast<std::uint64_t>(differs.first - first_bytes_.begin()));
      }
      at += n;
      if (n < first_bytes_.size()) return std::optional<std::uint64_t>();
      if (options_.go_on && !options_.go_on()) return fail(EINTR);
    }
  }

  template <typename Add>
  Status compare_xattrs(const std::string& name, const Attributes& a, const Add& add) {
    CFFS_TRY(const Xattrs left, first_.xattrs(name, a.mode));
    CFFS_TRY(const Xattrs right, second_.xattrs(name, a.mode));
    if (left == right) return {};
    std::string names;
    const auto note = [&](const std::string& differs) {
      names += (names.empty() ? "" : " ") + printable(differs);
    };
    for (const auto& [key, value] : left) {
      const std::string* other = find_xattr(right, key);
      if (other == nullptr || *other != value) note(key);
    }
    for (const auto& [key, value] : right) {
      if (find_xattr(left, key) == nullptr) note(key);
    }
    add('X', names);
    return {};
  }

  // A directory that only one side can list is left out: no name of it is told from one that is not there.
  Status descend(const std::string& name) {
    auto left = first_.enter(name);
    if (!left) {
      trouble(path_of(name), left.error());
      return {};
    }
    auto right = second_.enter(name);
    if (!right) {
      trouble(path_of(name), right.error());
      return first_.leave();
    }
    if (!path_.empty()) path_ += '/';
    path_ += name;
    open_.push_back({path_.size(), std::move(*left), std::move(*right), 0, 0});
    return {};
  }

  ComparedTree& first_;
  ComparedTree& second_;
  const DifferenceOptions& options_;
  DifferenceCount count_;
  std::vector<Opened> open_;
  std::string path_;  // of the directory that both are in
  std::string first_bytes_ = std::string(256u << 10, '\0'), second_bytes_ = first_bytes_;
};

}  // namespace

Result<DifferenceCount> compare_trees(ComparedTree& first, ComparedTree& second,
                                      const DifferenceOptions& options) {
  return Comparison(first, second, options).run();
}

}  // namespace cffs
