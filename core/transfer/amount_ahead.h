// How much a transfer has before it, counted in a thread of its own while the transfer runs: for who wants to know how long it takes yet.
// The transfer needs the same names and attributes a little later; nobody waits for the count, and one that fails says nothing.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/fs/file_system.h"
#include "core/transfer/import_rules.h"

namespace cffs {

struct TransferAmount {
  // What a file takes besides its bytes, in bytes: of the time an import takes, small files are a matter of their number.
  static constexpr std::uint64_t kEachFile = 16 << 10;

  std::uint64_t files = 0;  // all that are no directories; 0: only the bytes are known
  std::uint64_t bytes = 0;
  std::uint64_t effort() const { return bytes + files * kEachFile; }
};

class AmountAhead {
 public:
  // Counts until `stop`; nullopt: it cannot be known.
  using Count = std::function<std::optional<TransferAmount>(const std::atomic<bool>& stop)>;

  explicit AmountAhead(Count count);
  ~AmountAhead();  // stops it
  AmountAhead(const AmountAhead&) = delete;
  AmountAhead& operator=(const AmountAhead&) = delete;

  // Once all has been counted.
  std::optional<TransferAmount> amount() const;

 private:
  std::atomic<bool> stop_{false};
  mutable Mutex mutex_;
  std::optional<TransferAmount> amount_ CFFS_GUARDED_BY(mutex_);
  std::thread thread_;  // none: the system had none to give
};

// Of what an import reads: directories, or archives, whose bytes are those of the files that they are. Of both together, and of standard
// input, nothing is known.
AmountAhead::Count count_sources(std::vector<std::string> sources, Excludes excludes);
// Of what an export reads: `path` in a store, which stays open.
AmountAhead::Count count_tree(FileSystem& fs, std::string path, Excludes excludes);

}  // namespace cffs
