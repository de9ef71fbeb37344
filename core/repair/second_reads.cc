#include "core/repair/second_reads.h"

#include <utility>

namespace cffs {
namespace {

template <typename Read>
auto twice(Read read) {
  auto result = read();
  const bool failed = !result && result.error().kind == ErrorKind::os && result.error().is_damage();
  return failed ? read() : result;
}

class RereadObject final : public Object {
 public:
  explicit RereadObject(std::shared_ptr<Object> below) : below_(std::move(below)) {}

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    return twice([&] { return below_->read_at(offset, out); });
  }
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    return twice([&] { return below_->try_read_at(offset, out); });
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    return twice([&] { return below_->read_medium(offset, out); });
  }
  Result<ObjectInfo> info() const override {
    return twice([&] { return below_->info(); });
  }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override {
    return twice([&] { return below_->next_data(offset); });
  }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override {
    return twice([&] { return below_->next_hole(offset); });
  }
  std::shared_ptr<const Object> unchanged() const override { return below_; }
  bool clone_from(const Object& source) override { return below_->clone_from(source); }

  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    return below_->share_in_memory(offset, length);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override { return below_->write_at(offset, data); }
  Result<std::uint64_t> append(ConstBytes data) override { return below_->append(data); }
  void expect(std::uint64_t bytes) override { below_->expect(bytes); }
  Status truncate(std::uint64_t size) override { return below_->truncate(size); }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    return below_->punch_hole(offset, length);
  }
  Result<bool> give_back(std::uint64_t offset, std::uint64_t length) override {
    return below_->give_back(offset, length);
  }
  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    return below_->allocate(offset, length);
  }
  void begin_writeback(std::uint64_t offset, std::uint64_t length) override {
    below_->begin_writeback(offset, length);
  }
  Status sync() override { return below_->sync(); }
  void read_no_further() const override { below_->read_no_further(); }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    below_->prefetch(offset, length);
  }

 private:
  const std::shared_ptr<Object> below_;
};

Result<std::shared_ptr<Object>> reread(Result<std::shared_ptr<Object>> object) {
  if (!object) return object;
  return std::shared_ptr<Object>(std::make_shared<RereadObject>(std::move(*object)));
}

}  // namespace

Result<std::shared_ptr<Object>> SecondReads::create(std::string_view name, Create how) {
  return reread(below_.create(name, how));
}

Result<std::shared_ptr<Object>> SecondReads::open(std::string_view name) {
  return reread(twice([&] { return below_.open(name); }));
}

Result<bool> SecondReads::exists(std::string_view name) {
  return twice([&] { return below_.exists(name); });
}

Result<std::vector<std::string>> SecondReads::list(std::string_view folder) {
  return twice([&] { return below_.list(folder); });
}

Result<Layout> SecondReads::layout() {
  return twice([&] { return below_.layout(); });
}

}  // namespace cffs
