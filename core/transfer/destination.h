// Where a transfer brings files: a store, or a directory of an ordinary file system (a mount that is in use; where an export goes).
//
// What comes gets its name when it is whole, with its attributes. Nothing is followed: a symbolic link is a file like others, and no
// name leads out. Directories are known by numbers that the destination gives out; they hold as long as it does, or until leave().
// All calls from any thread, but that of one directory nobody calls leave() meanwhile.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/fs/attributes.h"
#include "core/fs/new_file.h"

namespace cffs {

// Writes at an offset of a file; what was left out is a hole.
using WriteAt = std::function<Status(std::uint64_t offset, std::string_view bytes)>;
// Brings the content of a file, from data to data.
using CopyFile = std::function<Status(const WriteAt&)>;
// Fewer bytes than asked only at the file's end.
using ReadAt = std::function<Result<std::size_t>(std::uint64_t offset, Bytes out)>;

// Many small files at once, where that is worth waiting for others.
class SmallFiles {
 public:
  virtual ~SmallFiles() = default;
  virtual std::uint64_t limit() const = 0;  // bytes: the largest
  // Whether one of so many bytes, within the limit, is best brought like that. A large one is looked into, or is not.
  virtual bool takes(std::uint64_t size, const ReadAt& content) const = 0;
  virtual std::uint64_t share_bytes() const = 0;  // of what is best brought at once
  virtual bool in_a_group(std::uint64_t size) const = 0;
  // Names that were taken: these files did not come.
  virtual Result<std::vector<std::string>> load(std::vector<NewFile> files) = 0;
};

class Destination {
 public:
  virtual ~Destination() = default;

  // Gets what does not keep a file from coming: an attribute that could not be set. From any thread.
  void tell_problems_to(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }

  // Words for people: a path in it, and "already …".
  virtual std::string shown(const std::string& path) const = 0;
  virtual std::string where() const = 0;
  virtual bool keeps_owners() const { return true; }
  // Before anything comes: takes away, or finds, what transfers that were killed left. Returns how many files went.
  virtual Result<std::uint64_t> begin() { return 0; }
  // Whether clear() would find anything: a name that only looks like a temporary is somebody's.
  virtual bool knows_of_left_overs() const { return false; }
  virtual bool is_left_over(InodeId, const std::string&) { return false; }
  // Is needed by a transfer that is under way, and not what is in a source or not.
  virtual bool is_its_own(InodeId, const std::string&) { return false; }
  // Whether a directory of it is this one of the machine.
  virtual bool is(InodeId, dev_t, ino_t) { return false; }

  // ENOENT: nothing has this name.
  virtual Result<Attributes> look(InodeId directory, const std::string& name) = 0;
  virtual Result<std::string> target(InodeId directory, const std::string& name) = 0;
  virtual Result<ReadAt> open(InodeId directory, const std::string& name) = 0;
  // Whether it lies on a file system that is mounted somewhere in the destination.
  virtual bool is_mounted_in(InodeId) { return false; }
  // Names without "." and "..", and whether each is a directory.
  virtual Result<std::vector<std::pair<std::string, bool>>> names(InodeId directory) = 0;

  // EEXIST. Open to its owner alone, until it is settled.
  virtual Result<InodeId> make_directory(InodeId parent, const std::string& name,
                                         const Inode& attributes) = 0;
  // ENOTDIR: something else has the name. With `to_remove`, EXDEV: it is a file system of its own.
  virtual Result<InodeId> enter(InodeId parent, const std::string& name, bool to_remove = false) = 0;
  virtual void leave(InodeId directory) = 0;

  // EEXIST, all three.
  virtual Status make_file(InodeId parent, const std::string& name, const Inode& attributes,
                           const CopyFile& copy) = 0;
  virtual Status make_node(InodeId parent, const std::string& name,
                           const Inode& attributes) = 0;  // no file, no directory
  virtual Status make_link(InodeId first_parent, const std::string& first_name, InodeId parent,
                           const std::string& name) = 0;
  // In one step, in the place of a file that is there.
  virtual Status replace(InodeId parent, const std::string& from, const std::string& to) = 0;
  virtual Status remove(InodeId parent, const std::string& name, bool is_directory) = 0;
  // Mode, owner, times and extended attributes.
  virtual void settle(InodeId parent, const std::string& name, const Inode& attributes) = 0;
  virtual void settle_directory(InodeId directory, const Inode& attributes) = 0;
  // Before directories are settled: a list of temporaries that goes changes its folder's time.
  virtual void end_temporaries() {}
  virtual Status sync() = 0;

  virtual SmallFiles* small_files() { return nullptr; }
  // The order in which directories are listed best.
  virtual std::uint64_t order_of(const std::string&) const { return 1; }
  // A source may hold a path twice: from now on it is known what was made here.
  virtual void expect_repeats() {}
  virtual bool was_made_here(const Attributes& file) const = 0;

  // The names that the root of a mount takes for orders (compact, back up, ...), from root and from who runs it. Whoever wrote a source
  // or an archive gives none through those who copy it.
  static bool is_order_to_mount(std::string_view attribute) { return attribute.starts_with("user.cffs."); }

  // For a file that will replace another, or is not whole yet. Users may have such names, too: the next transfer takes away what it
  // knows to be of a killed one, and no more.
  std::string temporary_name();
  // The number of the transfer that would make it; nullopt: none does.
  static std::optional<std::uint64_t> transfer_of(std::string_view name);
  // Tells transfers apart; at random, so that no source has such names by chance.
  std::uint64_t transfer_number() const { return number_; }

 protected:
  // Before the first temporary is made, once: so that the next transfer knows them if this one is killed.
  virtual void expect_temporaries() {}
  void tell(const std::string& problem) const {
    if (tell_) tell_(problem);
  }
  void tell_order(const std::string& attribute) const {
    if (attribute.ends_with(kTransfersAttribute)) return;  // nobody's but a store's
    tell(attribute + ": cffs mounts take it for an order; it was left out");
  }

  static constexpr std::string_view kTransfersAttribute = "user.cffs.transfers";

 private:
  std::function<void(const std::string&)> tell_;
  const std::uint64_t number_ = std::random_device()() + (std::uint64_t{std::random_device()()} << 31);
  std::once_flag expected_;
  std::atomic<std::uint64_t> temporaries_{0};
};

}  // namespace cffs
