#include "replay/replayer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "core/object/file_descriptor.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// Requests by thread, each in log order.
std::vector<std::vector<std::uint32_t>> deal(const DocumentTree& tree, unsigned threads) {
  std::vector<std::uint64_t> of_client(tree.clients());
  for (const DocumentRequest& request : tree.requests()) ++of_client[request.client];
  std::vector<std::uint32_t> clients(of_client.size());
  std::iota(clients.begin(), clients.end(), 0u);
  std::stable_sort(clients.begin(), clients.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return of_client[a] > of_client[b]; });
  std::vector<std::uint64_t> load(threads);
  std::vector<unsigned> thread_of(of_client.size());
  for (const std::uint32_t client : clients) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += of_client[client];
    thread_of[client] = static_cast<unsigned>(least - load.begin());
  }
  std::vector<std::vector<std::uint32_t>> dealt(threads);
  for (const DocumentRequest& request : tree.requests())
    dealt[thread_of[request.client]].push_back(request.file);
  return dealt;
}

}  // namespace

Result<std::uint64_t> DirectoryTarget::read(const std::string& path, std::string& buffer) {
  const std::string full = directory_ + "/" + path;
  const FileDescriptor fd(::open(full.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(errno, full);
  std::uint64_t bytes = 0;
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno, full);
    bytes += static_cast<std::uint64_t>(n);
    if (static_cast<std::size_t>(n) < buffer.size()) return bytes;
  }
}

Result<std::uint64_t> LibraryTarget::read(const std::string& path, std::string& buffer) {
  CFFS_TRY(Attributes at, fs_.lookup(kRootInode, "."));
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    auto next = fs_.lookup(at.ino, std::string_view(path).substr(from, slash - from));
    fs_.forget(at.ino, 1);
    if (!next) return fail(next.error());
    at = *next;
    from = slash + 1;
  }
  std::uint64_t bytes = 0;
  Status problem;
  while (bytes < at.size) {
    const auto n = fs_.read(at.ino, bytes, as_writable_bytes(buffer));
    if (!n) problem = fail(n.error());
    if (!n || *n == 0) break;
    bytes += *n;
  }
  fs_.forget(at.ino, 1);
  if (!problem) return fail(problem.error());
  return bytes;
}

ReplayReport replay(const DocumentTree& tree, ReadTarget& target, unsigned threads) {
  const auto dealt = deal(tree, std::max(1u, threads));
  std::vector<ReplayReport> reports(dealt.size());
  std::atomic<bool> go{false};
  std::vector<std::thread> players;
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    players.emplace_back([&, i] {
      ReplayReport& report = reports[i];
      std::string buffer(kReadBytes, '\0');
      while (!go.load()) std::this_thread::yield();
      for (const std::uint32_t file : dealt[i]) {
        const Document& document = tree.files()[file];
        const std::uint64_t start = now_ns();
        const auto bytes = target.read(document.path, buffer);
        report.latency.record(now_ns() - start);
        ++report.requests;
        if (!bytes) {
          ++report.failed;
          if (report.first_problem.empty()) report.first_problem = bytes.error().message();
          continue;
        }
        report.bytes += *bytes;
        if (*bytes != document.size) ++report.wrong_size;
      }
    });
  }
  const std::uint64_t start = now_ns();
  go.store(true);
  for (std::thread& player : players) player.join();
  ReplayReport total;
  total.seconds = static_cast<double>(now_ns() - start) / 1e9;
  for (ReplayReport& report : reports) {
    total.latency.merge(report.latency);
    total.requests += report.requests;
    total.bytes += report.bytes;
    total.failed += report.failed;
    total.wrong_size += report.wrong_size;
    if (total.first_problem.empty()) total.first_problem = report.first_problem;
  }
  return total;
}

}  // namespace cffs::replay
