#include "core/transfer/archive_form.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cffs {

Result<std::optional<ArchiveForm>> archive_form(const std::string& name) {
  using Format = ArchiveForm::Format;
  using Filter = ArchiveForm::Filter;
  if (name == "-") return ArchiveForm{};
  if (name.ends_with('/')) return std::optional<ArchiveForm>();
  struct Ending {
    std::string_view text;
    Filter filter;
  };
  static constexpr std::array kFilters = std::to_array<Ending>({{"", Filter::none},
                                                                {".gz", Filter::gzip},
                                                                {".bz2", Filter::bzip2},
                                                                {".xz", Filter::xz},
                                                                {".zst", Filter::zstd}});
  for (const auto& [ending, filter] : kFilters) {
    if (name.ends_with(".tar" + std::string(ending))) return ArchiveForm{Format::tar, filter};
    if (name.ends_with(".cpio" + std::string(ending))) return ArchiveForm{Format::cpio, filter};
  }
  static constexpr std::array kShort = std::to_array<Ending>(
      {{".tgz", Filter::gzip}, {".tbz2", Filter::bzip2}, {".txz", Filter::xz}, {".tzst", Filter::zstd}});
  for (const auto& [ending, filter] : kShort) {
    if (name.ends_with(ending)) return ArchiveForm{Format::tar, filter};
  }
  if (name.ends_with(".zip")) return ArchiveForm{Format::zip, Filter::none};
  static constexpr std::array kOthers = std::to_array<std::string_view>(
      {".7z",     ".rar",     ".iso",     ".lzh",   ".lha", ".cab",  ".ar",       ".xar",
       ".tar.lz", ".tar.lz4", ".tar.lzo", ".tar.Z", ".tlz", ".jar",  ".squashfs", ".sqfs",
       ".gz",     ".bz2",     ".xz",      ".zst",   ".lz4", ".lzma", ".Z"});
  const bool other = std::any_of(kOthers.begin(), kOthers.end(),
                                 [&](std::string_view ending) { return name.ends_with(ending); });
  if (other)
    return fail(
        Error::command_line(name +
                            ": archives are written as .tar or .cpio, plain or with .gz, .bz2, .xz or .zst, "
                            "and as .zip; for a directory of that name put a / behind it"));
  return std::optional<ArchiveForm>();
}

}  // namespace cffs
