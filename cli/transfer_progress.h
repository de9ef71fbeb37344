// How far an import or export is: files, bytes and their pace, and how long it takes yet once what is before it has been counted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cli/progress_line.h"
#include "core/transfer/amount_ahead.h"

namespace cffs::cli {

struct TransferDone {
  std::uint64_t files = 0, bytes = 0;        // that came
  std::uint64_t known = 0, known_bytes = 0;  // that were there already, or could not come
  std::uint64_t archive_bytes = 0;           // of archives that are read, as they lie
};

class TransferProgress {
 public:
  explicit TransferProgress(AmountAhead::Count count);

  // As often as anything happens, by one thread at a time.
  void show(const TransferDone& done);
  ProgressLine& line() { return line_; }

 private:
  WorkStep step(const TransferDone& done);

  const AmountAhead::Count count_;
  const std::int64_t began_ms_;
  std::optional<AmountAhead> ahead_;  // not of a short one: it would be over before it was counted
  ProgressLine line_;
};

}  // namespace cffs::cli
