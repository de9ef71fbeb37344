#include <archive.h>
#include <archive_entry.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/fs/acl.h"
#include "core/transfer/archive_acls.h"
#include "core/transfer/data_runs.h"
#include "core/transfer/export.h"
#include "core/transfer/tree_visit.h"
#include "core/transfer/utf8_locale.h"
#include "core/transfer/whole_file.h"

namespace cffs {
namespace {

void choose_form(archive* a, const ArchiveForm& form) {
  using Format = ArchiveForm::Format;
  using Filter = ArchiveForm::Filter;
  if (form.format == Format::tar) {
    archive_write_set_format_pax(a);
    // The other header that libarchive can write for an attribute is its own alone, and the same once more.
    archive_write_set_format_option(a, "pax", "xattrheader", "SCHILY");
  }
  if (form.format == Format::cpio) archive_write_set_format_cpio_newc(a);
  if (form.format == Format::zip) archive_write_set_format_zip(a);
  if (form.filter == Filter::gzip) archive_write_add_filter_gzip(a);
  if (form.filter == Filter::bzip2) archive_write_add_filter_bzip2(a);
  if (form.filter == Filter::xz) archive_write_add_filter_xz(a);
  if (form.filter == Filter::zstd) archive_write_add_filter_zstd(a);
}

constexpr std::size_t kMostRuns = 65536;
// Zips and cpios have 32 bits for the seconds since 1970; what libarchive writes of others is a time in another century.
constexpr time_t kLastSecond = 0xffffffff;

// A zip or cpio has holes as zeros: a file that is little else would never come to an end.
Result<bool> is_mostly_hole(FileSystem& fs, const Attributes& file) {
  constexpr std::uint64_t kSmall = std::uint64_t{64} << 30;
  if (!S_ISREG(file.mode) || file.size <= kSmall) return false;
  CFFS_TRY(const auto runs, data_runs(fs, file, kMostRuns));
  std::uint64_t data = 0;
  for (const DataRun& run : runs) data += run.bytes;
  return file.size - data > kSmall;
}

// In a tar they are a list in front of the data, which readers hold in memory; what is damaged has none, and is told of when it is read.
// Returns where the last data ends.
std::optional<std::uint64_t> add_holes(FileSystem& fs, const Attributes& file, archive_entry* entry) {
  const auto runs = data_runs(fs, file, kMostRuns);
  if (!runs || file.size == 0) return std::nullopt;
  if (runs->size() == 1 && runs->front().bytes == file.size) return std::nullopt;
  for (const DataRun& run : *runs)
    archive_entry_sparse_add_entry(entry, static_cast<la_int64_t>(run.offset),
                                   static_cast<la_int64_t>(run.bytes));
  if (runs->empty()) archive_entry_sparse_add_entry(entry, static_cast<la_int64_t>(file.size), 0);
  // One byte at least: with the first of them the map is written.
  return runs->empty() ? 1 : runs->back().offset + runs->back().bytes;
}

// What tells of holes in a tar has the name that libarchive made for a plain header: where none can have the whole name it has left out
// the middle by then, and readers believe it.
bool may_have_holes(std::string_view name) {
  constexpr std::size_t kName = 100, kPrefix = 155;
  if (name.size() < kName) return true;
  const auto is_ascii = [](char c) { return static_cast<signed char>(c) >= 0; };
  if (!std::all_of(name.begin(), name.end(), is_ascii)) return false;
  if (name.size() == kName) return true;
  const std::size_t split = name.find('/', name.size() - kName - 1);
  return split != std::string_view::npos && split != 0 && split + 1 < name.size() && split <= kPrefix;
}

// Memory for as many zeros as are never looked at: of what a list says is a hole libarchive counts the bytes, and reads none.
class Zeros {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 30;
  Zeros() : at_(::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() {
    if (at_ != MAP_FAILED) ::munmap(at_, kBytes);
  }
  // At a time.
  std::string_view some(bool in_holes) const {
    return at_ != MAP_FAILED
               ? std::string_view(static_cast<const char*>(at_), in_holes ? kBytes : few_.size())
               : std::string_view(few_);
  }

 private:
  const std::string few_ = std::string(64 * 1024, '\0');
  void* const at_;
};

// In a tar a fraction is on the side of its seconds that is away from 1970, as POSIX reads it (archive_import.cc has the other way). In the last
// second before that libarchive would lose the sign, so there is none.
std::pair<time_t, long> time_parts(std::int64_t ns, bool is_tar) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t floor = ns / kSecond - (ns % kSecond < 0 ? 1 : 0);
  const auto above = static_cast<long>(ns - floor * kSecond);
  if (!is_tar || floor >= 0 || above == 0) return {floor, above};
  return floor == -1 ? std::pair<time_t, long>{floor, 0}
                     : std::pair<time_t, long>{floor + 1, kSecond - above};
}

}  // namespace

Result<ExportReport> export_archive(FileSystem& fs, const std::string& path, const std::string& destination,
                                    const ArchiveForm& form, const ImportRules& rules,
                                    const ExportProgress& on_progress) {
  CFFS_TRY(const Attributes start, resolve(fs, path));
  const std::unique_ptr<archive, int (*)(archive*)> a(archive_write_new(), archive_write_free);
  choose_form(a.get(), form);
  const auto problem = [&] {
    const std::string text = archive_error_string(a.get());
    const int reason = archive_errno(a.get());
    if (text == "Write error" && reason > 0) return fail(reason, destination);
    return fail(Error::usage(destination + ": " + text));
  };
  std::optional<WholeFile> file_made;
  if (destination != "-") {
    auto made = WholeFile::create(destination);
    if (!made) return fail(made.error());
    file_made.emplace(std::move(*made));
  }
  if (archive_write_open_fd(a.get(), file_made ? file_made->fd() : STDOUT_FILENO) != ARCHIVE_OK)
    return problem();
  ExportReport report;
  std::unordered_map<InodeId, std::string> first_names;
  std::unordered_set<InodeId> not_whole;  // of these
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  const Zeros zeros;
  const auto go_on = [&rules] { return rules.is_to_stop() ? Status(fail(EINTR)) : Status(); };
  const auto enter = [&](const VisitedFile& file) -> Status {
    CFFS_TRY_VOID(go_on());
    const Attributes& f = file.attributes;
    // What reads zips takes no name for another that is written differently.
    const bool is_zip = form.format == ArchiveForm::Format::zip;
    if (is_zip && file.path.empty()) return {};
    const std::string name = (is_zip ? "" : "./") + file.path;
    archive_entry* e = archive_entry_clear(entry.get());
    archive_entry_copy_pathname(e, name.c_str());
    archive_entry_set_mode(e, f.mode);
    archive_entry_set_uid(e, f.uid);
    archive_entry_set_gid(e, f.gid);
    const bool is_tar = form.format == ArchiveForm::Format::tar;
    const auto [seconds, nanoseconds] = time_parts(f.mtime_ns, is_tar);
    const time_t as_kept = is_tar ? seconds : std::clamp<time_t>(seconds, 0, kLastSecond);
    archive_entry_set_mtime(e, as_kept, nanoseconds);
    archive_entry_set_rdev(e, f.rdev);
    archive_entry_set_size(e, 0);
    CFFS_TRY(const auto names, fs.listxattr(f.ino));
    const bool loses_attributes = !form.has_xattrs() && !names.empty();
    for (const std::string& x : names) {
      if (!form.has_xattrs() && !is_acl(x)) continue;  // a list changes the mode in every format
      CFFS_TRY(const std::string value, fs.getxattr(f.ino, x));
      if (is_acl(x)) {
        const auto says_all = add_acl(e, x, value);
        if (!says_all) archive_entry_set_mode(e, mode_without_acl(f.mode, value));
        if (!form.has_xattrs() || says_all.value_or(false)) continue;
      }
      archive_entry_xattr_add_entry(e, x.c_str(), value.data(), value.size());
    }
    const bool has_holes = form.has_holes() && may_have_holes(name);
    if (!has_holes) {
      CFFS_TRY(const bool mostly_hole, is_mostly_hole(fs, f));
      if (mostly_hole) {
        report.fail("'" + file.path +
                    "' has more than 64 GiB of holes, which this kind of archive would hold as zeros, as a "
                    "tar does of a "
                    "name of more than 100 bytes: it was left out; export to a directory keeps it");
        return {};
      }
    }
    bool has_data = S_ISREG(f.mode);
    std::uint64_t& counter = S_ISDIR(f.mode) ? report.directories : report.files;
    if (f.nlink > 1 && !S_ISDIR(f.mode) && form.has_hard_links()) {
      const auto [it, first] = first_names.try_emplace(f.ino, name);
      if (!first) {
        archive_entry_copy_hardlink(e, it->second.c_str());
        has_data = false;
      }
    }
    if (S_ISLNK(f.mode)) {
      CFFS_TRY(const std::string target, fs.readlink(f.ino));
      archive_entry_copy_symlink(e, target.c_str());
    }
    std::optional<std::uint64_t> data_end;  // of a file with holes
    if (has_data) {
      archive_entry_set_size(e, static_cast<la_int64_t>(f.size));
      if (has_holes) data_end = add_holes(fs, f, e);
    }
    std::optional<Utf8Locale> marked;
    if (is_zip && Utf8Locale::has(name)) marked.emplace();
    const int header = archive_write_header(a.get(), e);
    marked.reset();
    if (header == ARCHIVE_FAILED) {  // this format cannot have it; the others are not its fault
      if (const auto it = first_names.find(f.ino); it != first_names.end() && it->second == name)
        first_names.erase(it);  // another name's turn
      std::string_view reason = archive_error_string(a.get());
      if (reason.starts_with(name + ": ")) reason.remove_prefix(name.size() + 2);
      report.fail("'" + file.path + "': " + std::string(reason) + "; it was left out");
      return {};
    }
    if (header < ARCHIVE_WARN) return problem();
    report.times_changed += as_kept != seconds ? 1 : 0;
    report.attributes_lost += loses_attributes ? 1 : 0;
    if (!has_data && S_ISREG(f.mode) && not_whole.contains(f.ino)) {
      report.fail("'" + file.path + "': it is '" + first_names.at(f.ino).substr(2) + "', which is not whole");
      return {};
    }
    if (!has_data) {
      if (!file.path.empty()) ++counter;  // the root is what they come into
      return {};
    }
    std::uint64_t written = 0;
    const auto fill = [&](std::uint64_t to) -> Status {
      const std::string_view some = zeros.some(data_end.has_value());
      while (written < to) {
        CFFS_TRY_VOID(go_on());
        const std::size_t n = std::min<std::uint64_t>(some.size(), to - written);
        if (archive_write_data(a.get(), some.data(), n) < 0) return problem();
        written += n;
      }
      return {};
    };
    Status written_out;  // what became of the archive; the file's own damage is its alone
    const Status read = visit_data(fs, f, [&](std::uint64_t offset, std::string_view bytes) -> Status {
      written_out = go_on();
      if (written_out) written_out = fill(offset);
      if (written_out && archive_write_data(a.get(), bytes.data(), bytes.size()) < 0) written_out = problem();
      written += bytes.size();
      return written_out;
    });
    if (written_out) written_out = fill(data_end.value_or(f.size));
    if (!written_out) return written_out;
    if (!read) {
      if (f.nlink > 1) not_whole.insert(f.ino);
      report.fail("'" + file.path + "': " + read.error().message() + "; the archive has zeros in its place");
      return {};
    }
    ++counter;
    report.bytes += f.size;
    if (on_progress) on_progress(report);
    return {};
  };
  VisitChoice choice;
  choice.excludes = &rules.excludes;
  const Status done = visit_tree(
      fs, start, enter, [](const VisitedFile&) -> Status { return {}; }, choice);
  fs.forget(start.ino, 1);
  if (!done) {
    archive_write_fail(a.get());  // no end that would look like that of a whole archive
    if (rules.is_to_stop()) {
      report.interrupted = true;
      return report;
    }
    return fail(done.error());
  }
  if (archive_write_close(a.get()) != ARCHIVE_OK) return problem();
  if (file_made) {
    CFFS_TRY_VOID(file_made->finish());
  }
  return report;
}

}  // namespace cffs
