// A target of benchmarks, set up from nothing and taken down without a trace.
//
//   ext2, ext3, ext4, xfs, btrfs   the file system itself, on an image of its own; the first two by the ext4 driver
//   passthrough           a tuned FUSE pass-through over ext4
//   floor                 files in memory behind FUSE: what the transport alone costs; nothing is ever read from a disk. floor@ext4,
//                         @xfs, @btrfs: their data is in one file on that, so that reads cost what they must, and no more
//   floor-xattrs          the same that answers who asks for extended attributes: what a file system that has some is asked
//   none, directory, reference, frequency   a cffs mount with that policy, its store on ext4
//   library               the engine without FUSE, its store on ext4; predict: TableFS-Predict (§4.3)
//   regions               the region store alone on the disk: objects, and no files
//   "+zstd", "+zstd:9", "+lz4" behind a policy, library or predict: the store's composites are compressed
//   "@region" behind a policy, library or predict: the store is on the disk itself, without a file system
//   squashfs:zstd, squashfs:lz4, erofs:lz4, erofs:zstd   a read-only image of the tree, on ext4; ":3" behind a codec is its level
//   dir:PATH              a directory of any file system that is there already
//
// "@xfs" or "@btrfs" behind a name puts that file system below instead of ext4.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/rig/image.h"
#include "bench/rig/memory_limit.h"
#include "bench/rig/peer_image.h"
#include "core/fs/file_system.h"
#include "core/object/object_store.h"
#include "core/reorganise/reorganiser.h"
#include "replay/play/target.h"

namespace cffs::bench {

struct RigOptions {
  std::string work;  // an existing directory; the rig makes its own below it
  std::string disk = "raw";
  std::uint64_t image_bytes = 4ull << 30;
  std::uint64_t inodes = 0;        // that the disk must have room for
  std::uint64_t memory_bytes = 0;  // limit for this process and the daemon; 0: none
  double aged = 0;           // share of the disk that was filled and partly freed again before; 0: fresh
  std::string plan;          // for policy frequency
  bool synchronous = false;  // file systems are mounted with -o sync; for those of the machine's own
};

class Rig {
 public:
  static Result<std::unique_ptr<Rig>> start(const std::string& name, const RigOptions& options);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  const std::string& name() const { return name_; }
  replay::Target& target() { return *target_; }
  // Where programs see the target; empty for the library.
  const std::string& directory() const { return directory_; }
  bool has_directory() const { return !directory_.empty(); }

  // Everything is taken down, caches are dropped, everything is put up again.
  Status cool();
  // How long it took to mount the target, or to open its store; 0: it has neither.
  double last_mount_s() const { return last_mount_s_; }
  // Does `work` on a disk that answers at once, whatever its model: what is not measured need not take the model's time. What it wrote is on
  // the disk afterwards.
  Status in_a_hurry(const std::function<Status()>& work);
  // What was written is on the disk. FUSE passes syncfs(2) on for few file systems, so it is more than the target's own.
  Status sync();
  // The same, and small files are where they will stay.
  Status settle();
  // Puts a tree into the target, as its users would: `cffs import` for cffs, a copy for the others.
  Status import(const std::string& tree);
  // A plan for policy frequency, from now on.
  Status use_plan(const std::string& plan);

  std::string device() const;  // "7:3"; empty where it is not known
  pid_t daemon() const;        // 0: there is none
  struct Space {
    double bytes = 0, inodes = 0;
  };
  Space used() const;                    // since the target was set up
  // Bytes of what holds the files: a peer's image, a store's objects; of another what used() says.
  double held_bytes() const;
  double room() const { return room_; }  // bytes that files could have then; 0: not known
  // Only objects, at store_path().
  bool is_objects() const { return kind_ == Kind::objects; }
  std::string store_path() const { return store(); }
  bool is_native() const { return kind_ == Kind::native; }
  // Each write is on the disk when it returns, without a sync of its own.
  bool syncs_itself() const { return options_.synchronous; }
  std::string mount_description() const;

 private:
  Rig(std::string name, RigOptions options) : name_(std::move(name)), options_(std::move(options)) {}
  Status build();
  Status up();
  Status serve(std::vector<std::string> words);
  Status down();
  Status age();
  bool is_served() const { return kind_ == Kind::passthrough || kind_ == Kind::floor; }
  bool is_cffs_mount() const { return kind_ == Kind::cffs; }
  bool is_library() const { return kind_ == Kind::library || kind_ == Kind::predict; }
  bool on_regions() const { return backing_ == "region"; }
  std::string store() const { return on_regions() ? image_->device() : image_->directory() + "/store"; }
  Space space_now() const;

  enum class Kind { native, passthrough, floor, cffs, library, predict, peer, directory, objects };
  const std::string name_;
  RigOptions options_;
  Kind kind_ = Kind::native;
  bool answers_xattrs_ = false;  // a floor
  std::string policy_ = "directory", backing_ = "ext4", own_, directory_;
  std::unique_ptr<MemoryLimit> memory_;
  std::unique_ptr<Image> image_;
  std::unique_ptr<PeerImage> peer_;  // on it
  Server server_;
  std::unique_ptr<ObjectStore> objects_;
  std::unique_ptr<FileSystem> fs_;
  std::unique_ptr<Reorganiser> reorganiser_;  // gone before it
  std::unique_ptr<replay::Target> target_;
  Space before_;
  double room_ = 0;
  double last_mount_s_ = 0;
};

}  // namespace cffs::bench
