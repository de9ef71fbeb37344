#include "replay/play/make_tree.h"

#include <fcntl.h>

#include <algorithm>

#include "replay/model/content.h"
#include "replay/model/model_tree.h"

namespace cffs::replay {
namespace {

// Directories of the trace's that were listed without their parents get them here.
Status make_directories(Target& target, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::int64_t made = target.mkdir(path.substr(0, slash), 0755);
    if (made < 0 && made != -EEXIST) return fail(static_cast<int>(-made), path.substr(0, slash));
  }
  return {};
}

Status make_file(Target& target, const std::string& path, const InitialEntry& entry) {
  std::int64_t file = target.open(path, O_WRONLY | O_CREAT | O_EXCL, entry.mode);
  if (file == -ENOENT) {
    CFFS_TRY_VOID(make_directories(target, path));
    file = target.open(path, O_WRONLY | O_CREAT | O_EXCL, entry.mode);
  }
  if (file < 0) return fail(static_cast<int>(-file), path);
  const std::uint64_t stamp = ModelTree::initial_stamp(path);
  std::string data;
  for (std::uint64_t at = 0; at < entry.size;) {
    data.resize(std::min<std::uint64_t>(1u << 20, entry.size - at));
    fill_content(stamp, at, data);
    const std::int64_t n = target.write(file, at, data);
    if (n <= 0) {
      (void)target.close(file);
      return fail(n < 0 ? static_cast<int>(-n) : EIO, path);
    }
    at += static_cast<std::uint64_t>(n);
  }
  const std::int64_t closed = target.close(file);
  if (closed < 0) return fail(static_cast<int>(-closed), path);
  return {};
}

}  // namespace

std::string symlink_target(const std::string& text, const std::string& path, const std::string& root) {
  constexpr const char* kNowhere = "outside-of-the-trace";
  const bool absolute = text.starts_with('/');
  std::string inside = text;
  if (absolute && root != "/") {
    const bool below = text.starts_with(root) && (text.size() == root.size() || text[root.size()] == '/');
    if (!below) return kNowhere;
    inside = text.substr(root.size());
  }
  // How deep the walk is below the root, from the symlink's directory on; names alone, other symlinks aside.
  std::ptrdiff_t depth = absolute ? 0 : std::count(path.begin(), path.end(), '/');
  for (std::size_t at = 0; at < inside.size();) {
    const std::size_t slash = std::min(inside.find('/', at), inside.size());
    const std::string part = inside.substr(at, slash - at);
    if (part == "..") {
      if (--depth < 0) return kNowhere;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
    at = slash + 1;
  }
  if (!absolute) return text;
  std::string relative;
  for (const char c : path) relative += c == '/' ? "../" : "";
  relative += inside.substr(std::min(inside.find_first_not_of('/'), inside.size()));
  return relative.empty() ? "." : relative;
}

Status make_tree(const Trace& trace, Target& target, const std::function<void(std::size_t)>& progress) {
  const auto known = trace.about.find("root");
  const std::string root = known == trace.about.end() ? "/" : known->second;
  std::size_t done = 0;
  for (const InitialEntry& entry : trace.initial) {
    const std::string& path = trace.path(entry.path);
    if (path.empty()) continue;
    if (entry.kind == 'f') {
      CFFS_TRY_VOID(make_file(target, path, entry));
    } else {
      CFFS_TRY_VOID(make_directories(target, path));
      const std::int64_t made = entry.kind == 'd'
                                    ? target.mkdir(path, entry.mode | 0700)
                                    : target.symlink(symlink_target(entry.target, path, root), path);
      if (made < 0 && made != -EEXIST) return fail(static_cast<int>(-made), path);
    }
    if (progress && ++done % 256 == 0) progress(done);
  }
  return {};
}

}  // namespace cffs::replay
