#include "core/rados/rados_object.h"

#include "core/object/blocking_section.h"
#include "core/rados/rados_store.h"

namespace cffs {

class RadosObject final : public Object {
 public:
  RadosObject(RadosStore& store, std::shared_ptr<rados::Body> body) : store_(store), body_(std::move(body)) {}
  ~RadosObject() override { store_.handle_gone(body_); }

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    return body_->read(offset, out);
  }
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    return body_->read_if_here(offset, out);
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    return body_->read_medium(offset, out);
  }
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    return body_->share_in_memory(offset, length);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    CFFS_TRY_VOID(writable());
    return body_->write(offset, data);
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    CFFS_TRY_VOID(writable());
    return body_->append(data);
  }
  void expect(std::uint64_t bytes) override { body_->expect(bytes); }
  Status truncate(std::uint64_t size) override {
    CFFS_TRY_VOID(writable());
    return body_->truncate(size);
  }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY_VOID(writable());
    return body_->punch(offset, length);
  }
  // RADOS sets no room aside: another user of the pool may take it.
  Status allocate(std::uint64_t, std::uint64_t) override { return fail(EOPNOTSUPP); }
  Result<ObjectInfo> info() const override {
    const std::uint64_t size = body_->size();
    return ObjectInfo{size, size};
  }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override {
    return std::min(offset, body_->size());
  }
  Result<std::uint64_t> next_hole(std::uint64_t) const override { return body_->size(); }
  void begin_writeback(std::uint64_t, std::uint64_t) override { (void)body_->send(); }
  Status sync() override { return body_->sync(); }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    body_->prefetch(offset, length);
  }

 private:
  Status writable() const { return store_.writable({}); }

  RadosStore& store_;
  const std::shared_ptr<rados::Body> body_;
};

std::shared_ptr<Object> make_rados_object(RadosStore& store, std::shared_ptr<rados::Body> body) {
  return std::make_shared<RadosObject>(store, std::move(body));
}

}  // namespace cffs
