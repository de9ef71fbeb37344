#include "bench/rig/rig.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/passthrough/passthrough.h"
#include "bench/rig/old_disk.h"
#include "bench/rig/target_name.h"
#include "core/backend/store_at.h"
#include "core/object/file_descriptor.h"
#include "core/plan/policy_choice.h"
#include "core/region/file_device.h"
#include "core/region/region_store.h"
#include "replay/play/replay.h"
#include "replay/results/counters.h"
#include "replay/results/environment.h"

namespace cffs::bench {
namespace {

// cffs mount raises the kernel's read-ahead to 1 MiB. What it is held against gets the same: with the kernel's own 128 KiB it would
// be asked up to eight times as often.
Status raise_read_ahead(const std::string& mount_point) {
  struct stat st;
  if (::stat(mount_point.c_str(), &st) != 0) return fail(errno, mount_point);
  std::ofstream(fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(st.st_dev), minor(st.st_dev)))
      << 1024;
  return {};
}

// Seconds that its life took.
class MountTime {
 public:
  explicit MountTime(double& into) : into_(into) {}
  ~MountTime() { into_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  MountTime(const MountTime&) = delete;
  MountTime& operator=(const MountTime&) = delete;

 private:
  double& into_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<std::unique_ptr<Rig>> Rig::start(const std::string& name, const RigOptions& options) {
  CFFS_TRY_VOID(check_target(name));
  std::unique_ptr<Rig> rig(new Rig(name, options));
  CFFS_TRY_VOID(rig->build());
  return rig;
}

Status Rig::build() {
  const TargetName parts = target_name_of(name_);
  const std::string& kind = parts.kind;
  if (!parts.below.empty()) backing_ = parts.below;
  if (name_.starts_with("dir:")) {
    kind_ = Kind::directory;
    directory_ = fmt::format("{}/cffs-bench-{}", name_.substr(4), ::getpid());
    if (::mkdir(directory_.c_str(), 0755) != 0) return fail(errno, directory_);
    CFFS_TRY(memory_, MemoryLimit::set(options_.memory_bytes));
    return up();
  }
  CFFS_TRY(const auto peer, peer_name_of(kind));
  if (peer) {
    kind_ = Kind::peer;
  } else if (is_file_system(kind)) {
    backing_ = kind;
  } else if (kind == "passthrough") {
    kind_ = Kind::passthrough;
  } else if (kind == "floor" || kind == "floor-xattrs") {
    kind_ = Kind::floor;
    answers_xattrs_ = kind == "floor-xattrs";
  } else if (kind == "library") {
    kind_ = Kind::library;
  } else if (kind == "predict") {
    kind_ = Kind::predict;
  } else if (kind == "regions") {
    kind_ = Kind::objects;
    backing_ = "region";
  } else {
    kind_ = Kind::cffs;
    policy_ = kind;
  }
  if (options_.synchronous && kind_ != Kind::native) {
    return fail(Error::command_line("--mount-sync is for file systems of the machine's own: leave " + name_ +
                                    " out of --targets"));
  }
  own_ = options_.work + "/" + kind;
  std::error_code error;
  std::filesystem::create_directories(own_ + "/mnt", error);
  if (error) return fail(error.value(), own_);
  if (kind_ == Kind::floor && name_ == kind) {
    CFFS_TRY(memory_, MemoryLimit::set(options_.memory_bytes));
    return up();
  }
  ImageOptions image;
  image.work = own_;
  image.disk = options_.disk;
  image.type = on_regions() ? "" : backing_;
  image.bytes = options_.image_bytes;
  image.synchronous = options_.synchronous;
  // Of a store each object has a block at least; a hundred million files in its table need no inode of the disk.
  constexpr std::uint64_t kBlock = 4096;
  image.inodes = is_cffs_mount() || is_library() ? std::min(options_.inodes, options_.image_bytes / kBlock)
                                                 : options_.inodes;
  CFFS_TRY(image_, Image::make(image));
  if (options_.aged > 0 && !on_regions()) CFFS_TRY_VOID(age());
  before_ = space_now();
  if (struct statvfs v; ::statvfs(image_->directory().c_str(), &v) == 0)
    room_ = static_cast<double>(v.f_bavail) * static_cast<double>(v.f_frsize);
  if (kind_ == Kind::objects) {
    CFFS_TRY(const auto device, FileDevice::open(store(), FileDevice::Access::read_write));
    CFFS_TRY_VOID(RegionStore::format(*device, {}));
    CFFS_TRY(const auto objects, open_store_at(store()));
    CFFS_TRY(const SpaceInfo space, objects->space());
    room_ = static_cast<double>(space.available_bytes);
  } else if (is_cffs_mount() || is_library()) {
    std::vector<std::string> words{own_program(), "format", store()};
    if (on_regions()) words.insert(words.begin() + 2, {"--backend=region", "--force"});
    if (!parts.compression.empty()) words.insert(words.begin() + 2, "--compress=" + parts.compression);
    CFFS_TRY_VOID(run(words));
    if (options_.aged > 0 && on_regions()) CFFS_TRY_VOID(age());
  } else if (peer) {
    peer_ = std::make_unique<PeerImage>(*peer, image_->directory() + "/image", own_ + "/mnt");
  } else {
    (void)::mkdir((image_->directory() + "/tree").c_str(), 0755);
  }
  CFFS_TRY(memory_, MemoryLimit::set(options_.memory_bytes));
  if (memory_) memory_->exempt(image_->disk_server());
  return up();
}

Status Rig::age() {
  const double bytes = static_cast<double>(options_.image_bytes) * std::min(options_.aged, 0.95);
  return in_a_hurry([&]() -> Status {
    if (on_regions()) {
      CFFS_TRY(const auto objects, open_store_at(store()));
      return grow_old(*objects, bytes);
    }
    CFFS_TRY(const auto files, replay::make_directory_target(image_->directory(), replay::Links::own));
    return grow_old(*files, bytes);
  });
}

// A FUSE file system of `cffs bench`, named by its words, on the rig's own mount point.
Status Rig::serve(std::vector<std::string> words) {
  const std::string name = words.front(), point = own_ + "/mnt";
  words.insert(words.begin(), {own_program(), "bench"});
  words.push_back(point);
  CFFS_TRY(server_, Server::start(words));
  constexpr int kTries = 500;
  for (int i = 0; i < kTries && !is_mount_point(point) && server_.is_running(); ++i) ::usleep(10'000);
  if (!is_mount_point(point))
    return fail(Error::usage("the " + name + " did not come up; is /dev/fuse there?"));
  directory_ = point;
  return {};
}

Status Rig::up() {
  switch (kind_) {
    case Kind::native:
      directory_ = image_->directory() + "/tree";
      break;
    case Kind::directory:
      break;
    case Kind::objects:
      return {};
    case Kind::passthrough: {
      CFFS_TRY_VOID(serve({"passthrough", image_->directory() + "/tree"}));
      CFFS_TRY_VOID(raise_read_ahead(directory_));
      break;
    }
    case Kind::floor: {
      std::vector<std::string> command{"floor"};
      if (answers_xattrs_) command.push_back("--xattrs");
      if (image_) command.push_back("--data=" + image_->directory() + "/data");
      CFFS_TRY_VOID(serve(command));
      CFFS_TRY_VOID(raise_read_ahead(directory_));
      break;
    }
    case Kind::peer: {
      const MountTime time(last_mount_s_);
      if (peer_->is_made()) CFFS_TRY_VOID(peer_->mount());
      directory_ = own_ + "/mnt";
      break;
    }
    case Kind::cffs: {
      std::vector<std::string> words{own_program(), "mount", "--policy=" + policy_, "-o",
                                     "allow_other,noatime"};
      // The first part of a session may use only files that the session makes: they are to come.
      if (!options_.plan.empty() && policy_ == "frequency")
        words.insert(words.end(), {"--plan=" + options_.plan, "--plan-ahead"});
      words.insert(words.end(), {store(), own_ + "/mnt"});
      const MountTime time(last_mount_s_);
      CFFS_TRY_VOID(run(words));
      directory_ = own_ + "/mnt";
      break;
    }
    case Kind::library:
    case Kind::predict: {
      auto objects = open_store_at(store());
      if (!objects) return fail(objects.error().errno_value, store());
      objects_ = std::move(*objects);
      FileSystemOptions options;
      options.policy = nullptr;
      {
        const MountTime time(last_mount_s_);
        CFFS_TRY(fs_, FileSystem::open(*objects_, options));
      }
      // As in TableFS: what is compared is the table alone.
      PolicyChoice choice;
      choice.name = "none";
      CFFS_TRY(auto policy, choose_policy(*objects_, choice));
      fs_->set_policy(std::move(policy));
      reorganiser_ = std::make_unique<Reorganiser>(*fs_);
      CFFS_TRY_VOID(reorganiser_->start());
      CFFS_TRY(target_, kind_ == Kind::library ? replay::make_library_target(*fs_, "")
                                               : replay::make_predict_target(*fs_, ""));
      return {};
    }
  }
  CFFS_TRY(target_, replay::make_directory_target(directory_, replay::Links::own));
  return {};
}

Status Rig::down() {
  target_.reset();
  if (kind_ == Kind::cffs && is_mount_point(own_ + "/mnt")) {
    constexpr int kTries = 100;
    Status done;
    for (int i = 0; i < kTries; ++i) {
      done = run({own_program(), "umount", own_ + "/mnt"});
      if (done || !is_mount_point(own_ + "/mnt")) break;
      ::usleep(50'000);
    }
    if (!done) return done;
  }
  if (is_served() && is_mount_point(own_ + "/mnt")) {
    CFFS_TRY_VOID(unmount_patiently(own_ + "/mnt"));
    server_.wait();
  }
  if (peer_) CFFS_TRY_VOID(peer_->unmount());
  reorganiser_.reset();
  if (fs_) {
    const Status closed = fs_->close();
    fs_.reset();
    objects_.reset();
    if (!closed) return closed;
  }
  return {};
}

Status Rig::cool() {
  if (kind_ == Kind::floor) return replay::drop_kernel_caches();  // its files would not come back
  CFFS_TRY_VOID(down());
  if (image_) CFFS_TRY_VOID(image_->remount());
  CFFS_TRY_VOID(replay::drop_kernel_caches());
  return up();
}

Status Rig::in_a_hurry(const std::function<Status()>& work) {
  if (!image_) return work();
  CFFS_TRY_VOID(image_->hurry(true));
  const Status done = work();
  ::sync();
  CFFS_TRY_VOID(image_->hurry(false));
  return done;
}

Status Rig::settle() {
  if (is_cffs_mount() && ::setxattr(directory_.c_str(), "user.cffs.compact", "1", 1, 0) != 0)
    return fail(errno, directory_);
  if (reorganiser_) CFFS_TRY_VOID(reorganiser_->consolidate_now());
  CFFS_TRY_VOID(sync());
  ::sync();
  return {};
}

Status Rig::sync() {
  if (const std::int64_t synced = target_->sync(); synced < 0)
    return fail(static_cast<int>(-synced), directory_);
  if (!has_directory() || !image_ || is_native() || peer_) return {};
  // Of a cffs mount its log, and with it all names and small files; then what any daemon has written below.
  const FileDescriptor root(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root || ::fsync(root.get()) != 0) return fail(errno, directory_);
  if (on_regions()) return {};
  const FileDescriptor below(::open(image_->directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!below || ::syncfs(below.get()) != 0) return fail(errno, image_->directory());
  return {};
}

Status Rig::import(const std::string& tree) {
  if (is_cffs_mount() || is_library()) {
    CFFS_TRY_VOID(down());
    std::vector<std::string> words{own_program(), "import", "--policy=" + (is_library() ? "none" : policy_)};
    if (!options_.plan.empty() && policy_ == "frequency" && is_cffs_mount())
      words.push_back("--plan=" + options_.plan);
    words.insert(words.end(), {tree, store()});
    CFFS_TRY_VOID(run(words));
    return up();
  }
  if (peer_) {
    CFFS_TRY_VOID(down());
    CFFS_TRY_VOID(peer_->make(tree));
    return up();
  }
  // What lies as it was written is to lie by name, as cffs puts it.
  if (kind_ == Kind::floor) {
    return run(
        {"sh", "-c", "tar -C \"$1\" --sort=name -cf - . | tar -C \"$2\" -xpf -", "sh", tree, directory_});
  }
  return run({"cp", "-a", tree + "/.", directory_});
}

Status Rig::use_plan(const std::string& plan) {
  CFFS_TRY_VOID(down());
  options_.plan = plan;
  return up();
}

std::string Rig::device() const {
  return image_ ? image_->device_number() : replay::mount_of(directory_).device;
}

pid_t Rig::daemon() const {
  if (is_served()) return server_.pid();
  if (!is_cffs_mount()) return 0;
  return replay::holder_of_store(store());
}

Rig::Space Rig::space_now() const {
  struct statvfs v;
  // What lies on no file system tells by its mount.
  if (!image_ || (on_regions() && !has_directory())) return {};
  const std::string& at = on_regions() ? directory_ : image_->directory();
  if (::statvfs(at.c_str(), &v) != 0) return {};
  if (on_regions()) return {static_cast<double>(v.f_blocks - v.f_bfree) * static_cast<double>(v.f_frsize), 0};
  return {static_cast<double>(v.f_blocks - v.f_bfree) * static_cast<double>(v.f_frsize),
          static_cast<double>(v.f_files - v.f_ffree)};
}

Rig::Space Rig::used() const {
  const Space now = space_now();
  return {now.bytes - before_.bytes, now.inodes - before_.inodes};
}

double Rig::held_bytes() const {
  if (peer_) return static_cast<double>(peer_->bytes());
  if (!is_cffs_mount()) return used().bytes;
  std::string json(std::size_t{64} << 10, '\0');
  const ssize_t n = ::getxattr(directory_.c_str(), "user.cffs.statistics", json.data(), json.size());
  json.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const auto facts = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  return facts.is_object() ? facts.value("object_bytes", 0.0) : used().bytes;
}

std::string Rig::mount_description() const {
  const std::string at = has_directory() ? directory_ : image_->directory();
  const replay::MountFacts facts = replay::mount_of(at);
  return facts.type + " " + facts.options +
         (image_ && facts.type.starts_with("fuse") ? " over " + backing_ : "");
}

Rig::~Rig() {
  if (kind_ == Kind::directory) {
    target_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    return;
  }
  if (!down()) unmount_below(own_);
  image_.reset();
  memory_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(own_, ignored);
}

}  // namespace cffs::bench
