#include "cli/human_bytes.h"

#include <fmt/format.h>

namespace cffs::cli {

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  const double b = static_cast<double>(bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} KB", b / 1e3);
  if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", b / 1e6);
  return fmt::format("{:.1f} GB", b / 1e9);
}

}  // namespace cffs::cli
