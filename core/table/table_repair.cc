#include "core/table/table_repair.h"

#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/table.h>

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/base/undisturbed.h"
#include "core/object/what_can_be_read.h"
#include "core/table/table_files.h"
#include "core/table/table_reads.h"
#include "core/table/whole_blocks.h"

namespace cffs {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr const char* kUnmerged = "table.unmerged";
constexpr std::string_view kPassedOver = ".dbtmp";  // of what LevelDB takes for half written
constexpr std::string_view kMadeEnding = ".whole";  // what is to take a table file's place

std::string aside(const char* folder, const std::string& name) {
  return std::string(folder) + "/lost" + name.substr(name.rfind('/'));
}

// LevelDB passes over what it could not read or write, and the manifest that it makes in the end says that there was no more.
class Course {
 public:
  // Why nothing may take the place of anything any more.
  const leveldb::Status& stopped() const { return stopped_; }
  leveldb::Status read(leveldb::Status status) {
    if (!status.ok() && !status.IsNotFound() && read_error(status).kind != ErrorKind::corruption)
      stop(status);
    return status;
  }
  leveldb::Status written(leveldb::Status status) {
    if (!status.ok()) stop(status);
    return status;
  }

  // LevelDB reads a damaged table file once for the bounds of its keys and again for its rows. What fails the first time and comes the
  // second would be rows beyond the bounds, which nobody finds (or an assertion, where it was all of them): so it fails again.
  leveldb::Status read(leveldb::Status status, const std::string& name, std::uint64_t at) {
    if (!status.ok()) gone_.emplace(name, at);
    return read(std::move(status));
  }
  bool is_gone(const std::string& name, std::uint64_t at) const { return gone_.contains({name, at}); }
  static leveldb::Status gone_before(const std::string& name) {
    return leveldb::Status::IOError(name, "could not be read before");
  }
  // Another file takes the name.
  void forget(const std::string& name) {
    std::erase_if(gone_, [&](const auto& where) { return where.first == name; });
  }

 private:
  void stop(const leveldb::Status& why) {
    if (stopped_.ok()) stopped_ = why;
  }

  leveldb::Status stopped_;
  std::set<std::pair<std::string, std::uint64_t>> gone_;  // files, and where in them a read failed
};

class SequentialInRepair final : public leveldb::SequentialFile {
 public:
  SequentialInRepair(std::unique_ptr<leveldb::SequentialFile> file, Course& course)
      : file_(std::move(file)), course_(course) {}
  leveldb::Status Read(std::size_t n, leveldb::Slice* result, char* scratch) override {
    return course_.read(file_->Read(n, result, scratch));
  }
  leveldb::Status Skip(std::uint64_t n) override { return file_->Skip(n); }

 private:
  const std::unique_ptr<leveldb::SequentialFile> file_;
  Course& course_;
};

class RandomAccessInRepair final : public leveldb::RandomAccessFile {
 public:
  RandomAccessInRepair(std::string name, std::unique_ptr<leveldb::RandomAccessFile> file, Course& course)
      : name_(std::move(name)), file_(std::move(file)), course_(course) {}
  leveldb::Status Read(std::uint64_t offset, std::size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    if (course_.is_gone(name_, offset)) return Course::gone_before(name_);
    return course_.read(file_->Read(offset, n, result, scratch), name_, offset);
  }

 private:
  const std::string name_;
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  Course& course_;
};

// Durable when it is closed: LevelDB's repair syncs neither the tables nor the manifest that it writes.
class WritableInRepair final : public leveldb::WritableFile {
 public:
  WritableInRepair(std::unique_ptr<leveldb::WritableFile> file, Course& course)
      : file_(std::move(file)), course_(course) {}
  leveldb::Status Append(const leveldb::Slice& data) override { return course_.written(file_->Append(data)); }
  leveldb::Status Flush() override { return course_.written(file_->Flush()); }
  leveldb::Status Sync() override { return course_.written(file_->Sync()); }
  leveldb::Status Close() override {
    if (auto s = Sync(); !s.ok()) return s;
    return course_.written(file_->Close());
  }

 private:
  const std::unique_ptr<leveldb::WritableFile> file_;
  Course& course_;
};

// A file that LevelDB puts aside stays until another takes its name, or until all is done: what was read of it is not whole before.
class EnvInRepair final : public leveldb::EnvWrapper {
 public:
  EnvInRepair(leveldb::Env& env, ObjectStore& store, const std::optional<TableParts>& parts)
      : EnvWrapper(&env), store_(store), parts_(parts) {}

  // What is no part of the table is shown as a name that LevelDB does not read, with a number that it does not give again.
  leveldb::Status GetChildren(const std::string& folder, std::vector<std::string>* names) override {
    const leveldb::Status status = course_.read(target()->GetChildren(folder, names));
    if (!status.ok() || !parts_) return status;
    for (std::string& name : *names) {
      const std::string path = folder + "/" + name;
      const std::uint64_t file = table_file_number(path, folder, kTableEnding);
      const std::uint64_t log = table_file_number(path, folder, kLogEnding);
      const bool is_old = (file > 0 && !parts_->has_file(file)) || (log > 0 && log < parts_->first_log);
      if (is_old) name.replace(name.rfind('.'), std::string::npos, kPassedOver);
    }
    names->push_back(std::to_string(parts_->next_file) + std::string(kPassedOver));  // what it makes is newer
    return status;
  }

  leveldb::Status NewSequentialFile(const std::string& name, leveldb::SequentialFile** result) override {
    leveldb::SequentialFile* file = nullptr;
    const auto status = course_.read(target()->NewSequentialFile(name, &file));
    if (status.ok())
      *result = new SequentialInRepair(std::unique_ptr<leveldb::SequentialFile>(file), course_);
    return status;
  }
  leveldb::Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** result) override {
    if (course_.is_gone(name, kAll)) return Course::gone_before(name);
    leveldb::RandomAccessFile* file = nullptr;
    const auto status = course_.read(target()->NewRandomAccessFile(name, &file), name, kAll);
    if (status.ok()) {
      *result = new RandomAccessInRepair(name, std::unique_ptr<leveldb::RandomAccessFile>(file), course_);
    }
    return status;
  }
  leveldb::Status GetFileSize(const std::string& name, std::uint64_t* size) override {
    return course_.read(target()->GetFileSize(name, size));
  }
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** result) override {
    if (!course_.stopped().ok()) return course_.stopped();
    leveldb::WritableFile* file = nullptr;
    const auto status = course_.written(target()->NewWritableFile(name, &file));
    if (status.ok()) *result = new WritableInRepair(std::unique_ptr<leveldb::WritableFile>(file), course_);
    return status;
  }
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override {
    const bool is_kept = from.ends_with(kLogEnding) || from.ends_with(kTableEnding);
    if (is_kept && to.find("/lost/") != std::string::npos) {
      aside_[from] = to;
      return leveldb::Status::OK();
    }
    if (!course_.stopped().ok()) return course_.stopped();
    const auto before = aside_.extract(to);
    if (!before.empty()) {
      if (auto s = course_.written(rename(to, before.mapped())); !s.ok()) return s;
    }
    course_.forget(to);
    const leveldb::Status status = target()->RenameFile(from, to);
    if (!status.ok() && !before.empty()) (void)rename(before.mapped(), to);  // nothing takes its place
    return status.IsNotFound() ? status : course_.written(status);
  }

  // Once LevelDB is done.
  Status put_aside() {
    for (const auto& [from, to] : aside_) CFFS_TRY_VOID(store_.rename(from, to));
    return store_.sync_names();
  }

 private:
  leveldb::Status rename(const std::string& from, const std::string& to) {
    const Status done = store_.rename(from, to);
    return done ? leveldb::Status::OK() : leveldb::Status::IOError(done.error().message());
  }

  ObjectStore& store_;
  const std::optional<TableParts>& parts_;
  Course course_;
  std::map<std::string, std::string> aside_;  // by the names that they still have
};

// Where an earlier repair was cut between two renames, what it made takes the place now; else it is made anew.
Status finish_replacing(ObjectStore& store, const char* folder) {
  CFFS_TRY(const auto names, store.list(folder));
  for (const std::string& made : names) {
    if (!made.ends_with(kMadeEnding)) continue;
    const std::string name = made.substr(0, made.size() - kMadeEnding.size());
    CFFS_TRY(const bool there, store.exists(name));
    CFFS_TRY(const bool put_aside, store.exists(aside(folder, name)));
    CFFS_TRY_VOID(there || !put_aside ? store.remove(made) : store.rename(made, name));
  }
  return {};
}

// Whether LevelDB can open it: the footer and the index. What reads cannot get for want of descriptors or memory is an error.
Result<bool> has_index(const std::string& name, const leveldb::Options& options) {
  std::uint64_t size = 0;
  leveldb::Status status = options.env->GetFileSize(name, &size);
  leveldb::RandomAccessFile* raw = nullptr;
  if (status.ok()) status = options.env->NewRandomAccessFile(name, &raw);
  const std::unique_ptr<leveldb::RandomAccessFile> file(raw);
  leveldb::Table* raw_table = nullptr;
  if (status.ok()) {
    status = undisturbed([&] { return leveldb::Table::Open(options, file.get(), size, &raw_table); });
  }
  const std::unique_ptr<leveldb::Table> table(raw_table);
  if (status.ok()) return true;
  if (Error error = read_error(status); error.kind != ErrorKind::corruption) return fail(std::move(error));
  return false;
}

// As all that is put aside, the file that was damaged stays below lost/. Whether no row of it is missing.
Result<bool> replace_damaged(ObjectStore& store, const char* folder, const std::string& name) {
  const auto object = store.open(name);
  const auto read = object ? read_what_can_be(**object) : Result<PartialBytes>(fail(object.error()));
  if (!read && read.error().is_shortage()) return fail(read.error());
  const auto found = read ? whole_blocks(read->bytes) : std::nullopt;
  if (!found) return false;
  const std::string made = name + std::string(kMadeEnding);
  {
    CFFS_TRY(const auto to, store.create(made, ObjectStore::Create::truncate));
    CFFS_TRY_VOID(to->write_at(0, as_bytes(found->table)));
    CFFS_TRY_VOID(to->sync());
  }
  CFFS_TRY_VOID(store.sync_names());
  CFFS_TRY_VOID(store.rename(name, aside(folder, name)));
  CFFS_TRY_VOID(store.rename(made, name));
  return found->all;
}

Result<std::set<std::string>> replace_all_damaged(ObjectStore& store, const char* folder,
                                                  const leveldb::Options& options,
                                                  const std::optional<TableParts>& parts) {
  std::set<std::string> complete;
  CFFS_TRY_VOID(finish_replacing(store, folder));
  CFFS_TRY(const auto names, store.list(folder));
  for (const std::string& name : names) {
    const std::uint64_t number = table_file_number(name, folder, kTableEnding);
    if (number == 0 || (parts && !parts->has_file(number))) continue;
    CFFS_TRY(const bool whole, has_index(name, options));
    if (whole) continue;
    CFFS_TRY(const bool all, replace_damaged(store, folder, name));
    if (all) complete.insert(name);
  }
  return complete;
}

Status note_unmerged(ObjectStore& store) {
  {
    CFFS_TRY(const auto object, store.create(kUnmerged, ObjectStore::Create::truncate));
    CFFS_TRY_VOID(object->sync());
  }
  return store.sync_names();
}

}  // namespace

Result<std::set<std::string>> repair_table(ObjectStore& store, const char* folder, leveldb::Options options,
                                           const std::optional<TableParts>& parts) {
  CFFS_TRY_VOID(note_unmerged(store));
  CFFS_TRY(auto complete, replace_all_damaged(store, folder, options, parts));
  EnvInRepair env(*options.env, store, parts);
  options.env = &env;
  const leveldb::Status done = undisturbed([&] { return leveldb::RepairDB(folder, options); });
  if (!done.ok()) return fail(to_error(done));
  CFFS_TRY_VOID(env.put_aside());
  return complete;
}

Result<bool> is_table_unmerged(ObjectStore& store) { return store.exists(kUnmerged); }

Status merge_repaired(ObjectStore& store, leveldb::DB& db) {
  undisturbed([&] { db.CompactRange(nullptr, nullptr); });
  std::string left;
  (void)db.GetProperty("leveldb.num-files-at-level0", &left);
  if (left != "0") {
    const auto status = undisturbed([&] { return db.Write(leveldb::WriteOptions(), nullptr); });
    if (!status.ok()) return fail(read_error(status));
    return fail(Error::corruption("table: the files of a repair could not be merged"));
  }
  CFFS_TRY_VOID(store.remove(kUnmerged));
  return store.sync_names();
}

}  // namespace cffs
