#include "fusefs/machine_findings.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "core/object/file_descriptor.h"
#include "fusefs/service_manager.h"
#include "tests/unit/temporary_directory.h"

namespace cffs {
namespace {

// A machine on which nothing lacks.
MachineFacts good_machine() {
  MachineFacts facts;
  facts.kernel_release = "6.18.1";
  facts.kernel_major = 6;
  facts.kernel_minor = 18;
  facts.libfuse = "3.17.1";
  facts.fuse_known = facts.root = facts.may_mount = true;
  facts.fusermount = "/usr/bin/fusermount3";
  facts.fusermount_privileged = true;
  facts.user_allow_other = true;
  facts.ring = KernelRing::on;
  facts.cachestat = true;
  facts.open_files = facts.open_files_hard = 1'048'576;
  facts.locked_bytes = std::numeric_limits<std::uint64_t>::max();
  facts.memory_bytes = facts.memory_available_bytes = std::uint64_t{8} << 30;
  facts.mount_helper = facts.rados_library = true;
  return facts;
}

MachineFinding finding(const MachineFacts& facts, const std::string& name) {
  const auto all = machine_findings(facts);
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  REQUIRE(at != all.end());
  return *at;
}

bool mends(const MachineFinding& found, const std::string& part) {
  return std::any_of(found.mend.begin(), found.mend.end(),
                     [&](const std::string& command) { return command.find(part) != std::string::npos; });
}

TEST_CASE("A machine on which nothing lacks", "[doctor]") {
  for (const MachineFinding& found : machine_findings(good_machine())) {
    INFO(found.name);
    CHECK(found.state == MachineState::good);
    CHECK_FALSE(found.is.empty());
    CHECK(found.mend.empty());
  }
  CHECK(worst(machine_findings(good_machine())) == MachineState::good);
}

TEST_CASE("What lacks is named with what mends it", "[doctor]") {
  struct Case {
    const char* name;
    MachineState state;
    const char* mend;
    void (*change)(MachineFacts&);
  };
  const auto lacking = MachineState::lacking, broken = MachineState::broken;
  const Case cases[] = {
      {"fuse", broken, "modprobe fuse", [](MachineFacts& f) { f.device_error = ENOENT; }},
      {"fuse", broken, "chmod 666", [](MachineFacts& f) { f.device_error = EACCES; }},
      {"fuse", broken, "--device /dev/fuse",
       [](MachineFacts& f) {
         f.device_error = EPERM;
         f.in_container = true;
       }},
      {"right", broken, "--cap-add SYS_ADMIN", [](MachineFacts& f) { f.may_mount = false; }},
      {"right", broken, "apt-get install fuse3",
       [](MachineFacts& f) {
         f.may_mount = f.root = false;
         f.fusermount.clear();
       }},
      {"right", broken, "chmod u+s /usr/bin/fusermount3",
       [](MachineFacts& f) { f.may_mount = f.root = f.fusermount_privileged = false; }},
      {"fusermount", lacking, "apt-get install fuse3", [](MachineFacts& f) { f.fusermount.clear(); }},
      {"allow_other", lacking, "user_allow_other",
       [](MachineFacts& f) {
         f.may_mount = f.root = false;
         f.user_allow_other = false;
       }},
      {"io_uring", lacking, "enable_uring", [](MachineFacts& f) { f.ring = KernelRing::off; }},
      {"io_uring", lacking, "modprobe.d", [](MachineFacts& f) { f.ring = KernelRing::off; }},
      {"io_uring", lacking, "command line",
       [](MachineFacts& f) {
         f.ring = KernelRing::off;
         f.fuse_module = false;
       }},
      {"io_uring", lacking, "newer kernel",
       [](MachineFacts& f) {
         f.ring = KernelRing::absent;
         f.kernel_minor = 1;
       }},
      {"io_uring", lacking, "CONFIG_FUSE_IO_URING", [](MachineFacts& f) { f.ring = KernelRing::absent; }},
      {"io_uring", lacking, "kernel.io_uring_disabled=0", [](MachineFacts& f) { f.io_uring_disabled = 2; }},
      {"kernel", lacking, "newer kernel", [](MachineFacts& f) { f.kernel_minor = 17; }},
      {"libfuse", lacking, "libfuse3", [](MachineFacts& f) { f.libfuse = "3.10.5"; }},
      {"open_files", lacking, "nofile", [](MachineFacts& f) { f.open_files_hard = 4096; }},
      {"memory", lacking, "cache_size", [](MachineFacts& f) { f.memory_available_bytes = 300u << 20; }},
      {"mount_helper", lacking, "mount.cffs", [](MachineFacts& f) { f.mount_helper = false; }},
  };
  for (const Case& one : cases) {
    MachineFacts facts = good_machine();
    one.change(facts);
    const MachineFinding found = finding(facts, one.name);
    INFO(one.name << ": " << found.is);
    CHECK(found.state == one.state);
    CHECK_FALSE(found.follows.empty());
    CHECK(mends(found, one.mend));
    CHECK(worst(machine_findings(facts)) == one.state);
  }
}

TEST_CASE("What some users only meet lacks for them only", "[doctor]") {
  MachineFacts facts = good_machine();
  facts.user_allow_other = std::nullopt;
  CHECK(finding(facts, "allow_other").state == MachineState::good);  // root's mounts are for all
  facts.io_uring_disabled = 1;
  CHECK(finding(facts, "io_uring").state == MachineState::good);
  facts.root = facts.may_mount = false;
  CHECK(finding(facts, "io_uring").state == MachineState::lacking);
  CHECK(finding(facts, "io_uring").is.find("io_uring_disabled=1") != std::string::npos);
}

TEST_CASE("This machine can be asked", "[doctor]") {
  const MachineFacts facts = machine_facts();
  CHECK(facts.kernel_major > 0);
  CHECK(facts.libfuse.starts_with("3."));
  CHECK(facts.memory_bytes > facts.memory_available_bytes);
  CHECK(facts.open_files > 0);
  CHECK(facts.open_files <= facts.open_files_hard);
}

TEST_CASE("A service manager hears by a path or an abstract name", "[service]") {
  const test::TemporaryDirectory directory;
  for (const std::string& name : {directory.path + "/notify", "@cffs-test-" + std::to_string(::getpid())}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())) == 0);
    REQUIRE(::setenv("NOTIFY_SOCKET", name.c_str(), 1) == 0);
    CHECK(tell_service_manager("READY=1\nSTATUS=all is well"));
    std::array<char, 64> heard{};
    const ssize_t n = ::recv(socket.get(), heard.data(), heard.size(), 0);
    REQUIRE(n > 0);
    CHECK(std::string(heard.data(), static_cast<std::size_t>(n)) == "READY=1\nSTATUS=all is well");
  }
  for (const char* nobody : {"", "/", "relative", "vsock:2:1"}) {
    REQUIRE(::setenv("NOTIFY_SOCKET", nobody, 1) == 0);
    CHECK_FALSE(tell_service_manager("READY=1"));
  }
  REQUIRE(::unsetenv("NOTIFY_SOCKET") == 0);
  CHECK_FALSE(tell_service_manager("READY=1"));
}

}  // namespace
}  // namespace cffs
