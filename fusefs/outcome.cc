#include "fusefs/outcome.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/within_memory.h"
#include "fusefs/process_list.h"

namespace cffs {
namespace {

constexpr const char* kOutcomeName = "cffs-outcome";
constexpr std::string_view kMemoryShown = "/memfd:cffs-outcome";
constexpr std::string_view kStoreClosed = "closed", kClosingFailed = "failed ";
constexpr std::size_t kLongestOutcome = 4096;

FileDescriptor outcome_of(pid_t process) {
  if (process <= 0) return {};
  for (const std::string& fd : names_in(of_process(process, "fd"))) {
    const std::string link = of_process(process, "fd/" + fd);
    if (!target_of(link).starts_with(kMemoryShown)) continue;
    // Another's process may have what looks so, a pipe for which nobody writes.
    FileDescriptor memory(::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat st;
    if (memory && ::fstat(memory.get(), &st) == 0 && S_ISREG(st.st_mode)) return memory;
  }
  return {};
}

}  // namespace

Outcome::Outcome() : memory_(::memfd_create(kOutcomeName, MFD_CLOEXEC)) {}

void Outcome::tell(const Status& closed) {
  if (told_ || !memory_) return;
  told_ = true;
  const std::string why = closed ? std::string() : message_within_memory(closed.error());
  const std::string_view first = closed ? kStoreClosed : kClosingFailed;
  // The first word last: who reads meanwhile has been told nothing.
  (void)!::pwrite(memory_.get(), why.data(), std::min(why.size(), kLongestOutcome - first.size()),
                  static_cast<off_t>(first.size()));
  (void)!::pwrite(memory_.get(), first.data(), first.size(), 0);
}

SeenOutcome::SeenOutcome(pid_t process) : memory_(outcome_of(process)) {}

std::optional<Status> SeenOutcome::outcome() const {
  if (!memory_) return {};
  std::array<char, kLongestOutcome> bytes{};
  const ssize_t n = ::pread(memory_.get(), bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  if (text.starts_with(kStoreClosed)) return Status();
  if (!text.starts_with(kClosingFailed)) return {};
  return Status(fail(Error::usage(std::string(text.substr(kClosingFailed.size())))));
}

}  // namespace cffs
