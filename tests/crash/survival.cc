#include "tests/crash/survival.h"

#include <algorithm>
#include <functional>

#include "core/fs/rehousing.h"

namespace cffs::test {
namespace {

constexpr std::size_t kCompared = 512;

Result<bool> is_in_place(FileSystem& fs, const EntryName& at, InodeId ino) {
  CFFS_TRY(const auto file, fs.rehousing().find(at, ino));
  return file && file->inode.home == Home::blob;
}

Status look(FileSystem& fs, const std::string& path, const EntryName& at, const Attributes& a, State& state) {
  Seen& seen = state[path];
  Visible& v = seen.what;
  seen.ino = a.ino.value;
  v.mode = a.mode;
  v.nlink = a.nlink;
  v.uid = a.uid;
  v.gid = a.gid;
  v.mtime_ns = a.mtime_ns;
  v.size = S_ISDIR(a.mode) ? 0 : a.size;
  CFFS_TRY(const auto names, fs.listxattr(a.ino));
  for (const std::string& name : names) {
    CFFS_TRY(v.xattrs[name], fs.getxattr(a.ino, name));
  }
  if (S_ISLNK(a.mode)) {
    CFFS_TRY(v.content, fs.readlink(a.ino));
  }
  if (S_ISREG(a.mode)) {
    v.content.assign(a.size + 1, '\0');
    CFFS_TRY(const std::size_t n, fs.read(a.ino, 0, as_writable_bytes(v.content)));
    v.content.resize(n);
    CFFS_TRY(seen.in_place, is_in_place(fs, at, a.ino));
  }
  if (!S_ISDIR(a.mode)) return {};
  std::vector<std::string> below;
  CFFS_TRY_VOID(fs.readdir(a.ino, 0, false, [&](const DirectoryEntry& e) {
    if (e.name != "." && e.name != "..") below.emplace_back(e.name);
    return true;
  }));
  for (const std::string& name : below) {
    CFFS_TRY(const Attributes child, fs.lookup(a.ino, name));
    const Status done = look(fs, path.empty() ? name : path + "/" + name, {a.ino, name}, child, state);
    fs.forget(child.ino, 1);
    CFFS_TRY_VOID(done);
  }
  return {};
}

const Seen* with_ino(const State& state, std::uint64_t ino) {
  for (const auto& [path, seen] : state) {
    if (seen.ino == ino) return &seen;
  }
  return nullptr;
}

std::string_view sector(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? bytes.substr(at, kCompared) : std::string_view();
}

// Whether both are the same where zeros follow the shorter one, up to `size` bytes.
bool same(std::string_view a, std::string_view b, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if ((i < a.size() ? a[i] : '\0') != (i < b.size() ? b[i] : '\0')) return false;
  }
  return true;
}

// What a large file may show: its contents from some state to another.
class Contents {
 public:
  Contents(const History& history, std::uint64_t ino, std::optional<std::size_t> since, std::size_t until) {
    for (std::size_t i = since.value_or(0); i <= until; ++i) {
      if (const Seen* seen = with_ino(history.states[i], ino)) all_.push_back(seen->what.content);
    }
    if (!since || !with_ino(history.states[*since], ino)) all_.emplace_back();
    torn_ = history.torn;
  }
  std::optional<std::string> objection(std::string_view found) const {
    const auto [least, most] = std::minmax_element(
        all_.begin(), all_.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (found.size() < least->size() || found.size() > most->size()) {
      return "has " + std::to_string(found.size()) + " bytes, and had " + std::to_string(least->size()) +
             " to " + std::to_string(most->size());
    }
    for (std::size_t at = 0; at < found.size(); at += kCompared) {
      const std::string_view shown = sector(found, at);
      const bool had = std::any_of(all_.begin(), all_.end(), [&](const std::string& content) {
        return same(shown, sector(content, at), shown.size());
      });
      if (!had && torn_ && of_several(found, at, shown.size())) continue;
      if (!had) return "shows at byte " + std::to_string(at) + " what it never had";
    }
    return {};
  }

 private:
  bool of_several(std::string_view found, std::size_t at, std::size_t length) const {
    for (std::size_t i = at; i < at + length; ++i) {
      const bool had = std::any_of(all_.begin(), all_.end(), [&](const std::string& content) {
        return found[i] == (i < content.size() ? content[i] : '\0');
      });
      if (!had) return false;
    }
    return true;
  }

  std::vector<std::string> all_;
  bool torn_ = false;
};

}  // namespace

Result<State> observe(FileSystem& fs) {
  State state;
  CFFS_TRY(const Attributes root, fs.getattr(kRootInode));
  CFFS_TRY_VOID(look(fs, "", {kRootInode, ""}, root, state));
  return state;
}

void History::Durable::everything(const State& state, std::size_t at) {
  names = at;
  for (const auto& [path, seen] : state) data[seen.ino] = at;
}

std::optional<std::string> find_loss(const History& history, std::size_t calls, bool killed,
                                     const State& found) {
  History::Durable durable = history.durable[calls];
  if (killed) durable.everything(history.states[calls], calls);
  const std::size_t last = std::min(calls + 1, history.states.size() - 1);
  // What is wrong with it as this state.
  const auto objection = [&](std::size_t state) -> std::optional<std::string> {
    for (const auto& [path, seen] : history.states[state]) {
      const auto it = found.find(path);
      if (it == found.end()) return path + " is missing";
    }
    for (const auto& [path, seen] : found) {
      const auto it = history.states[state].find(path);
      if (it == history.states[state].end()) return path + " should not be there";
      const Seen& was = it->second;
      if (was.ino != 0 && seen.ino != was.ino) return path + " is another file";
      Visible shown = seen.what;
      if (seen.in_place || (was.in_place && shown.content.empty())) {
        const auto since = durable.data.find(seen.ino);
        std::optional<std::size_t> from;
        if (since != durable.data.end()) from = since->second;
        for (const auto& [call, ino] : history.replaced_by) {
          if (call < state && ino == seen.ino) from = std::max(from.value_or(call), call);
        }
        const auto problem = Contents(history, seen.ino, from, last).objection(shown.content);
        if (problem) return path + " " + *problem;
        shown.content = was.what.content;
        shown.size = was.what.size;
      }
      if (shown.mode != was.what.mode || shown.nlink != was.what.nlink) return path + ": other attributes";
      if (shown.xattrs != was.what.xattrs) return path + ": other extended attributes";
      if (shown.size != was.what.size) {
        return path + ": " + std::to_string(shown.size) + " bytes instead of " +
               std::to_string(was.what.size);
      }
      if (shown.content != was.what.content) return path + ": another content";
    }
    return {};
  };
  std::string all;
  const std::size_t first = killed ? calls : durable.names;
  for (std::size_t state = last + 1; state-- > first;) {
    const auto problem = objection(state);
    if (!problem) return {};
    all += "\n  as after " + std::to_string(state) + " calls: " + *problem;
  }
  return "no state that may survive" + all;
}

}  // namespace cffs::test
