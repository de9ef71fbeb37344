// A store that nobody has mounted, as a destination: small files go straight into composites.
#pragma once

#include <unordered_set>

#include "core/base/mutex.h"
#include "core/fs/file_system.h"
#include "core/transfer/destination.h"

namespace cffs {

class StoreDestination final : public Destination, public SmallFiles {
 public:
  // `keeps_owners`: files have those of their source; else they are the caller's, as those who are not root have it from cp and tar:
  // of another group only where he is in it, and then without set-id bits.
  explicit StoreDestination(FileSystem& fs, bool keeps_owners = true);
  ~StoreDestination() override;

  std::string shown(const std::string& path) const override { return path; }
  std::string where() const override { return "in the store"; }
  Result<Attributes> look(InodeId directory, const std::string& name) override;
  Result<std::string> target(InodeId directory, const std::string& name) override;
  Result<ReadAt> open(InodeId directory, const std::string& name) override;
  Result<std::vector<std::pair<std::string, bool>>> names(InodeId directory) override;
  Result<InodeId> make_directory(InodeId parent, const std::string& name, const Inode& attributes) override;
  Result<InodeId> enter(InodeId parent, const std::string& name, bool to_remove) override;
  void leave(InodeId directory) override;
  Status make_file(InodeId parent, const std::string& name, const Inode& attributes,
                   const CopyFile& copy) override;
  Status make_node(InodeId parent, const std::string& name, const Inode& attributes) override;
  Status make_link(InodeId first_parent, const std::string& first_name, InodeId parent,
                   const std::string& name) override;
  Status replace(InodeId parent, const std::string& from, const std::string& to) override;
  Status remove(InodeId parent, const std::string& name, bool is_directory) override;
  void settle(InodeId parent, const std::string& name, const Inode& attributes) override;
  void settle_directory(InodeId directory, const Inode& attributes) override;
  void end_temporaries() override;
  Status sync() override { return fs_.sync(); }
  Result<std::uint64_t> begin() override;
  bool knows_of_left_overs() const override { return !killed_.empty(); }
  bool is_left_over(InodeId directory, const std::string& name) override;
  SmallFiles* small_files() override { return this; }
  bool keeps_owners() const override { return keeps_owners_; }
  std::uint64_t order_of(const std::string& name) const override { return fs_.name_hash()(name); }
  bool was_made_here(const Attributes& file) const override { return file.ino >= first_new_inode_; }

  std::uint64_t limit() const override { return fs_.load_limit(); }
  bool takes(std::uint64_t size, const ReadAt& content) const override;
  std::uint64_t share_bytes() const override { return fs_.store_format().composite_max; }
  bool in_a_group(std::uint64_t size) const override;
  Result<std::vector<std::string>> load(std::vector<NewFile> files) override;

 protected:
  void expect_temporaries() override;

 private:
  // A transfer that did not come to its end, and what was made since it began and before the next did.
  struct Killed {
    std::uint64_t transfer = 0, begin = 0, end = 0;  // inodes
  };
  Status note_transfers(bool with_this);

  struct Owner {
    uid_t uid;
    gid_t gid;
    mode_t bits;  // of the mode that it may have
  };
  Owner owner_of(const Inode& attributes) const;
  Caller caller_of(const Inode& attributes) const;
  void settle_inode(InodeId ino, const Inode& wanted);
  InodeId keep(InodeId directory);

  FileSystem& fs_;
  const bool keeps_owners_;
  const std::unordered_set<gid_t> groups_;  // the caller's, where they matter
  const InodeId first_new_inode_;
  const std::uint64_t table_bytes_;  // files of at most so many stay in the table
  std::vector<Killed> killed_;       // the last ones; set by begin()
  std::atomic<bool> noted_{false};
  Mutex mutex_;
  std::unordered_set<InodeId> directories_ CFFS_GUARDED_BY(mutex_);  // referenced once each, but for the root
};

}  // namespace cffs
