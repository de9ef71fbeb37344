#include "bench/rig/loop_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace cffs::bench {
namespace {

constexpr int kLoopTries = 200;
constexpr useconds_t kLoopTryMicroseconds = 5'000;

}  // namespace

Result<LoopDevice> LoopDevice::over(const std::string& file, Access access) {
  const FileDescriptor control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return fail(errno, "/dev/loop-control");
  const bool read_only = access == Access::read_only;
  const int flags = (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC;
  for (int i = 0; i < kLoopTries; ++i) {
    const int free = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (free < 0) return fail(errno, "/dev/loop-control");
    const std::string path = fmt::format("/dev/loop{}", free);
    FileDescriptor loop(::open(path.c_str(), flags));
    const FileDescriptor below(::open(file.c_str(), flags));
    if (!loop || !below) return fail(errno, loop ? file : path);
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(below.get());
    const std::uint32_t usual = LO_FLAGS_AUTOCLEAR | (read_only ? std::uint32_t{LO_FLAGS_READ_ONLY} : 0u);
    config.info.lo_flags = usual | LO_FLAGS_DIRECT_IO;
    std::strncpy(reinterpret_cast<char*>(config.info.lo_file_name), file.c_str(), LO_NAME_SIZE - 1);
    if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) != 0) {
      if (errno == EBUSY) continue;  // somebody else took it
      config.info.lo_flags = usual;
      if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) != 0) return fail(errno, path);
    }
    struct stat st;
    if (::fstat(loop.get(), &st) != 0) return fail(errno, path);
    return LoopDevice(path, fmt::format("{}:{}", major(st.st_rdev), minor(st.st_rdev)), std::move(loop));
  }
  return fail(EBUSY, "loop devices");
}

Status wait_until_free(const std::string& number, const std::string& file) {
  constexpr int kMinute = 12'000;
  std::error_code problem;
  const std::string own = std::filesystem::canonical(file, problem);
  for (int i = 0; i < kMinute; ++i) {
    std::ifstream backing("/sys/dev/block/" + number + "/loop/backing_file");
    if (std::string held; !std::getline(backing, held) || held != own)
      return {};  // free, or another's by now
    ::usleep(kLoopTryMicroseconds);
  }
  return fail(Error::usage("the loop device of " + file +
                           " is still in use, as by a mount namespace that has a copy of its mount"));
}

}  // namespace cffs::bench
