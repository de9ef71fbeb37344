// The rows of a moment into the table of a new store, and what objects they name.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/backup/former_backup.h"
#include "core/fs/moment.h"

namespace cffs {

class RowCopy {
 public:
  struct Composite {
    std::uint64_t size = 0;  // bytes, as its row says
    bool has_row = false;
    bool known = true;  // the former backup has each of its living members, where they are now
  };
  struct Blob {
    Inode inode;
    EntryName at;  // no name: it has several
  };

  // `former`: null where there is none. `spent` is called now and then with the bytes written, until it says no.
  RowCopy(const Moment& moment, const FormerBackup* former, Table& to,
          std::function<bool(std::uint64_t)> spent);

  // Everything but what is of the store in use alone: who has it open, what is to be removed, how far its log is durable. The copy
  // is that of a store that was closed.
  Status run();

  const std::unordered_map<std::uint64_t, Composite>& composites() const { return composites_; }
  const std::vector<Blob>& blobs() const { return blobs_; }
  std::uint64_t inodes() const { return inodes_; }
  std::uint64_t files() const { return files_; }  // regular ones
  std::uint64_t unclean_ends() const { return unclean_ends_; }
  // Why rows are missing in the copy, or are as they were earlier: the table cannot be read everywhere.
  const std::vector<std::string>& damage() const { return damage_; }
  // Rows that make no sense; they are copied as they are.
  const std::vector<std::string>& malformed() const { return malformed_; }

 private:
  void copy_row(Key key, std::string_view value);
  void copy_namespace_row(Key key, std::string_view value);
  void copy_entries(Key key, std::string_view value);
  void note_file(Key key, const Entry& entry);
  void copy_system_row(Key key, std::string_view value);
  void put(Key key, std::string_view value);
  Status flush();

  const Moment& moment_;
  const FormerBackup* const former_;
  Table& to_;
  const std::function<bool(std::uint64_t)> spent_;
  Batch batch_;
  std::uint64_t batched_ = 0;  // bytes
  Status written_;
  std::unordered_map<std::uint64_t, Composite> composites_;
  std::vector<Blob> blobs_;
  std::unordered_set<InodeId> sealed_, with_blob_;
  std::unordered_set<std::uint64_t> nameless_;  // files without a name whose data is in the table
  std::uint64_t inodes_ = 0, files_ = 0, unclean_ends_ = 0;
  std::vector<std::string> damage_, malformed_;
};

}  // namespace cffs
