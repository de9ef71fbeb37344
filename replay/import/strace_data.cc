// Calls on open files: data, offsets, mappings, descriptors.
#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "replay/import/strace_calls.h"

namespace cffs::replay {
namespace {

std::uint64_t unsigned_of(std::int64_t n) { return static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0)); }

}  // namespace

void StraceCalls::move(std::size_t index, bool writes, std::uint64_t length,
                       std::optional<std::uint64_t> offset, bool at_end) {
  Operation o = in.begin(writes ? Call::write : Call::read);
  const auto file = in.file_argument(index, writes ? O_RDWR : O_RDONLY);
  if (!in.target_file(o, file)) return;
  const std::uint64_t moved = unsigned_of(in.result_);
  const bool appends = writes && (file->appends || at_end);
  o.offset = appends ? in.builder_.size_of(file->handle) : offset.value_or(file->offset);
  if (!offset) file->offset = o.offset + moved;
  o.length = std::max(length, moved);
  in.emit(o);
}

void StraceCalls::seek() {
  const auto file = in.file_argument(0, O_RDONLY);
  if (!file) return;
  if (in.result_ >= 0) file->offset = unsigned_of(in.result_);
  if (in.result_ == 0) file->listed = false;
  ++in.counts_.passed_over;
}

void StraceCalls::list() {
  Operation o = in.begin(Call::readdir);
  const auto file = in.file_argument(0, O_RDONLY | O_DIRECTORY);
  if (!in.target_file(o, file) || file->listed) return;  // one listing takes several calls
  file->listed = true;
  o.result = std::min<std::int64_t>(o.result, 0);
  in.emit(o);
}

void StraceCalls::map() {
  const std::string_view protection = argument(2);
  if (!holds(protection, "PROT_READ") && !holds(protection, "PROT_EXEC")) return;
  if (descriptor_of(argument(4)).number < 0 || holds(argument(3), "MAP_ANONYMOUS")) return;
  const bool failed = line.value().value_or(-1) < 0 && !line.result.starts_with("0x");
  const auto file = failed ? nullptr : in.file_argument(4, O_RDONLY);
  Operation o = in.begin(Call::read);
  if (!in.target_file(o, file)) return;
  o.offset = c_number(argument(5));
  o.length = c_number(argument(1));
  const std::uint64_t size = in.builder_.size_of(file->handle);
  o.result = static_cast<std::int64_t>(o.offset < size ? std::min(o.length, size - o.offset) : 0);
  in.emit(o);
}

void StraceCalls::close() {
  if (in.result_ < 0) return;
  const StraceDescriptor d = descriptor_of(argument(0));
  (void)in.known_file(d);  // which may be another thread's
  in.files_.close(in.pid_, d.number, d.number);
}

void StraceCalls::close_range() {
  if (in.result_ < 0) return;
  const auto last = std::min<std::uint64_t>(c_number(argument(1)), std::numeric_limits<std::int32_t>::max());
  const auto first = static_cast<std::int64_t>(c_number(argument(0)));
  if (holds(argument(2), "CLOSE_RANGE_CLOEXEC")) {
    for (std::int64_t n = first; n <= std::min<std::int64_t>(static_cast<std::int64_t>(last), first + 65536);
         ++n)
      in.files_.set_close_on_exec(in.pid_, n, true);
  } else {
    in.files_.close(in.pid_, first, static_cast<std::int64_t>(last));
  }
}

void StraceCalls::duplicate(bool close_on_exec) {
  if (in.result_ < 0) return;
  auto file = in.file_argument(0, O_RDWR);
  if (!file) file = std::make_shared<OpenFile>();
  if (descriptor_of(argument(0)).number != in.result_)
    in.files_.put(in.pid_, in.result_, std::move(file), close_on_exec);
}

void StraceCalls::control() {
  const std::string_view what = argument(1);
  if (what.starts_with("F_DUPFD")) {
    duplicate(what == "F_DUPFD_CLOEXEC");
  } else if (what == "F_SETFD") {
    in.files_.set_close_on_exec(in.pid_, descriptor_of(argument(0)).number, holds(argument(2), "FD_CLOEXEC"));
  } else if (what == "F_SETFL") {
    if (const auto file = in.file_argument(0, O_RDWR)) file->appends = holds(argument(2), "O_APPEND");
  }
}

void StraceCalls::allocate() {
  if (in.result_ < 0 || argument(1) != "0") return;
  const auto file = in.file_argument(0, O_WRONLY);
  Operation o = in.begin(Call::truncate);
  if (!in.target_file(o, file)) return;
  o.length = c_number(argument(2)) + c_number(argument(3));
  if (o.length > in.builder_.size_of(file->handle)) in.emit(o);
}

std::optional<std::uint64_t> StraceCalls::pointed(std::size_t index) const {
  const std::string_view text = argument(index);
  if (!text.starts_with('[')) return {};
  return c_number(text.substr(1, text.find(']') - 1));
}

void StraceCalls::copy(std::size_t from, std::size_t from_offset, std::size_t to, std::size_t to_offset) {
  if (in.result_ < 0) return;
  const auto n = unsigned_of(in.result_);
  move(from, false, n, pointed(from_offset));
  move(to, true, n, to_offset == 0 ? std::nullopt : pointed(to_offset));
}

bool StraceCalls::data(std::string_view n) {
  const auto number = [&](std::size_t i) { return c_number(argument(i)); };
  if (n == "read" || n == "write") {
    move(0, n == "write", number(2), {});
  } else if (n == "readv" || n == "writev") {
    move(0, n == "writev", 0, {});
  } else if (n == "pread64" || n == "pwrite64") {
    move(0, n == "pwrite64", number(2), number(3));
  } else if (n.starts_with("preadv") || n.starts_with("pwritev")) {
    // Of preadv2 and pwritev2, which move the file's own offset then.
    const bool own_offset = n.ends_with('2') && argument(3) == "-1";
    const std::size_t flags =
        line.arguments.size() - 1;  // a kernel of 64 bits is asked with one offset, another with two halves
    move(0, n.starts_with("pwritev"), 0, own_offset ? std::nullopt : std::optional(number(3)),
         n.ends_with('2') && holds(argument(flags), "RWF_APPEND"));
  } else if (n == "sendfile") {
    copy(1, 2, 0, 0);
  } else if (n == "copy_file_range") {
    copy(0, 1, 2, 3);
  } else if (n == "lseek" || n == "_llseek") {
    seek();
  } else if (n == "mmap") {
    map();
  } else if (n == "truncate") {
    Operation o = in.begin(Call::truncate);
    o.length = number(1);
    if (in.target_path(o, in.path_argument(0))) in.emit(o);
  } else if (n == "ftruncate") {
    on_file(Call::truncate, number(1));
  } else if (n == "fallocate") {
    allocate();
  } else if (n == "fsync") {
    on_file(Call::fsync);
  } else if (n == "fdatasync") {
    on_file(Call::fdatasync);
  } else if (n == "sync" || n == "syncfs") {
    in.emit(in.begin(Call::sync));
  } else if (n == "close") {
    close();
  } else if (n == "close_range") {
    close_range();
  } else if (n == "dup" || n == "dup2") {
    duplicate(false);
  } else if (n == "dup3") {
    duplicate(holds(argument(2), "O_CLOEXEC"));
  } else if (n == "fcntl" || n == "fcntl64") {
    control();
  } else {
    return false;
  }
  return true;
}

}  // namespace cffs::replay
