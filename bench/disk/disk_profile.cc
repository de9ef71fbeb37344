#include "bench/disk/disk_profile.h"

#include "bench/disk/cloud_disk.h"
#include "bench/disk/hard_disk.h"

namespace cffs::bench {

const std::vector<std::string>& disk_names() {
  static const std::vector<std::string> names{"raw", "cloud", "hdd"};
  return names;
}

Result<std::unique_ptr<DiskModel>> make_disk_model(const std::string& name, std::uint64_t bytes) {
  if (name == "raw") return std::unique_ptr<DiskModel>();
  if (name == "cloud") return std::unique_ptr<DiskModel>(std::make_unique<CloudDisk>(CloudProfile{}));
  if (name == "hdd") return std::unique_ptr<DiskModel>(std::make_unique<HardDisk>(HardDiskProfile{}, bytes));
  return fail(Error::command_line("there is no disk '" + name + "'; there are raw, cloud and hdd"));
}

}  // namespace cffs::bench
