// FileSystem: a whole cffs store as a library (TableFS's library form). FUSE is a thin adaptor over it.
//
// Semantics are POSIX's, minus permission checks: like a kernel file system behind the VFS, it is told who asks (Caller)
// and otherwise trusts its caller to have checked (the mount uses default_permissions).
//
// Inodes are named by number. lookup(), readdir() with `refer`, and the calls that answer with a new entry's attributes
// hand out a reference, to be given back with forget(); an operation on a number without a reference answers ESTALE. The
// root is always referenced. A file whose last name is gone stays usable until its last reference is given back.
//
// Errors: every call answers POSIX's errno for it as an `os` Error. Beyond what a call names below, any may answer ESTALE
// (no such reference), EIO (`corruption` of what it had to read, or the medium's), ENOSPC and EDQUOT where it needs room,
// and EROFS once a write or sync failed below: then nothing more is changed until the store is opened again. Of a store
// that was opened read-only, every change is EROFS.
//
// Durability: a call that has returned survives the end of the process (kill -9). A power cut leaves the namespace as a
// prefix of the acknowledged calls, at most one commit interval old; fsync() and sync() make it durable on return
// (docs/CONSISTENCY.md). Exceptions are named at the call.
//
// Thread safety: everything but close(). Lock ranks: docs/CONCURRENCY.md. Offsets, lengths and sizes are bytes; times are
// nanoseconds since 1970, UTC.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/composite/read_ahead_counters.h"
#include "core/fs/attributes.h"
#include "core/fs/caller.h"
#include "core/fs/file_system_options.h"
#include "core/fs/live_counters.h"
#include "core/fs/store_format.h"
#include "core/packed/frame_counters.h"
#include "core/table/entry_name.h"

namespace cffs {

class AccessRecord;
class BlobKeeper;
class CompositeStore;
class FreedComposites;
class Moment;
class ObjectStore;
class Rehousing;
class RenamedFiles;
class StagedDirectories;
class Table;
struct NewFile;
struct SpaceInfo;

enum class XattrMode { any, create, replace };

// whiteout: the old name stays, as a character device 0:0 (union file systems hide lower files with it).
enum class RenameMode { replace, no_replace, exchange, whiteout, whiteout_no_replace };

// What fallocate(2) does to a range.
enum class AllocateMode { reserve, punch_hole, zero_range };

// What became of a file that was handed over: no, it could not be used; no_more, nor could others.
enum class Taken { yes, no, no_more };

struct DirectoryEntry {
  std::string_view name;
  std::uint64_t cookie = 0;  // readdir continues after it
  const Attributes& attributes;
};

class FileSystem {
 public:
  // Opens a store that format() made, and recovers what an earlier user left. `store` must outlive the file system. Takes
  // the store's lock: EBUSY names the holder. `usage`: no store, or one of a newer version. `corruption`: what every store
  // must have is missing or damaged; no row is changed then.
  static Result<std::unique_ptr<FileSystem>> open(ObjectStore& store, FileSystemOptions options);
  // A new, empty store; durable on return. EEXIST: there is one.
  static Status format(ObjectStore& store, const StoreFormat& format, const Clock& clock);
  // What format() was given for the store that is being made there, or was when its maker was killed (core/fs/unfinished_format.h): for who
  // begins anew. nullopt: none, or it was not written yet. EBUSY: it is being made.
  static Result<std::optional<StoreFormat>> begun_format(ObjectStore& store);

  // Calls close() if nobody did.
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  // Makes everything durable, ends the background work, gives the store free. No operation may run or follow.
  virtual Status close() = 0;

  // --- names ---------------------------------------------------------------------------------------------------------

  // ENOENT, ENOTDIR, ENAMETOOLONG. "." and ".." too: of any inode, also one that was forgotten, found by its number (file
  // handles; the first such search scans the table).
  virtual Result<Attributes> lookup(InodeId parent, std::string_view name) = 0;
  // Gives references back. The data of an unlinked file goes with the last one.
  virtual void forget(InodeId ino, std::uint64_t references) = 0;
  // Any type but directories and symlinks (EINVAL). EEXIST, ENOENT (the directory is gone), ENOTDIR, ENAMETOOLONG; so do
  // mkdir() and symlink().
  virtual Result<Attributes> mknod(InodeId parent, std::string_view name, mode_t mode, std::uint64_t rdev,
                                   const Caller& caller) = 0;
  virtual Result<Attributes> mkdir(InodeId parent, std::string_view name, mode_t mode,
                                   const Caller& caller) = 0;
  // ENAMETOOLONG: a target of more than 4,095 bytes.
  virtual Result<Attributes> symlink(InodeId parent, std::string_view name, std::string_view target,
                                     const Caller& caller) = 0;
  // A regular file without a name, as O_TMPFILE makes it; link() may give it one. Gone with its last reference else, and
  // with the process.
  virtual Result<Attributes> make_unnamed(InodeId directory, mode_t mode, const Caller& caller) = 0;
  // EEXIST, EPERM (a directory), EMLINK (65,000 names), ENOENT (its last name is gone).
  virtual Result<Attributes> link(InodeId ino, InodeId parent, std::string_view name) = 0;
  // ENOENT, EISDIR.
  virtual Status unlink(InodeId parent, std::string_view name) = 0;
  // ENOENT, ENOTDIR, ENOTEMPTY.
  virtual Status rmdir(InodeId parent, std::string_view name) = 0;
  // Atomic, also across a power cut: the new name shows the old file or the new one, whole. `caller` owns a whiteout.
  // ENOENT, EEXIST, EINVAL (into itself), ENOTEMPTY, ENOTDIR, EISDIR, EBUSY ("." or "..").
  virtual Status rename(InodeId parent, std::string_view name, InodeId new_parent, std::string_view new_name,
                        RenameMode mode, const Caller& caller) = 0;
  // EINVAL: not a symlink.
  virtual Result<std::string> readlink(InodeId ino) = 0;
  // Entries after `cookie` (0: from the start, "." and ".." first) until visit returns false; an entry for which it does
  // counts as not delivered. An entry that stays is delivered once, whatever comes and goes meanwhile. With `refer`, every
  // delivered entry but "." and ".." carries a reference. ENOTDIR.
  virtual Status readdir(InodeId directory, std::uint64_t cookie, bool refer,
                         const std::function<bool(const DirectoryEntry&)>& visit) = 0;

  // --- attributes ----------------------------------------------------------------------------------------------------

  virtual Result<Attributes> getattr(InodeId ino) = 0;
  // All that is asked for; a change of size comes first and stays where the rest fails. A change of owner, or of content by
  // a caller without privilege, takes set-id bits away. EISDIR, EINVAL, EFBIG (of `size`).
  virtual Result<Attributes> setattr(InodeId ino, const AttributeChange& change, const Caller& caller) = 0;
  // Grows whenever a change of content takes set-id bits away, before it returns: who remembers modes has to forget that one.
  virtual std::uint64_t set_ids_dropped() const = 0;
  // The file was read, the directory listed, the link followed: its access time may change. Durable with the next commit.
  virtual void accessed(InodeId ino) = 0;
  // ENODATA; EOPNOTSUPP: a namespace that nobody defined. So do the others.
  virtual Result<std::string> getxattr(InodeId ino, std::string_view name) = 0;
  virtual Result<std::vector<std::string>> listxattr(InodeId ino) = 0;
  // ACLs (core/fs/acl.h) change the mode with them. EEXIST, ENODATA (by mode), ERANGE, E2BIG, ENOSPC: too long a name, a
  // value, or all together.
  virtual Status setxattr(InodeId ino, std::string_view name, std::string_view value, XattrMode mode,
                          const Caller& caller) = 0;
  virtual Status removexattr(InodeId ino, std::string_view name) = 0;

  // --- data ----------------------------------------------------------------------------------------------------------

  // Bytes read; short only at the end of the file. EISDIR. What `reader` read before decides what else comes into memory.
  virtual Result<std::size_t> read(InodeId ino, std::uint64_t offset, Bytes out, ReaderId reader = 0) = 0;
  // For a cache above that takes what nobody has asked it for yet, of files that do not change. `call`, by who reads and without
  // waiting: that reader is likely to go through the group of this file. Set before anybody reads; null: nobody, and nobody reads any more.
  virtual void on_likely_group(std::function<void(ReaderId, InodeId)> call) = 0;
  // Then: the files of that group to which the caller refers, and which were neither read nor handed over since he does, each whole and
  // checked, from this one on; but for one in eight, by which it is seen whether he wanted the others. `take` is called without locks.
  // Returns how many were taken.
  virtual Result<std::size_t> hand_over_group(ReaderId reader, InodeId ino,
                                              const std::function<Taken(InodeId, ConstBytes)>& take) = 0;
  // All of `data`, or an error: then a small file is as before, of a large one part of `data` may be there. Of a large file
  // overwritten in place again within a second, times may be a commit interval behind after kill -9. EFBIG; EINVAL: not a
  // regular file.
  virtual Status write(InodeId ino, std::uint64_t offset, ConstBytes data, const Caller& caller) = 0;
  // fallocate(2). With `keep_size` the file does not grow. Holes and zeroed ranges read as zeros. EFBIG, EISDIR, ENODEV,
  // EINVAL (a length of 0).
  virtual Status allocate(InodeId ino, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                          bool keep_size, const Caller& caller) = 0;
  // Copies at most `length` bytes between two files, or two places of one; returns how many, 0 at the end of the source. Not
  // atomic. EINVAL: two places of one that overlap, as far as the source reaches.
  virtual Result<std::uint64_t> copy_range(InodeId from, std::uint64_t from_offset, InodeId to,
                                           std::uint64_t to_offset, std::uint64_t length,
                                           const Caller& caller) = 0;
  // First offset >= `offset` that may hold data, for sparse copies; ENXIO past the end.
  virtual Result<std::uint64_t> next_data(InodeId ino, std::uint64_t offset) = 0;
  // First offset >= `offset` in a hole, the end of the file at the latest; ENXIO past the end.
  virtual Result<std::uint64_t> next_hole(InodeId ino, std::uint64_t offset) = 0;

  // --- durability and space ------------------------------------------------------------------------------------------

  // The file's or directory's data, attributes and names are durable on return, with the path to it.
  virtual Status fsync(InodeId ino) = 0;
  // The same for everything.
  virtual Status sync() = 0;
  // The commit that else comes within the interval: what was acknowledged before is durable, and who follows the store is given it.
  virtual Status commit() = 0;
  // Of the medium below.
  virtual Result<SpaceInfo> statfs() = 0;
  // Inodes of any type; nullopt: not known yet, where nobody closed the store and counting is under way.
  virtual std::optional<std::uint64_t> file_count() const = 0;
  // Inodes that the caller refers to.
  virtual std::size_t known_inodes() = 0;
  // Up to `most` of them that nobody uses just now, others with each call, without those that a known one lies below.
  virtual std::vector<InodeId> some_asleep(std::size_t most) = 0;
  // What members brought with them since the store was opened.
  virtual ReadAheadCounters read_ahead() const = 0;
  // What packed composites cost to read since then.
  virtual FrameCounters frames() const = 0;
  // What it does just now, for who watches; never waits for the medium.
  virtual LiveCounters live_counters() = 0;
  // What LevelDB wrote to its log lately, lines with their time; at most 64 KiB.
  virtual std::string table_log() = 0;
  // Where an inode that somebody refers to was seen last; nullopt: nobody does, or it is the root. Of one that sleeps its row is read.
  virtual std::optional<EntryName> last_place(InodeId ino) = 0;
  // The directory alone, without a look at the medium; nullopt also where the inode is just being changed: nobody is waited for.
  virtual std::optional<InodeId> last_directory(InodeId ino) = 0;
  virtual const StoreFormat& store_format() const = 0;
  // How composites are compressed from now on, durable on return; Rehousing::pack() brings the others along. `usage`: a store from
  // before they could be.
  virtual Status compress(const Compression& how) = 0;
  virtual Compression compression() const = 0;
  // Whether files with the same content share it from now on, durable on return; those that do go on sharing. `usage`: a store from
  // before files could.
  virtual Status dedupe(bool on) = 0;
  // Of entries' keys: a directory's listing is in the order of it.
  virtual const NameHash& name_hash() const = 0;

  // --- import: many small files at once, straight to where they will stay --------------------------------------------

  // Largest file that load() takes; larger ones go through mknod() and write().
  virtual std::uint64_t load_limit() const = 0;
  // Whether load() is for such a file, which is within the limit: a large one is looked into, by `read` (fewer bytes than asked only at its
  // end); null: it is not.
  virtual bool loads(
      std::uint64_t bytes,
      const std::function<Result<std::size_t>(std::uint64_t offset, Bytes out)>& read) const = 0;
  // Puts the files into one new composite, group after group (or, under a policy without composites, into the table).
  // Returns the names that were taken already; those files were left out. Durable with the next commit. The parents must
  // stay referenced and must not be removed meanwhile. Several may run in parallel. A name that no entry may have is an error
  // (check_name.h), before anything is written.
  virtual Result<std::vector<std::string>> load(std::vector<std::vector<NewFile>> groups) = 0;
  // Every inode made from now on has at least this number.
  virtual InodeId next_inode() const = 0;
  // Sees to it that this is so from `first` on, durable on return: for a repair that has found larger numbers in use.
  virtual Status skip_inodes(InodeId first) = 0;

  // --- grouping ------------------------------------------------------------------------------------------------------

  virtual std::shared_ptr<const grouping::Policy> policy() const = 0;
  // New files are grouped by this policy from now on; regroup() (core/reorganise) brings the others along.
  virtual void set_policy(std::shared_ptr<const grouping::Policy> policy) = 0;
  // Remembers a first read for the access record, where there is one. `stream`: whose accesses follow each other.
  virtual void note_access(InodeId ino, std::uint64_t stream) = 0;
  virtual AccessRecord* access_record() = 0;  // null: none is kept

  // --- for those that move data in the background and those that look (core/reorganise, core/inspect) ----------------

  virtual Rehousing& rehousing() = 0;
  virtual StagedDirectories& staged_directories() = 0;
  virtual FreedComposites& freed_composites() = 0;
  // Whom to ask where users are short of room and nothing that was removed can simply go: gives so many bytes back to the medium, or
  // more; false: none. Called without locks, by one thread at a time, never by who moves files (rehousing()). Null: nobody from
  // now on, and nobody is in it any more.
  virtual void on_shortage(std::function<bool(std::uint64_t)> give_back) = 0;
  virtual RenamedFiles& renamed_files() = 0;
  virtual Table& table() = 0;
  virtual CompositeStore& composites() = 0;
  virtual ObjectStore& objects() = 0;
  virtual const Clock& clock() const = 0;
  // The tree as it is at one moment between call and return, with all that was acknowledged before, held still until the result
  // goes (core/fs/moment.h); the keeper must live as long. EBUSY: somebody holds another.
  virtual Result<std::unique_ptr<Moment>> hold_moment(BlobKeeper& keeper) = 0;
  virtual bool holds_moment() const = 0;
  // One line for the administrator.
  virtual void log(const std::string& line) const = 0;

 protected:
  FileSystem() = default;
};

}  // namespace cffs
