#include "replay/results/environment.h"

#include <gnu/libc-version.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/table/table.h"

namespace cffs::replay {
namespace {

// "model name : X" of /proc/cpuinfo and the like.
std::string value_in(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t:", key.size());
    return at == std::string::npos ? "" : line.substr(at);
  }
  return {};
}

std::string number_of(dev_t device) {
  return std::to_string(major(device)) + ":" + std::to_string(minor(device));
}

// Mountinfo writes blanks and the like as \040.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> facts;
  utsname name;
  if (::uname(&name) == 0) {
    facts["kernel"] = std::string(name.sysname) + " " + name.release;
    facts["machine"] = name.machine;
  }
  facts["cffs"] = CFFS_VERSION;
  facts["glibc"] = ::gnu_get_libc_version();
  facts["sqlite"] = ::sqlite3_libversion();
  facts["leveldb"] = table_library_version();
  facts["compiler"] = __VERSION__;
  facts["cpu"] = value_in("/proc/cpuinfo", "model name");
  facts["cores"] = std::to_string(std::thread::hardware_concurrency());
  facts["memory"] = value_in("/proc/meminfo", "MemTotal");
  const std::string os = value_in("/etc/os-release", "PRETTY_NAME=");
  facts["system"] =
      os.size() > 2 ? os.substr(os.front() == '"' ? 1 : 0, os.size() - (os.front() == '"' ? 2 : 0)) : os;
  return facts;
}

MountFacts mount_of(const std::string& path) {
  MountFacts facts;
  std::array<char, PATH_MAX> resolved{};
  struct stat st;
  if (::realpath(path.c_str(), resolved.data()) == nullptr || ::stat(resolved.data(), &st) != 0) return facts;
  const std::string whole = resolved.data();
  std::ifstream table("/proc/self/mountinfo");
  std::size_t best = 0;
  for (std::string line; std::getline(table, line);) {
    // id parent major:minor root mount-point options [optional...] - type source super-options
    std::istringstream words(line);
    std::string id, parent, device, root, point, options, word;
    words >> id >> parent >> device >> root >> point >> options;
    while (words >> word && word != "-") {
    }
    std::string type, source, more;
    words >> type >> source >> more;
    point = unescaped(point);
    const bool below =
        whole == point || point == "/" || (whole.starts_with(point) && whole[point.size()] == '/');
    if (!below || point.size() < best) continue;
    best = point.size();
    facts.type = type;
    facts.source = unescaped(source);
    facts.options = options + (more.empty() ? "" : "," + more);
  }
  const std::string here = number_of(st.st_dev);
  if (::access(("/sys/dev/block/" + here).c_str(), F_OK) == 0) {
    facts.device = here;
  } else if (facts.source.starts_with("/dev/")) {  // btrfs: its files have a device number of their own
    struct stat block;
    if (::stat(facts.source.c_str(), &block) == 0) facts.device = number_of(block.st_rdev);
  } else if (facts.type.starts_with("fuse.") && facts.source.starts_with('/') && facts.source != whole) {
    facts.device = mount_of(facts.source).device;  // a mount over a directory, or a store in one
  }
  return facts;
}

}  // namespace cffs::replay
