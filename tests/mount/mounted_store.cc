#include "tests/mount/mounted_store.h"

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace cffs::test {
namespace {

std::string binary() {
  const char* path = std::getenv("CFFS_BINARY");
  if (path == nullptr) throw std::runtime_error("set CFFS_BINARY to the cffs binary under test");
  return path;
}

}  // namespace

std::string temporary_directory() {
  const char* directory = std::getenv("TMPDIR");
  return directory != nullptr ? directory : "/tmp";
}

int shell(const std::string& command, std::string* output) {
  // A wedged mount must not wedge the test.
  FILE* pipe = ::popen(("timeout -k 5 120 sh -c '" + command + "' 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  std::array<char, 4096> buffer;
  std::string all;
  while (std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) all.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  if (output != nullptr) *output = all;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

MountedStore::MountedStore(const std::string& format_arguments, const std::string& mount_arguments)
    : mount_arguments_(mount_arguments),
      on_image_(format_arguments.find("--backend=region") != std::string::npos) {
  // tests/mount/ring.sh: the same over io_uring
  if (const char* transport = std::getenv("CFFS_TEST_TRANSPORT"))
    mount_arguments_ += std::string(" --transport=") + transport;
  if (const char* inodes = std::getenv("CFFS_TEST_AWAKE_INODES"))
    mount_arguments_ += std::string(" --awake-inodes=") + inodes;
  std::string base = temporary_directory() + "/cffs-test.XXXXXX";
  if (::mkdtemp(base.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  base_ = base;
  store_ = base_ + "/store";
  mount_point_ = base_ + "/mnt";
  std::string output;
  const int status = shell(
      "mkdir " + mount_point_ + " && " + binary() + " format " + format_arguments + " " + store_, &output);
  if (status != 0) throw std::runtime_error("format: " + output);
  mount();
}

MountedStore::~MountedStore() {
  if (mounted_ && shell(binary() + " umount " + mount_point_) != 0) {
    (void)::umount2(mount_point_.c_str(), MNT_DETACH);
  }
  shell("rm -rf " + base_);
}

void MountedStore::mount() {
  std::string output;
  const int status =
      shell(binary() + " mount " + mount_arguments_ + " " + store_ + " " + mount_point_, &output);
  if (status != 0) throw std::runtime_error("mount: " + output);
  mounted_ = true;
}

void MountedStore::unmount() {
  std::string output;
  if (shell(binary() + " umount " + mount_point_, &output) != 0)
    throw std::runtime_error("umount: " + output);
  mounted_ = false;
}

void MountedStore::kill_daemon() {
  // The lock names the daemon: "pid N on HOST"; an image has that in its third block.
  const std::string text =
      on_image_ ? "dd if=" + store_ + " bs=256 skip=32 count=1 status=none" : "cat " + store_ + "/lock";
  shell("kill -9 $(" + text + " | cut -d \" \" -f 2)");
  for (int i = 0; i < 100 && ::umount2(mount_point_.c_str(), MNT_DETACH) != 0; ++i) ::usleep(20'000);
  // A process that was killed is not gone yet: it holds the store until its last thread has left the kernel.
  shell("flock --wait 30 " + store_ + (on_image_ ? "" : "/lock") + " true");
  mounted_ = false;
}

std::string MountedStore::fsck() const {
  std::string output;
  return shell(binary() + " fsck " + store_, &output) == 0 ? std::string() : output;
}

}  // namespace cffs::test
