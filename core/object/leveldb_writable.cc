// The files that LevelDB writes, on objects.
#include "core/object/leveldb_env.h"
#include "core/object/leveldb_reads.h"
#include "core/object/log_filler.h"

namespace cffs {

// Collects small appends, as LevelDB's own writer does: a log record arrives in two pieces. After a failure every call
// fails: LevelDB would append behind the gap, and what it acknowledges there is lost when the log is read.
class LevelDbEnv::Writable final : public leveldb::WritableFile {
 public:
  Writable(LevelDbEnv& env, std::string name, std::shared_ptr<Object> object, std::uint64_t at)
      : env_(env), name_(std::move(name)), object_(std::move(object)), at_(at) {
    buffer_.reserve(kBuffer);
  }
  ~Writable() override {
    if (flush_buffer().ok() && prepared_ > at_) (void)object_->truncate(at_);
  }

  leveldb::Status Append(const leveldb::Slice& data) override {
    if (buffer_.size() + data.size() > kBuffer) {
      if (auto s = flush_buffer(); !s.ok()) return s;
    }
    if (data.size() >= kBuffer) return write({data.data(), data.size()});
    if (result_.ok()) buffer_.append(data.data(), data.size());
    return result_;
  }
  leveldb::Status Flush() override { return flush_buffer(); }
  leveldb::Status Sync() override {
    if (auto s = flush_buffer(); !s.ok()) return s;
    if (env_.before_table_sync_ && name_.ends_with(".ldb")) {
      if (const auto done = env_.before_table_sync_(); !done) return failed(done.error());
    }
    if (const auto done = object_->sync(); !done) return failed(done.error());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return flush_buffer(); }

 private:
  static constexpr std::size_t kBuffer = 64 * 1024;
  static constexpr std::uint64_t kRoom = 256 * 1024, kPage = 4096;

  leveldb::Status failed(const Error& error) {
    env_.write_failed_.store(true, std::memory_order_release);
    return result_ = to_leveldb(error);
  }
  leveldb::Status flush_buffer() {
    if (!buffer_.empty() && result_.ok()) (void)write(buffer_);
    buffer_.clear();
    return result_;
  }
  leveldb::Status write(std::string_view data) {
    if (!result_.ok()) return result_;
    Status done = object_->write_at(at_, as_bytes(data));
    while (!done && env_.made_room(done.error())) done = object_->write_at(at_, as_bytes(data));
    if (!done) return failed(done.error());
    at_ += data.size();
    auto& written = is_log(name_) ? env_.log_bytes_written_ : env_.table_bytes_written_;
    written.fetch_add(data.size(), std::memory_order_relaxed);
    if (is_log(name_) && env_.note_log_bytes(name_, at_)) make_ready();
    return result_;
  }
  // For the records to come; where there is no room, none is needed.
  void make_ready() {
    if (at_ <= prepared_) return;
    const std::uint64_t end = (at_ + kRoom) / kPage * kPage;
    (void)object_->write_at(at_, as_bytes(log_filler(at_, end - at_)));
    prepared_ = end;
  }

  LevelDbEnv& env_;
  const std::string name_;
  std::shared_ptr<Object> object_;
  std::uint64_t at_;
  std::uint64_t prepared_ = 0;  // a log: how far room was made for it
  std::string buffer_;
  leveldb::Status result_;  // the first failure
};

leveldb::WritableFile* LevelDbEnv::writable(const std::string& name, std::shared_ptr<Object> object,
                                            std::uint64_t at) {
  return new Writable(*this, name, std::move(object), at);
}

}  // namespace cffs
