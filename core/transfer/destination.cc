#include "core/transfer/destination.h"

#include <charconv>

namespace cffs {
namespace {

constexpr std::string_view kTemporary = ".cffs-import-";

}  // namespace

std::string Destination::temporary_name() {
  std::call_once(expected_, [this] { expect_temporaries(); });
  return std::string(kTemporary) + std::to_string(transfer_number()) + "-" +
         std::to_string(temporaries_.fetch_add(1));
}

// Just as they are made.
std::optional<std::uint64_t> Destination::transfer_of(std::string_view name) {
  if (!name.starts_with(kTemporary)) return std::nullopt;
  name.remove_prefix(kTemporary.size());
  const std::size_t dash = name.find('-');
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (dash == std::string_view::npos || !digits(name.substr(0, dash)) || !digits(name.substr(dash + 1)))
    return std::nullopt;
  std::uint64_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + dash, number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace cffs
