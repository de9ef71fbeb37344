// Postmark (Katcher 1997), as TableFS §4.8 runs it: small files of random sizes, transactions on them, their removal.
#include <fcntl.h>
#include <fmt/format.h>

#include <random>

#include "bench/suite/session.h"

namespace cffs::bench {
namespace {

class Postmark {
 public:
  Postmark(Session& session, Rig& rig)
      : session_(session),
        target_(rig.target()),
        rig_(rig),
        random_(session.seed()),
        smallest_(session.number("smallest")),
        largest_(session.number("largest")),
        data_(std::max({largest_, smallest_, std::uint64_t{1}}), 'p'),
        buffer_(std::max<std::uint64_t>(2 * largest_, 4096), '\0') {}

  Status run() {
    if (smallest_ > largest_)
      return fail(Error::command_line("--smallest is more than --largest: no file has such a size"));
    {
      Phase phase(session_, rig_, "create");
      for (std::uint64_t d = 0; d < session_.number("directories"); ++d)
        CFFS_TRY_VOID(must(target_.mkdir(fmt::format("s{}", d), 0755), "subdirectory"));
      for (std::uint64_t i = 0; i < session_.number("files"); ++i) CFFS_TRY_VOID(create(phase.lane()));
      phase.finish();
    }
    {
      Phase phase(session_, rig_, "transactions");
      for (std::uint64_t i = 0; i < session_.number("transactions"); ++i)
        CFFS_TRY_VOID(transaction(phase.lane()));
      phase.finish(session_.number("transactions"));
    }
    Phase phase(session_, rig_, "delete");
    while (!files_.empty()) CFFS_TRY_VOID(remove(phase.lane(), files_.size() - 1));
    phase.finish();
    return {};
  }

 private:
  struct File {
    std::string path;
    std::uint64_t size;
  };
  std::uint64_t size() { return smallest_ + random_() % (largest_ - smallest_ + 1); }

  Status create(Lane& lane) {
    const std::uint64_t directories = session_.number("directories");
    const std::string path = directories == 0 ? fmt::format("m{}", next_++)
                                              : fmt::format("s{}/m{}", random_() % directories, next_++);
    const std::span<const char> data(data_.data(), size());
    CFFS_TRY_VOID(must(lane.time("create", [&] { return make_file(target_, path, data); }), path));
    files_.push_back({path, data.size()});
    return {};
  }
  Status remove(Lane& lane, std::size_t index) {
    const std::string path = files_[index].path;
    files_[index] = files_.back();
    files_.pop_back();
    return must(lane.time("delete", [&] { return target_.unlink(path); }), path);
  }
  Status read(Lane& lane, const File& of) {
    return must(lane.time("read",
                          [&] {
                            const std::int64_t file = target_.open(of.path, O_RDONLY, 0);
                            if (file < 0) return file;
                            std::int64_t n = 0;
                            std::uint64_t at = 0;
                            while ((n = target_.read(file, at, buffer_)) > 0)
                              at += static_cast<std::uint64_t>(n);
                            (void)target_.close(file);
                            return n < 0 || at == of.size ? n : -EIO;
                          }),
                of.path);
  }
  Status append(Lane& lane, File& of) {
    const std::span<const char> data(data_.data(), size());
    CFFS_TRY_VOID(must(lane.time("append",
                                 [&] {
                                   const std::int64_t file = target_.open(of.path, O_WRONLY, 0);
                                   if (file < 0) return file;
                                   replay::FileFacts facts;
                                   std::int64_t n = target_.stat(file, facts);
                                   if (n >= 0) n = whole(target_.write(file, facts.size, data), data.size());
                                   (void)target_.close(file);
                                   return n;
                                 }),
                       of.path));
    of.size += data.size();
    return {};
  }
  // Two halves: a read or an append, and a create or a delete, with equal chances.
  Status transaction(Lane& lane) {
    if (!files_.empty()) {
      File& of = files_[random_() % files_.size()];
      CFFS_TRY_VOID((random_() & 1) != 0 ? read(lane, of) : append(lane, of));
    }
    if (files_.empty() || (random_() & 1) != 0) return create(lane);
    return remove(lane, random_() % files_.size());
  }

  Session& session_;
  replay::Target& target_;
  Rig& rig_;
  std::mt19937_64 random_;
  const std::uint64_t smallest_, largest_;
  const std::string data_;
  std::string buffer_;
  std::vector<File> files_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::vector<Benchmark> mail_benchmarks() {
  Benchmark b;
  b.name = "postmark";
  b.title = "a mail or news server: small files created, read, appended to, deleted";
  b.source = "TableFS report, Fig. 19-20 (1500 MB memory)";
  b.parameters = {{"files", "at the start", "100", "10000", "1000000"},
                  {"transactions", "how many", "200", "20000", "2000000"},
                  {"smallest", "bytes of a file", "512", "512", "512"},
                  {"largest", "bytes of a file", "4096", "4096", "4096"},
                  {"directories", "subdirectories; 0: none", "0", "0", "0"}};
  b.targets = {"ext4", "xfs", "btrfs", "passthrough", "none", "directory", "library"};
  b.run = [](Session& session, Rig& rig) { return Postmark(session, rig).run(); };
  b.paper_memory = {1500u << 20};
  return {b};
}

}  // namespace cffs::bench
