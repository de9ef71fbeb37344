#include "core/table/table_repair.h"

#include <leveldb/db.h>
#include <leveldb/env.h>

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/base/undisturbed.h"
#include "core/table/table_files.h"
#include "core/table/table_reads.h"

namespace cffs {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

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
  EnvInRepair(leveldb::Env& env, ObjectStore& store) : EnvWrapper(&env), store_(store) {}

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
  Course course_;
  std::map<std::string, std::string> aside_;  // by the names that they still have
};

}  // namespace

Status repair_table(ObjectStore& store, const char* folder, leveldb::Options options) {
  EnvInRepair env(*options.env, store);
  options.env = &env;
  const leveldb::Status done = undisturbed([&] { return leveldb::RepairDB(folder, options); });
  if (!done.ok()) return fail(to_error(done));
  return env.put_aside();
}

}  // namespace cffs
