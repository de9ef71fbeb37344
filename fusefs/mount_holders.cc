#include "fusefs/mount_holders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <optional>

#include "core/object/file_descriptor.h"
#include "fusefs/process_list.h"

namespace cffs {
namespace {

constexpr const char* kConnections = "/sys/fs/fuse/connections/";

// Whether an open thing is on the mount in question.
using OnMount = std::function<bool(const struct statx&)>;

std::string device_text(const struct statx& st) {
  return fmt::format("{}:{}", st.stx_dev_major, st.stx_dev_minor);
}

// What a link of /proc leads to, where it is on the mount. The kernel answers from memory: the daemon is not asked.
bool leads_to(const std::string& link, const OnMount& on_mount) {
  struct statx st;
  return ::statx(AT_FDCWD, link.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &st) == 0 &&
         on_mount(st);
}

// The first thing on the mount that a process has: "working directory", "file /mnt/x".
std::optional<std::string> use_by(pid_t process, const OnMount& on_mount) {
  if (leads_to(of_process(process, "cwd"), on_mount)) return "working directory";
  if (leads_to(of_process(process, "root"), on_mount)) return "root directory";
  if (leads_to(of_process(process, "exe"), on_mount)) return "program";
  for (const std::string& fd : names_in(of_process(process, "fd"))) {
    const std::string link = of_process(process, "fd/" + fd);
    if (leads_to(link, on_mount)) return "file " + target_of(link);
  }
  for (const std::string& range : names_in(of_process(process, "map_files"))) {
    const std::string link = of_process(process, "map_files/" + range);
    if (leads_to(link, on_mount)) return "mapped file " + target_of(link);
  }
  return {};
}

std::vector<std::string> processes_with(const OnMount& on_mount,
                                        const std::function<bool(pid_t)>& leave_out = nullptr) {
  std::vector<std::string> found;
  for (const pid_t process : all_processes()) {
    if (process == ::getpid() || (leave_out && leave_out(process))) continue;
    if (const auto use = use_by(process, on_mount))
      found.push_back(fmt::format("pid {} ({}; {})", process, command_of(process), *use));
  }
  return found;
}

// Loop devices hold files without a process.
std::vector<std::string> loop_devices_on(const std::string& point) {
  std::vector<std::string> found;
  for (const std::string& device : names_in("/sys/block")) {
    std::ifstream file("/sys/block/" + device + "/loop/backing_file");
    std::string path;
    if (std::getline(file, path) && path.starts_with(point + "/"))
      found.push_back(fmt::format("loop device /dev/{} (file {})", device, path));
  }
  return found;
}

// A mount namespace in which the file system is mounted.
struct Copies {
  pid_t process = 0;  // one of those that are in it
  std::size_t processes = 0;
  std::vector<std::string> points;
};

// All copies have the device's number, and so may have another mount, once the number is free; that one is mostly of something else.
bool is_copy(const MountEntry& mount, const MountEntry& of) {
  return mount.device == of.device && mount.type == of.type && mount.source == of.source;
}

std::string namespace_of(pid_t process) { return target_of(of_process(process, "ns/mnt")); }

std::map<std::string, Copies> namespaces_with(const MountEntry& gone, pid_t daemon) {
  std::map<std::string, Copies> namespaces;
  for (const pid_t process : all_processes()) {
    const std::string name = namespace_of(process);
    if (name.empty()) continue;
    const auto [it, is_new] = namespaces.try_emplace(name);
    Copies& copies = it->second;
    if (is_new) {
      for (const MountEntry& mount : read_mount_table(of_process(process, "mountinfo"))) {
        if (is_copy(mount, gone)) copies.points.push_back(mount.point);
      }
    }
    ++copies.processes;
    if (copies.process == 0 || copies.process == daemon) copies.process = process;
  }
  std::erase_if(namespaces, [](const auto& one) { return one.second.points.empty(); });
  return namespaces;
}

}  // namespace

std::vector<std::string> users_of(const MountEntry& mount) {
  std::vector<std::string> users;
  for (const MountEntry& other : read_mount_table()) {
    if (other.parent == mount.id) users.push_back("what is mounted on " + other.point);
  }
  for (std::string& user : processes_with([&](const struct statx& st) {
         return (st.stx_mask & STATX_MNT_ID) != 0 ? st.stx_mnt_id == mount.id
                                                  : device_text(st) == mount.device;
       }))
    users.push_back(std::move(user));
  for (std::string& user : loop_devices_on(mount.point)) users.push_back(std::move(user));
  return users;
}

std::vector<std::string> holders_of(const MountEntry& mount, pid_t daemon) {
  std::vector<std::string> holders;
  const std::string here = namespace_of(::getpid());
  const auto namespaces = namespaces_with(mount, daemon);
  for (const auto& [name, copies] : namespaces) {
    const std::string points = fmt::format("{}", fmt::join(copies.points, ", "));
    if (name == here) {
      holders.push_back("mounted here too, on " + points);
      continue;
    }
    const std::string others =
        copies.processes > 1 ? fmt::format(" and {} more", copies.processes - 1) : std::string();
    holders.push_back(fmt::format("mounted on {} in the mount namespace of pid {} ({}){}", points,
                                  copies.process, command_of(copies.process), others));
  }
  // And those that have something open of a mount that was detached lazily, which is in no namespace any more.
  const auto on_device = [&](const struct statx& st) { return device_text(st) == mount.device; };
  const auto is_told = [&](pid_t process) { return namespaces.contains(namespace_of(process)); };
  for (std::string& user : processes_with(on_device, is_told)) holders.push_back(std::move(user));
  return holders;
}

unsigned long connection_number(const std::string& device) {
  constexpr unsigned kMinorBits = 20;
  const auto colon = device.find(':');
  return std::stoul(device.substr(0, colon)) << kMinorBits | std::stoul(device.substr(colon + 1));
}

Connection connection_of(const std::string& device) {
  if (names_in(kConnections).empty()) {
    // Not mounted, or nobody at all uses FUSE; the latter is not worth telling apart.
    return Connection::unknown;
  }
  return ::access((kConnections + std::to_string(connection_number(device))).c_str(), F_OK) == 0
             ? Connection::lives
             : Connection::gone;
}

bool abort_connection(const std::string& device) {
  const std::string file = kConnections + std::to_string(connection_number(device)) + "/abort";
  const FileDescriptor abort(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return abort && ::write(abort.get(), "1", 1) == 1;
}

}  // namespace cffs
