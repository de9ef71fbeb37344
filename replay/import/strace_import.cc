#include "replay/import/strace_import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "replay/import/strace_days.h"
#include "replay/logs/line_reader.h"
#include "replay/logs/line_sample.h"
#include "replay/logs/words.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kLinesShown = 5;

bool makes_process(std::string_view name) {
  return name == "clone" || name == "clone3" || name == "fork" || name == "vfork";
}

}  // namespace

StraceImporter::StraceImporter(TraceBuilder& builder, std::string directory, bool is_live)
    : builder_(builder),
      is_live_(is_live),
      files_([this](const OpenFile& file) {
        if (file.handle == kNoHandle) return;
        if (file.redirected) redirections_[{file.path, *file.redirected}].offset = file.offset;
        Operation o = begin(Call::close);
        o.handle = file.handle;
        emit(o);
      }),
      latest_directory_(std::move(directory)) {}

Operation StraceImporter::begin(Call call) const {
  Operation o;
  o.time_ns = time_ns_;
  o.client = builder_.trace().client(std::to_string(pid_));
  o.call = call;
  o.result = result_;
  if (line_ != nullptr) o.duration_ns = line_->duration_ns;
  return o;
}

StraceImporter::Process& StraceImporter::process(std::uint64_t pid) {
  Process& p = processes_[pid];
  if (p.known) return p;
  p.known = true;
  p.began = counts_.lines;
  // Its first line may come before the parent's clone returns: the parent is then one whose clone is not finished.
  for (auto& [parent, other] : processes_) {
    if (parent == pid || !other.forks) continue;
    p.announced = true;
    p.directory = std::make_shared<std::string>(*other.directory);
    files_.fork(parent, pid, other.unfinished.find("CLONE_FILES") != std::string::npos);
    Operation o = begin(Call::spawn);
    o.client = builder_.trace().client(std::to_string(parent));
    o.handle = builder_.trace().client(std::to_string(pid));
    o.result = 0;
    emit(o);
    other.forks = false;
    other.child = pid;
    return p;
  }
  p.directory = std::make_shared<std::string>(latest_directory_);
  return p;
}

std::string_view StraceImporter::argument(std::size_t index) const {
  return index < line_->arguments.size() ? line_->arguments[index] : std::string_view();
}

std::string StraceImporter::absolute(const StraceDescriptor& directory, const std::string& path) {
  // -y tells the working directory with AT_FDCWD: worth knowing for the calls that do not print it.
  if (directory.working_directory && directory.path.starts_with('/')) {
    *process(pid_).directory = latest_directory_ = directory.path;
  }
  if (path.starts_with('/')) return path;
  std::string from = directory.path;
  if (!from.starts_with('/') && !directory.working_directory && directory.number >= 0) {
    if (const auto file = files_.find(pid_, directory.number)) from = file->path;
  }
  if (!from.starts_with('/')) from = *process(pid_).directory;
  return from + "/" + path;
}

std::string StraceImporter::absolute_at(std::size_t directory_argument, std::size_t path_argument) {
  const auto path = quoted(argument(path_argument));
  return path ? absolute(descriptor_of(argument(directory_argument)), *path) : std::string();
}

std::string StraceImporter::absolute_argument(std::size_t index) {
  const auto path = quoted(argument(index));
  StraceDescriptor here;
  here.working_directory = true;
  return path ? absolute(here, *path) : std::string();
}

std::optional<PathId> StraceImporter::path_at(std::size_t directory_argument, std::size_t path_argument) {
  const std::string path = absolute_at(directory_argument, path_argument);
  return path.empty() ? std::optional<PathId>() : builder_.trace_path(path);
}

std::optional<PathId> StraceImporter::path_argument(std::size_t index) {
  const std::string path = absolute_argument(index);
  return path.empty() ? std::optional<PathId>() : builder_.trace_path(path);
}

std::shared_ptr<OpenFile> StraceImporter::known_file(const StraceDescriptor& d) {
  auto own = files_.find(pid_, d.number);
  const Process& self = process(pid_);
  if (self.announced || !d.path.starts_with('/')) return own;
  // Processes open the same files by the same numbers, each for itself.
  const bool same = own && own->path == d.path;
  if (same && (own->line == 0 || own->opener == pid_)) return own;
  const auto other = files_.elsewhere(pid_, d.number, d.path);
  if (!other.file || (same && own->line >= other.file->line)) return own;
  if (other.file->line > self.began) {
    files_.join(pid_, other.process);
    process(pid_).directory = process(other.process).directory;
  } else {
    files_.put(pid_, d.number, other.file, false);
  }
  return other.file;
}

void StraceImporter::opened_to_redirect(const OpenFile& file, std::uint32_t flags) {
  for (const bool writes : {false, true}) {
    const std::uint32_t other = writes ? O_RDONLY : O_WRONLY;
    if ((flags & O_ACCMODE) != other) redirections_[{file.path, writes}] = {{}, 0, file.appends};
  }
}

std::shared_ptr<OpenFile> StraceImporter::file_argument(std::size_t index, std::uint32_t flags_if_unseen) {
  const StraceDescriptor d = descriptor_of(argument(index));
  if (d.number < 0) return {};
  auto file = known_file(d);
  // What -y printed is the truth; a file that was renamed since it was opened is still the same file.
  if (file && (d.path.empty() || file->path == d.path || file->path.empty())) return file;
  if (!d.path.starts_with('/')) return file;
  const auto place = builder_.trace_path(d.path);
  if (file && file->handle != kNoHandle && (!place || builder_.is_open_on(file->handle, *place))) return file;
  Redirection* redirection = nullptr;
  const bool writes = d.number != STDIN_FILENO;
  if (d.number <= STDERR_FILENO && place) {
    redirection = &redirections_[{d.path, writes}];
    if (auto shared = redirection->file.lock()) {
      files_.put(pid_, d.number, shared, false);
      return shared;
    }
  }
  auto seen = std::make_shared<OpenFile>();
  seen->path = d.path;
  if (redirection != nullptr) {
    redirection->file = seen;
    seen->redirected = writes;
    seen->offset = redirection->offset;
    seen->appends = redirection->appends;
  }
  if (place) {
    Operation o = begin(Call::open);
    o.path = *place;
    o.flags = builder_.implied_flags(*place, flags_if_unseen);
    o.result = 0;
    o.handle = seen->handle = builder_.new_handle();
    emit(o);
  }
  files_.put(pid_, d.number, seen, false);
  return seen;
}

bool StraceImporter::target_path(Operation& o, std::optional<PathId> path) const {
  if (!path) {
    builder_.pass_over();
    return false;
  }
  o.path = *path;
  return true;
}

bool StraceImporter::target_file(Operation& o, const std::shared_ptr<OpenFile>& file) const {
  if (!file || file->handle == kNoHandle) {
    builder_.pass_over();
    return false;
  }
  o.handle = file->handle;
  return true;
}

void StraceImporter::line(const std::string& text, std::uint64_t of_file) {
  ++counts_.lines;
  if (text.empty()) return;
  auto parsed = parse_strace(text);
  if (!parsed) {
    ++counts_.malformed;
    if (counts_.samples.size() < kLinesShown)
      counts_.samples.push_back(fmt::format("line {}: {}", counts_.lines, line_sample(text)));
    return;
  }
  const std::uint64_t pid = parsed->process.value_or(of_file);
  pid_ = pid;
  line_ = nullptr;
  result_ = 0;
  // Apart from what begin() has of a resumed call, which is its first half's: times of -r go on from here.
  const std::int64_t now = time_ns_ = clock_.at(*parsed);
  Process& p = process(pid);
  switch (parsed->kind) {
    case StraceLine::Kind::call:
      call(pid, now, *parsed);
      break;
    case StraceLine::Kind::unfinished:
      p.unfinished = parsed->text;
      p.unfinished_ns = now;
      p.forks = makes_process(parsed->name);
      p.child = 0;
      break;
    case StraceLine::Kind::resumed: {
      if (p.unfinished.empty()) break;  // its first half was not recorded
      const std::string whole = std::exchange(p.unfinished, {}) + " " + std::string(parsed->text);
      StraceLine joined;
      if (parse_strace_call(whole, joined)) {
        call(pid, p.unfinished_ns, joined);
      } else {
        ++counts_.malformed;
        if (counts_.samples.size() < kLinesShown)
          counts_.samples.push_back(fmt::format("line {}: {}", counts_.lines, line_sample(whole)));
      }
      processes_[pid].forks = false;
      break;
    }
    case StraceLine::Kind::exited:
      ended(pid);
      break;
    case StraceLine::Kind::other:
      break;
  }
}

void StraceImporter::ended(std::uint64_t pid) {
  line_ = nullptr;
  result_ = 0;
  files_.exit(pid);
  processes_.erase(pid);
}

void StraceImporter::finish() {
  line_ = nullptr;
  result_ = 0;
  files_.exit_all();
}

Status import_strace(const std::vector<std::string>& names, TraceBuilder& builder, StraceCounts& counts,
                     const std::function<void(const StraceCounts&)>& progress) {
  struct Source {
    LineReader reader;
    std::uint64_t process = 0;
    std::string line;
    StraceClock clock;
    bool more = true;
  };
  StraceImporter importer(builder, builder.root());
  std::vector<Source> sources;
  CFFS_TRY(const std::vector<std::int64_t> later, days_later(names));
  for (const std::string& name : names) {
    CFFS_TRY(LineReader reader, LineReader::open(name));
    Source source{std::move(reader), 0, {}, {}, true};
    source.clock.begin_days_later(later[sources.size()]);
    (void)whole_number(std::string_view(name).substr(name.rfind('.') + 1), source.process);
    sources.push_back(std::move(source));
  }
  const auto advance = [&](Source& source) -> Status {
    CFFS_TRY(auto line, source.reader.next());
    source.more = line.has_value();
    if (!line) return {};
    source.line = std::move(*line);
    if (sources.size() > 1) {
      const auto parsed = parse_strace(source.line);
      if (parsed && parsed->relative) {
        return fail(
            Error::usage("times of strace -r, since the line before, do not tell how several files of -ff "
                         "belong together; record with -ttt"));
      }
      if (parsed) (void)source.clock.at(*parsed);
    }
    return {};
  };
  // Some recordings leave the ends of processes out; a process's last line is then the nearest thing to it.
  std::unordered_map<std::uint64_t, std::uint64_t> last_line;
  if (names.size() == 1 && names.front() != "-") {
    bool has_ends = false;
    CFFS_TRY_VOID(each_line(names.front(), [&](const std::string& line, std::uint64_t n) -> Status {
      if (!has_ends && line.find("+++ ") != std::string::npos) {  // a path may say that, too
        const auto parsed = parse_strace(line);
        has_ends = parsed && parsed->kind == StraceLine::Kind::exited;
      }
      std::uint64_t pid = 0;
      if (!has_ends && whole_number(std::string_view(line).substr(0, line.find(' ')), pid))
        last_line[pid] = n;
      return {};
    }));
    if (has_ends) last_line.clear();
  }
  for (Source& source : sources) CFFS_TRY_VOID(advance(source));
  for (;;) {
    Source* next = nullptr;
    for (Source& source : sources) {
      if (source.more && (next == nullptr || source.clock.now_ns() < next->clock.now_ns())) next = &source;
    }
    if (next == nullptr) break;
    importer.line(next->line, next->process);
    if (!last_line.empty()) {
      std::uint64_t pid = 0;
      const bool numbered = whole_number(std::string_view(next->line).substr(0, next->line.find(' ')), pid);
      if (numbered && last_line[pid] == importer.counts().lines) importer.ended(pid);
    }
    if (progress && importer.counts().lines % 65536 == 0) progress(importer.counts());
    CFFS_TRY_VOID(advance(*next));
  }
  importer.finish();
  counts = importer.counts();
  return {};
}

}  // namespace cffs::replay
