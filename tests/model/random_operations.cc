#include "tests/model/random_operations.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>

#include <cstring>
#include <functional>
#include <sstream>

#include "tests/model/reference.h"

namespace cffs::test {
namespace {

std::string show(const Visible& v) {
  std::ostringstream s;
  s << std::oct << v.mode << std::dec << " nlink " << v.nlink << " size " << v.size << " mtime " << v.mtime_ns
    << " xattrs " << v.xattrs.size() << " content " << std::hash<std::string>{}(v.content);
  return s.str();
}

std::string difference(const Tree& expected, const Tree& actual) {
  for (const auto& [path, want] : expected) {
    const auto it = actual.find(path);
    if (it == actual.end()) return "'" + path + "' is missing";
    Visible got = it->second;
    if (want.mtime_ns == -1) got.mtime_ns = -1;
    got.uid = want.uid;
    got.gid = want.gid;
    if (!(got == want)) return "'" + path + "': expected " + show(want) + ", found " + show(got);
  }
  for (const auto& [path, got] : actual) {
    if (!expected.contains(path)) return "'" + path + "' should not be there: " + show(got);
  }
  return {};
}

class Sequence {
 public:
  Sequence(Surface& subject, const SequenceOptions& options)
      : subject_(subject), options_(options), random_(options.seed) {}

  std::string run() {
    for (int i = 1; i <= options_.operations; ++i) {
      std::string problem = step();
      if (problem.empty() && i % 37 == 0) subject_.reorganise();
      if (problem.empty() && options_.reopen_every > 0 && i % options_.reopen_every == 0) {
        drop_all();
        subject_.reopen();
        problem = difference(reference_.tree(), subject_.tree());
      }
      if (problem.empty() && (i % options_.compare_every == 0 || i == options_.operations)) {
        problem = difference(reference_.tree(), subject_.tree());
      }
      if (!problem.empty()) {
        drop_all();
        return "seed " + std::to_string(options_.seed) + ", operation " + std::to_string(i) + " (" + what_ +
               "): " + problem;
      }
    }
    drop_all();
    return {};
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  std::string path() {
    // Few names, so that operations meet; up to three levels.
    std::string p;
    const std::uint64_t levels = 1 + below(3);
    for (std::uint64_t i = 0; i < levels; ++i) {
      if (i > 0) p += '/';
      p += static_cast<char>('a' + below(i + 1 == levels ? 8 : 3));
    }
    return p;
  }

  std::string data() {
    const std::uint64_t n = below(4) == 0 ? below(options_.largest_write) + 1 : below(60) + 1;
    std::string bytes(n, '\0');
    for (char& c : bytes) c = static_cast<char>('0' + below(70));
    return bytes;
  }

  template <typename Operation>
  std::string both(const std::string& what, Operation operation) {
    what_ = what;
    const int want = operation(static_cast<Surface&>(reference_));
    const int got = operation(subject_);
    if (want == got) return {};
    return std::string("expected ") + std::strerror(want) + ", got " + std::strerror(got);
  }

  std::string step() {
    const std::string p = path();
    const std::string q = path();
    switch (below(23)) {
      case 0:
      case 1:
      case 2:
        return both("create " + p, [&](Surface& s) { return s.create(p, 0644); });
      case 3:
        return both("mkdir " + p, [&](Surface& s) { return s.mkdir(p, 0755); });
      case 4:
        return both("unlink " + p, [&](Surface& s) { return s.unlink(p); });
      case 5:
        return both("rmdir " + p, [&](Surface& s) { return s.rmdir(p); });
      case 6:
        return both("symlink " + p, [&](Surface& s) { return s.symlink("to/" + q, p); });
      case 7:
        return both("link " + p + " " + q, [&](Surface& s) { return s.link(p, q); });
      case 8:
      case 9: {
        const unsigned flags[] = {0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};
        const unsigned f = flags[below(4)];
        return both("rename " + p + " " + q + " flags " + std::to_string(f),
                    [&](Surface& s) { return s.rename(p, q, f); });
      }
      case 10:
      case 11:
      case 12: {
        const std::string bytes = data();
        const std::uint64_t at = below(3) == 0 ? below(options_.largest_offset) : 0;
        return both("write " + p + " at " + std::to_string(at) + " " + std::to_string(bytes.size()),
                    [&](Surface& s) { return s.write(p, at, bytes); });
      }
      case 13: {
        const std::uint64_t size = below(2) == 0 ? 0 : below(options_.largest_offset);
        return both("truncate " + p + " " + std::to_string(size),
                    [&](Surface& s) { return s.truncate(p, size); });
      }
      case 14: {
        const mode_t mode = 0400 | (static_cast<mode_t>(random_()) & 0777);
        return both("chmod " + p, [&](Surface& s) { return s.chmod(p, mode | 0200); });
      }
      case 15: {
        const auto ns = static_cast<std::int64_t>(below(2'000'000'000'000'000'000));
        return both("set_mtime " + p, [&](Surface& s) { return s.set_mtime(p, ns); });
      }
      case 16: {
        const std::string name = "user." + std::string(1, static_cast<char>('a' + below(3)));
        const std::string value = data();
        if (below(3) == 0) {
          return both("removexattr " + p, [&](Surface& s) { return s.removexattr(p, name); });
        }
        return both("setxattr " + p, [&](Surface& s) { return s.setxattr(p, name, value.substr(0, 1000)); });
      }
      case 17: {
        const std::uint64_t at = below(options_.largest_offset);
        std::string want, got;
        std::string problem = both("read " + p, [&](Surface& s) {
          return s.read(p, at, 500, &s == static_cast<Surface*>(&reference_) ? want : got);
        });
        return !problem.empty() || want == got ? problem : "contents differ";
      }
      case 18:
        return hold(p);
      case 19: {
        const int modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE};
        const int mode = modes[below(5)];
        const std::uint64_t at = below(options_.largest_offset);
        const std::uint64_t n = below(options_.largest_offset) + 1;
        return both("allocate " + p + " mode " + std::to_string(mode),
                    [&](Surface& s) { return s.allocate(p, mode, at, n); });
      }
      case 20: {
        const std::uint64_t from = below(options_.largest_offset), to = below(options_.largest_offset);
        const std::uint64_t n = below(options_.largest_write) + 1;
        return both("copy " + p + " to " + q, [&](Surface& s) { return s.copy(p, from, q, to, n); });
      }
      case 21: {
        const std::string bytes = data();
        return both("make unnamed " + p, [&](Surface& s) { return s.make_unnamed(p, 0640, bytes); });
      }
      default:
        return use_held();
    }
  }

  std::string hold(const std::string& p) {
    if (held_.size() >= 4) drop_one();
    int mine = 0, theirs = 0;
    std::string problem = both("hold " + p, [&](Surface& s) {
      return s.hold(p, &s == static_cast<Surface*>(&reference_) ? mine : theirs);
    });
    if (problem.empty() && mine != 0) held_.emplace_back(mine, theirs);
    return problem;
  }

  std::string use_held() {
    if (held_.empty()) return {};
    const auto [mine, theirs] = held_[below(held_.size())];
    const auto handle = [&, m = mine, t = theirs](Surface& s) {
      return &s == static_cast<Surface*>(&reference_) ? m : t;
    };
    switch (below(4)) {
      case 0: {
        const std::string bytes = data();
        const std::uint64_t at = below(options_.largest_offset);
        return both("write held", [&](Surface& s) { return s.write_held(handle(s), at, bytes); });
      }
      case 1: {
        const std::uint64_t size = below(options_.largest_offset);
        return both("truncate held", [&](Surface& s) { return s.truncate_held(handle(s), size); });
      }
      case 2: {
        std::string want, got;
        std::string problem = both("read held", [&](Surface& s) {
          return s.read_held(handle(s), &s == static_cast<Surface*>(&reference_) ? want : got);
        });
        return !problem.empty() || want == got ? problem : "contents of a held file differ";
      }
      default:
        drop_one();
        return {};
    }
  }

  void drop_one() {
    const std::size_t i = below(held_.size());
    reference_.drop(held_[i].first);
    subject_.drop(held_[i].second);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void drop_all() {
    while (!held_.empty()) drop_one();
  }

  Surface& subject_;
  Reference reference_;
  const SequenceOptions options_;
  std::mt19937_64 random_;
  std::vector<std::pair<int, int>> held_;
  std::string what_;
};

}  // namespace

std::string run_random_operations(Surface& subject, const SequenceOptions& options) {
  return Sequence(subject, options).run();
}

}  // namespace cffs::test
