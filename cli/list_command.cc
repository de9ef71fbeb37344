// list: this machine's mounts, as far as this process sees them, and their stores.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "core/base/mutex.h"
#include "core/base/printable.h"
#include "fusefs/mount_table.h"
#include "fusefs/operations.h"
#include "fusefs/store_owner.h"

namespace cffs::cli {
namespace {

// What a mount says of itself, if it answers.
struct MountAnswer {
  int error = ETIMEDOUT;  // 0: it did
  std::uint64_t inodes = 0, free_bytes = 0;
  bool read_only = false;
  std::string policy;
};

MountAnswer ask(const std::string& point) {
  MountAnswer answer;
  struct statvfs st;
  answer.error = ::statvfs(point.c_str(), &st) == 0 ? 0 : errno;
  if (answer.error != 0) return answer;
  answer.inodes = st.f_files - st.f_ffree;
  answer.free_bytes = static_cast<std::uint64_t>(st.f_bavail) * st.f_frsize;
  answer.read_only = (st.f_flag & ST_RDONLY) != 0;
  answer.policy = mount_attribute(point, kPolicyXattr);
  return answer;
}

// Each mount is asked by a thread of its own, which is left behind where the mount does not answer: a call into it cannot be taken back.
class Questions {
 public:
  explicit Questions(const std::vector<MountEntry>& mounts) : shared_(std::make_shared<Shared>()) {
    {
      const MutexLock guard(shared_->mutex);
      shared_->answers.resize(mounts.size());
      shared_->open = mounts.size();
    }
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      std::thread([shared = shared_, i, point = mounts[i].point] {
        MountAnswer answer = ask(point);
        const MutexLock guard(shared->mutex);
        shared->answers[i] = std::move(answer);
        --shared->open;
        shared->answered.notify_one();
      }).detach();
    }
  }
  std::vector<MountAnswer> answers() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    const MutexLock guard(shared_->mutex);
    while (shared_->open > 0 && shared_->answered.wait_until(shared_->mutex, end)) {
    }
    return shared_->answers;
  }

 private:
  struct Shared {
    Mutex mutex;  // leaf
    CondVar answered;
    std::vector<MountAnswer> answers CFFS_GUARDED_BY(mutex);
    std::size_t open CFFS_GUARDED_BY(mutex) = 0;
  };
  const std::shared_ptr<Shared> shared_;
};

std::string state_of(const MountEntry& mount, const MountAnswer& answer) {
  if (answer.error == ENOTCONN || answer.error == ECONNABORTED) return "dead";
  if (answer.error == ETIMEDOUT) return "does not answer";
  if (answer.error != 0) return Error::os(answer.error).message();
  if (mount.follows()) return "follows";
  return answer.read_only ? "read-only" : "in use";
}

int run_list(bool json) {
  std::vector<MountEntry> mounts = read_mount_table();
  std::erase_if(mounts, [](const MountEntry& mount) { return !mount.is_cffs(); });
  const std::vector<MountAnswer> answers = Questions(mounts).answers();
  auto list = nlohmann::ordered_json::array();
  if (!json && mounts.empty()) fmt::print("no store is mounted here; to mount one: cffs mount STORE MNT\n");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const MountEntry& mount = mounts[i];
    const MountAnswer& answer = answers[i];
    const std::string state = state_of(mount, answer);
    const pid_t pid = StoreOwner(mount.source).process();
    if (json) {
      nlohmann::ordered_json one{{"mount_point", mount.point}, {"store", mount.source}, {"state", state}};
      if (pid > 0) one["pid"] = pid;
      if (answer.error == 0)
        one.update({{"policy", answer.policy}, {"inodes", answer.inodes}, {"free_bytes", answer.free_bytes}});
      list.push_back(std::move(one));
      continue;
    }
    fmt::print("{}\n  store {}, {}", printable(mount.point), printable(mount.source), state);
    if (pid > 0) fmt::print(", daemon {}", pid);
    if (answer.error == 0) {
      if (!answer.policy.empty()) fmt::print(", policy {}", answer.policy);
      fmt::print(", {} inodes, {} free", answer.inodes, human_bytes(answer.free_bytes));
    }
    fmt::print("\n");
    if (answer.error == ENOTCONN)
      fmt::print("  its daemon is gone; to go on: cffs umount {0}, then cffs mount {1} {0}\n",
                 printable(mount.point), printable(mount.source));
  }
  if (json) fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return 0;
}

}  // namespace

void add_list(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("list", "This machine's mounts, and the stores they show");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For programs");
  command->callback([json, &exit_code] { exit_code = run_list(*json); });
}

}  // namespace cffs::cli
