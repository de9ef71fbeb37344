#include "core/advise/import_trial.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <unordered_map>

#include "core/advise/surveyed_content.h"
#include "core/base/clock.h"
#include "core/object/memory_store.h"
#include "core/transfer/import_target.h"

namespace cffs {
namespace {

constexpr std::uint64_t kLeastTried = 1u << 20;  // bytes that tell something

Inode as_imported(mode_t mode) {
  Inode inode;
  inode.mode = mode;
  inode.atime_ns = inode.mtime_ns = inode.ctime_ns = inode.btime_ns = 1'700'000'000'000'000'123;
  return inode;
}

class ImportTrial {
 public:
  ImportTrial(const TreeSurvey& survey, const ContentSample& sample, const ImportTrialOptions& options,
              int root)
      : survey_(survey), sample_(sample), options_(options), content_(root) {}

  Result<ImportPace> run(const Compression& how) const {
    MemoryStore objects;
    CFFS_TRY_VOID(FileSystem::format(objects, usual_format(how), SystemClock()));
    FileSystemOptions options;
    options.background = false;
    CFFS_TRY(const auto fs, FileSystem::open(objects, options));
    ImportPace pace{how, 0, 0};
    const auto began = std::chrono::steady_clock::now();
    const auto passed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    {
      ImportTarget target(*fs, options_.jobs, {});
      std::unordered_map<std::uint64_t, InodeId> made;
      for (const auto& members : sample_.drawn) {
        if (pace.bytes >= options_.bytes || passed() > options_.seconds || !options_.go_on()) break;
        CFFS_TRY_VOID(give(target, members, made, pace));
      }
      CFFS_TRY(const ImportReport report, target.finish());
      if (report.bytes < kLeastTried) return fail(Error::usage("too little to tell"));
    }
    pace.seconds_a_byte = passed() / static_cast<double>(pace.bytes);
    CFFS_TRY_VOID(fs->close());
    return pace;
  }

 private:
  Status give(ImportTarget& target, const std::vector<OutlinedFile>& members,
              std::unordered_map<std::uint64_t, InodeId>& made, ImportPace& pace) const {
    std::optional<std::uint64_t> last;
    for (const OutlinedFile& f : members) {
      const SurveyedDirectory& in = survey_.directories[f.parent.value];
      auto directory = made.find(f.parent.value);
      if (directory == made.end()) {
        CFFS_TRY(const InodeId ino,
                 target.directory(kRootInode, std::to_string(f.parent.value), as_imported(S_IFDIR | 0755)));
        directory = made.emplace(f.parent.value, ino).first;
      }
      if (last && *last != f.parent.value) target.files_complete(made.at(*last));
      last = f.parent.value;
      const std::string folder = survey_.path_of(static_cast<std::uint32_t>(f.parent.value));
      std::string name(in.name_of(in.files[f.index]));
      Inode attributes = as_imported(S_IFREG | 0644);
      attributes.size = f.size;
      auto read = [this, path = folder.empty() ? name : folder + "/" + name,
                   size = f.size](Inode&) -> Result<std::string> {
        auto content = content_.read(path, 0, size);
        if (!content) return fail(ENOENT, path);
        return std::move(*content);
      };
      if (f.size > target.small_limit()) continue;  // a blob, in this store
      pace.bytes += f.size + record_overhead(f.size, name.size());
      target.small_file(directory->second, std::move(name), std::move(attributes), std::move(read));
    }
    if (last) target.files_complete(made.at(*last));
    return {};
  }

  const TreeSurvey& survey_;
  const ContentSample& sample_;
  const ImportTrialOptions& options_;
  const SurveyedContent content_;
};

}  // namespace

std::vector<ImportPace> try_imports(const TreeSurvey& survey, const ContentSample& sample,
                                    const std::vector<Compression>& ways, const ImportTrialOptions& options) {
  std::vector<ImportPace> paces;
  const FileDescriptor root(::open(survey.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return paces;
  const ImportTrial trial(survey, sample, options, root.get());
  for (const Compression& how : ways) {
    if (!options.go_on()) break;
    if (auto pace = trial.run(how)) paces.push_back(*pace);
  }
  return paces;
}

}  // namespace cffs
