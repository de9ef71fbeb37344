#include "replay/import/calls_import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "replay/import/open_files.h"
#include "replay/logs/line_reader.h"
#include "replay/logs/line_sample.h"
#include "replay/logs/strace_line.h"
#include "replay/logs/words.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kCallsShown = 5;

template <std::size_t N>
bool split(std::string_view line, std::array<std::string_view, N>& columns, std::size_t required) {
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t tab = line.find('\t');
    columns[i] = line.substr(0, tab);
    if (tab == line.npos) {
      for (std::size_t rest = i + 1; rest < N; ++rest) columns[rest] = {};
      return i + 1 >= required;
    }
    line.remove_prefix(tab + 1);
  }
  return true;
}

class CallsImporter {
 public:
  CallsImporter(TraceBuilder& builder, CallsCounts& counts)
      : builder_(builder), counts_(counts), files_([this](const OpenFile& file) {
          if (file.handle == kNoHandle) return;
          Operation o = begin(Call::close);
          o.handle = file.handle;
          o.result = 0;
          builder_.add(o);
        }) {}

  bool line(std::string_view text, bool last_of_process);
  void finish() { files_.exit_all(); }
  static bool process_of(std::string_view text, std::uint64_t& pid) {
    const std::size_t tab = text.find('\t');
    if (tab == text.npos) return false;
    const std::string_view rest = text.substr(tab + 1);
    return whole_number(rest.substr(0, rest.find('\t')), pid);
  }

 private:
  Operation begin(Call call) {
    Operation o;
    o.time_ns = time_ns_;
    o.client = builder_.trace().client(std::to_string(pid_));
    o.call = call;
    o.result = result_;
    return o;
  }
  std::shared_ptr<OpenFile> file(std::uint32_t flags);
  void on_path(Call call, std::uint32_t mode = 0, std::uint32_t flags = 0, std::uint64_t length = 0);
  void on_file(Call call, std::uint64_t length = 0, std::uint32_t mode = 0);
  void two_paths(Call call);
  void open();
  void move(bool writes, std::optional<std::uint64_t> offset);
  void map();
  bool perform();
  std::uint64_t number(std::size_t column) const {
    std::uint64_t value = 0;
    (void)whole_number(column_[column], value);
    return value;
  }
  std::uint32_t octal(std::size_t column) const {
    std::uint32_t value = 0;
    (void)std::from_chars(column_[column].data(), column_[column].data() + column_[column].size(), value, 8);
    return value;
  }

  TraceBuilder& builder_;
  CallsCounts& counts_;
  OpenFiles files_;
  std::array<std::string_view, 9> column_;
  std::uint64_t pid_ = 0;
  std::int64_t time_ns_ = 0, result_ = 0, descriptor_ = -1;
};

std::shared_ptr<OpenFile> CallsImporter::file(std::uint32_t flags) {
  if (descriptor_ < 0) return {};
  const std::string path(column_[5]);
  auto known = files_.find(pid_, descriptor_);
  if (known && (known->path == path || path == "-")) return known;
  const auto place = builder_.trace_path(path);
  if (known && known->handle != kNoHandle && (!place || builder_.is_open_on(known->handle, *place)))
    return known;
  auto seen = std::make_shared<OpenFile>();
  seen->path = path;
  if (place && path.starts_with('/')) {
    Operation o = begin(Call::open);
    o.path = *place;
    o.flags = builder_.implied_flags(*place, flags);
    o.result = 0;
    o.handle = seen->handle = builder_.new_handle();
    builder_.add(o);
  }
  files_.put(pid_, descriptor_, seen, false);
  return seen;
}

void CallsImporter::on_path(Call call, std::uint32_t mode, std::uint32_t flags, std::uint64_t length) {
  const auto place = builder_.trace_path(std::string(column_[5]));
  if (!place) {
    builder_.pass_over();
    return;
  }
  Operation o = begin(call);
  o.path = *place;
  o.mode = mode;
  o.flags = flags;
  o.length = length;
  if (call == Call::symlink) o.path2 = builder_.trace().intern(std::string(column_[6]));
  builder_.add(o);
}

void CallsImporter::two_paths(Call call) {
  Operation o = begin(call);
  // The flags of renameat2 are not in there; only one of them explains this refusal.
  if (call == Call::rename && result_ == -EEXIST) o.flags = 1;
  if (builder_.place_two(o, std::string(column_[5]), std::string(column_[6]), {})) builder_.add(o);
}

void CallsImporter::on_file(Call call, std::uint64_t length, std::uint32_t mode) {
  const auto on = file(call == Call::truncate ? O_RDWR : O_RDONLY);
  if (!on || on->handle == kNoHandle) {
    builder_.pass_over();
    return;
  }
  Operation o = begin(call);
  o.handle = on->handle;
  o.length = length;
  o.mode = mode;
  if (call == Call::readdir) {
    if (on->listed) return;
    on->listed = true;
    o.result = std::min<std::int64_t>(o.result, 0);
  }
  builder_.add(o);
}

void CallsImporter::open() {
  Operation o = begin(Call::open);
  const std::string path(column_[5]);
  const auto place = builder_.trace_path(path);
  o.flags = open_flags(column_[7]);
  o.mode = octal(8);
  auto opened = std::make_shared<OpenFile>();
  opened->path = path;
  opened->appends = (o.flags & O_APPEND) != 0;
  if (place) {
    o.path = *place;
    if (result_ >= 0) {
      o.result = 0;
      o.handle = opened->handle = builder_.new_handle();
    }
    builder_.add(o);
  } else {
    builder_.pass_over();
  }
  if (result_ >= 0) files_.put(pid_, result_, opened, false);
}

void CallsImporter::move(bool writes, std::optional<std::uint64_t> offset) {
  const auto on = file(O_RDWR);
  if (!on || on->handle == kNoHandle) {
    builder_.pass_over();
    return;
  }
  const auto moved = static_cast<std::uint64_t>(std::max<std::int64_t>(result_, 0));
  Operation o = begin(writes ? Call::write : Call::read);
  o.handle = on->handle;
  o.length = moved;
  if (offset) {
    o.offset = *offset;
  } else {
    if (writes && on->appends) on->offset = builder_.size_of(on->handle);
    o.offset = on->offset;
    on->offset += moved;
  }
  // How much a read asked for is not in there: where it got nothing it had come to the end.
  if (!writes && result_ == 0) o.length = 1;
  builder_.add(o);
}

void CallsImporter::map() {
  const auto on = file(O_RDONLY);
  if (!on || on->handle == kNoHandle) return;
  Operation o = begin(Call::read);
  o.handle = on->handle;
  o.length = number(7);
  o.offset = number(8);
  const std::uint64_t size = builder_.size_of(on->handle);
  o.result = static_cast<std::int64_t>(o.offset < size ? std::min(o.length, size - o.offset) : 0);
  builder_.add(o);
}

bool CallsImporter::perform() {
  const std::string_view call = column_[2];
  if (call == "open") {
    open();
  } else if (call == "close") {
    if (result_ >= 0) files_.close(pid_, descriptor_, descriptor_);
  } else if (call == "read" || call == "write") {
    move(call == "write", {});
  } else if (call == "pread" || call == "pwrite") {
    move(call == "pwrite", number(7));
  } else if (call == "lseek") {
    if (const auto on = file(O_RDONLY)) {
      if (result_ >= 0) on->offset = static_cast<std::uint64_t>(result_);
      if (result_ == 0) on->listed = false;
    }
    ++counts_.passed_over;
  } else if (call == "mmap") {
    map();
  } else if (call == "stat" || call == "lstat") {
    const std::uint32_t kind = column_[8] == "d" ? S_IFDIR : column_[8] == "l" ? S_IFLNK : S_IFREG;
    on_path(Call::stat, result_ >= 0 ? kind : 0, call == "stat" ? 1 : 0, number(7));
  } else if (call == "fstat") {
    on_file(Call::stat, number(7), column_[8] == "d" ? S_IFDIR : S_IFREG);
  } else if (call == "readdir") {
    on_file(Call::readdir);
  } else if (call == "truncate") {
    on_path(Call::truncate, 0, 0, number(7));
  } else if (call == "ftruncate") {
    on_file(Call::truncate, number(7));
  } else if (call == "mkdir" || call == "chmod" || call == "access") {
    on_path(*call_of(call), octal(7));
  } else if (call == "fchmod") {
    on_file(Call::chmod, 0, octal(7));
  } else if (call == "rename" || call == "link") {
    two_paths(*call_of(call));
  } else if (call == "exec" || call == "execve") {
    on_path(Call::fetch);
  } else if (call == "utimens" || call == "chown" || call == "fsync" || call == "fdatasync") {
    descriptor_ >= 0 ? on_file(*call_of(call)) : on_path(*call_of(call));
  } else if (call == "readlink" || call == "rmdir" || call == "unlink" || call == "symlink") {
    on_path(*call_of(call));
  } else {
    return false;
  }
  return true;
}

bool CallsImporter::line(std::string_view text, bool last_of_process) {
  std::int64_t microseconds = 0;
  if (!split(text, column_, 9) || !whole_number(column_[0], microseconds) ||
      !whole_number(column_[1], pid_)) {
    return false;
  }
  if (column_[3].starts_with("-E")) {
    const int error = errno_of_name(column_[3].substr(1));
    result_ = error == 0 ? -EIO : -error;
  } else if (!whole_number(column_[3], result_)) {
    return false;
  }
  descriptor_ = -1;
  if (column_[4] != "-" && !whole_number(column_[4], descriptor_)) return false;
  time_ns_ = microseconds * 1000;
  if (!perform()) ++counts_.passed_over;
  result_ = 0;
  if (last_of_process) files_.exit(pid_);
  return true;
}

}  // namespace

Status import_calls(const std::string& name, TraceBuilder& builder, CallsCounts& counts,
                    const std::function<void(const CallsCounts&)>& progress) {
  // First which line is each process's last.
  std::unordered_map<std::uint64_t, std::uint64_t> last;
  CFFS_TRY_VOID(each_line(name, [&](const std::string& line, std::uint64_t n) -> Status {
    std::uint64_t pid = 0;
    if (CallsImporter::process_of(line, pid)) last[pid] = n;
    return {};
  }));
  CallsImporter importer(builder, counts);
  CFFS_TRY_VOID(each_line(name, [&](const std::string& line, std::uint64_t n) -> Status {
    counts.lines = n;
    if (progress && n % 65536 == 0) progress(counts);
    if (line.empty() || line.starts_with('#')) return {};
    std::uint64_t pid = 0;
    const bool ends = CallsImporter::process_of(line, pid) && last[pid] == n;
    if (importer.line(line, ends)) return {};
    ++counts.malformed;
    if (counts.samples.size() < kCallsShown)
      counts.samples.push_back(fmt::format("line {}: {}", n, line_sample(line)));
    return {};
  }));
  importer.finish();
  return {};
}

Result<std::vector<InitialEntry>> read_initial_tree(const std::string& name, TraceBuilder& builder) {
  std::vector<InitialEntry> entries;
  CFFS_TRY_VOID(each_line(name, [&](const std::string& line, std::uint64_t n) -> Status {
    if (line.empty() || line.starts_with('#')) return {};
    std::array<std::string_view, 5> column;
    InitialEntry entry;
    if (!split(std::string_view(line), column, 4) || column[0].size() != 1 ||
        std::string_view("fdl").find(column[0][0]) == std::string_view::npos ||
        !whole_number(column[2], entry.size)) {
      return fail(Error::usage(fmt::format(
          "{} line {}: '{}' is not \"type mode size path target\" with tabs between; type is f, d or l", name,
          n, line.substr(0, 80))));
    }
    entry.kind = column[0][0];
    (void)std::from_chars(column[1].data(), column[1].data() + column[1].size(), entry.mode, 8);
    if (entry.kind == 'l') entry.target = column[4];
    const auto place = builder.trace_path(std::string(column[3]));
    if (!place) return {};
    entry.path = *place;
    entries.push_back(std::move(entry));
    return {};
  }));
  return entries;
}

}  // namespace cffs::replay
