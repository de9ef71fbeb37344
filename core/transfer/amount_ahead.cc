#include "core/transfer/amount_ahead.h"

#include <fts.h>
#include <sys/stat.h>

#include <memory>
#include <string_view>

#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "core/transfer/export.h"
#include "core/transfer/tree_visit.h"

namespace cffs {
namespace {

void add(TransferAmount& amount, mode_t mode, std::uint64_t size) {
  ++amount.files;
  if (S_ISREG(mode)) amount.bytes += size;
}

// A name that vanishes, or a directory that may not be read, is the transfer's to tell of.
bool count_directory(std::string source, const Excludes& excludes, const std::atomic<bool>& stop,
                     TransferAmount& amount) {
  char* const roots[] = {source.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> tree(::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr),
                                                 ::fts_close);
  if (!tree) return false;
  while (FTSENT* const found = ::fts_read(tree.get())) {
    if (stop.load(std::memory_order_relaxed)) return false;
    if (found->fts_info == FTS_DP || found->fts_level == 0) continue;
    const bool is_directory = found->fts_info == FTS_D;
    if (!excludes.empty()) {
      std::string_view inside(found->fts_path, found->fts_pathlen);
      inside.remove_prefix(std::min(inside.size(), source.size()));
      while (inside.starts_with('/')) inside.remove_prefix(1);
      if (excludes.match(inside, is_directory)) {
        if (is_directory) (void)::fts_set(tree.get(), found, FTS_SKIP);
        continue;
      }
    }
    const bool is_file = found->fts_info == FTS_F || found->fts_info == FTS_SL ||
                         found->fts_info == FTS_SLNONE || found->fts_info == FTS_DEFAULT;
    if (is_file)
      add(amount, found->fts_statp->st_mode, static_cast<std::uint64_t>(found->fts_statp->st_size));
  }
  return true;
}

}  // namespace

AmountAhead::AmountAhead(Count count) {
  auto made = make_thread("the thread that counts what is to come", [this, counts = std::move(count)] {
    const auto counted = within_memory([&]() -> Result<TransferAmount> {
      const auto amount = counts(stop_);
      return amount ? Result<TransferAmount>(*amount) : fail(ECANCELED);
    });
    const MutexLock guard(mutex_);
    if (counted) amount_ = *counted;
  });
  if (made) thread_ = std::move(*made);
}

AmountAhead::~AmountAhead() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::optional<TransferAmount> AmountAhead::amount() const {
  const MutexLock guard(mutex_);
  return amount_;
}

AmountAhead::Count count_sources(std::vector<std::string> sources, Excludes excludes) {
  return [sources = std::move(sources),
          excludes = std::move(excludes)](const std::atomic<bool>& stop) -> std::optional<TransferAmount> {
    TransferAmount amount;
    std::size_t directories = 0;
    for (const std::string& source : sources) {
      struct stat st {};
      if (source == "-" || ::stat(source.c_str(), &st) != 0) return std::nullopt;
      if (S_ISDIR(st.st_mode)) {
        ++directories;
        if (!count_directory(source, excludes, stop, amount)) return std::nullopt;
      } else if (S_ISREG(st.st_mode)) {
        amount.bytes += static_cast<std::uint64_t>(st.st_size);
      } else {
        return std::nullopt;  // a pipe
      }
    }
    if (directories != 0 && directories != sources.size()) return std::nullopt;
    return amount;
  };
}

AmountAhead::Count count_tree(FileSystem& fs, std::string path, Excludes excludes) {
  return [&fs, path = std::move(path),
          excludes = std::move(excludes)](const std::atomic<bool>& stop) -> std::optional<TransferAmount> {
    const auto start = resolve(fs, path);
    if (!start) return std::nullopt;
    TransferAmount amount;
    VisitChoice choice;
    choice.excludes = &excludes;
    const auto enter = [&](const VisitedFile& file) -> Status {
      if (stop.load(std::memory_order_relaxed)) return fail(ECANCELED, "a count");
      if (!S_ISDIR(file.attributes.mode)) add(amount, file.attributes.mode, file.attributes.size);
      return {};
    };
    const auto leave = [](const VisitedFile&) -> Status { return {}; };
    const Status visited = visit_tree(fs, *start, enter, leave, choice);
    fs.forget(start->ino, 1);
    return visited ? std::optional(amount) : std::nullopt;
  };
}

}  // namespace cffs
