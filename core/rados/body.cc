#include "core/rados/body.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/object/blocking_section.h"

namespace cffs::rados {
namespace {

constexpr std::size_t kTogether = 256 * 1024;  // bytes that lie end to end are sent in one operation
constexpr std::uint64_t kProbesAtOnce = 32;    // pieces that are looked for side by side

std::string_view text(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::uint64_t> number_of(const std::string& digits, const std::string& what) {
  std::uint64_t value = 0;
  if (digits.empty() || digits.size() > 19) return fail(Error::corruption(what + ": no number"));
  for (const char c : digits) {
    if (c < '0' || c > '9') return fail(Error::corruption(what + ": no number"));
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// Puts the answers of several reads together.
struct Gathering {
  Mutex mutex;
  std::string bytes CFFS_GUARDED_BY(mutex);
  std::size_t missing CFFS_GUARDED_BY(mutex) = 0;
  Status status CFFS_GUARDED_BY(mutex);
  std::function<void(Result<std::string>)> done;
};

}  // namespace

void OnTheWay::enter(std::size_t bytes) {
  const MutexLock guard(mutex_);
  while (bytes_ > 0 && bytes_ + bytes > kMost) less_.wait(mutex_);
  bytes_ += bytes;
  total_.fetch_add(bytes, std::memory_order_relaxed);
}

void OnTheWay::leave(std::size_t bytes) {
  const MutexLock guard(mutex_);
  bytes_ -= bytes;
  less_.notify_all();
}

std::string Shared::piece_name(ObjectId id, std::uint64_t piece) const {
  return fmt::format("{}.{:016x}.{:08x}", pool->address().name, id, piece);
}

void Shared::keep_failed(std::shared_ptr<Body> body) {
  const MutexLock guard(failed_mutex_);
  if (std::find(failed_.begin(), failed_.end(), body) == failed_.end()) failed_.push_back(std::move(body));
}

bool Shared::has_failed() {
  const MutexLock guard(failed_mutex_);
  return !failed_.empty();
}

Result<std::shared_ptr<Body>> Body::load(std::shared_ptr<Shared> shared, ObjectId id) {
  const auto body = std::make_shared<Body>(shared, id, nullptr);
  const std::string first = shared->piece_name(id, 0);
  const auto found = shared->pool->stat(first);
  if (!found && found.error().errno_value == ENOENT) return body;
  if (!found) return fail(found.error());
  CFFS_TRY(const std::uint64_t bound, number_of(found->attribute("bound"), first + ": attribute bound"));
  std::uint64_t size = found->size;
  // The last piece that is there, from behind.
  for (std::uint64_t end = bound; end > 1;) {
    const std::uint64_t begin = std::max<std::uint64_t>(1, end - std::min(end, kProbesAtOnce));
    std::vector<std::uint64_t> sizes(end - begin, 0);
    std::vector<time_t> times(sizes.size(), 0);
    std::vector<rados_completion_t> asked(sizes.size(), nullptr);
    for (std::uint64_t i = 0; i < sizes.size(); ++i) {
      if (librados().aio_create_completion2(nullptr, nullptr, &asked[i]) != 0) return fail(ENOMEM, first);
      if (const int code = librados().aio_stat(shared->pool->io(), shared->piece_name(id, begin + i).c_str(),
                                               asked[i], &sizes[i], &times[i]);
          code < 0)
        return fail(shared->pool->error(code, first));
    }
    announce_blocking();
    std::uint64_t last = 0;
    int failed = 0;
    for (std::uint64_t i = 0; i < sizes.size(); ++i) {
      (void)librados().aio_wait_for_complete(asked[i]);
      const int code = librados().aio_get_return_value(asked[i]);
      librados().aio_release(asked[i]);
      if (code == 0) last = begin + i;
      if (code < 0 && code != -ENOENT) failed = code;
    }
    if (failed != 0) return fail(shared->pool->error(failed, first));
    if (last != 0) {
      size = last * shared->piece_bytes + sizes[last - begin];
      break;
    }
    end = begin;
  }
  const std::string cut = found->attribute("cut");
  const MutexLock guard(body->mutex_);
  body->size_ = size;
  body->durable_bound_ = body->bound_ = std::max<std::uint64_t>(bound, 1);
  body->has_first_piece_ = true;
  if (!cut.empty()) {
    CFFS_TRY(const std::uint64_t end, number_of(cut, first + ": attribute cut"));
    body->size_ = std::min(size, end);
    body->cut_unfinished_ = true;
  }
  return body;
}

// --- reading

std::uint64_t Body::readable(std::uint64_t offset, std::size_t wanted) {
  const MutexLock guard(mutex_);
  if (offset >= size_) return 0;
  const std::uint64_t n = std::min<std::uint64_t>(wanted, size_ - offset);
  if (!pending_.empty() && offset < pending_at_ + pending_.size() && pending_at_ < offset + n)
    (void)send_pending();
  return n;
}

Result<std::size_t> Body::read(std::uint64_t offset, Bytes out) {
  const std::size_t n = readable(offset, out.size());
  if (shared_->pool->is_shut_out()) return fail(shared_->pool->error(-ESHUTDOWN, {}));
  CFFS_TRY_VOID(shared_->cache->read(*this, offset, out.first(n)));
  return n;
}

std::optional<std::size_t> Body::read_if_here(std::uint64_t offset, Bytes out) {
  const std::size_t n = readable(offset, out.size());
  if (shared_->pool->is_shut_out()) return std::nullopt;
  if (!shared_->cache->read_if_here(id_, offset, out.first(n))) return std::nullopt;
  return n;
}

Result<std::size_t> Body::read_medium(std::uint64_t offset, Bytes out) {
  const std::size_t n = readable(offset, out.size());
  Together answers;
  std::string bytes;
  Status status;
  const auto done = answers.one();
  fetch(offset, n, [&](Result<std::string> got) {
    if (got) bytes = std::move(*got);
    if (!got) status = fail(got.error());
    done(0);
  });
  announce_blocking();
  (void)answers.wait();
  CFFS_TRY_VOID(status);
  bytes.resize(n);
  std::copy_n(as_bytes(bytes).begin(), n, out.begin());
  return n;
}

double Body::share_in_memory(std::uint64_t offset, std::uint64_t length) const {
  return shared_->cache->share(id_, offset, length);
}

void Body::prefetch(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t n = readable(offset, length);
  if (n > 0 && !shared_->pool->is_shut_out()) shared_->cache->prefetch(*this, offset, n);
}

void Body::fetch(std::uint64_t offset, std::uint64_t length,
                 std::function<void(Result<std::string>)> done) const {
  const std::uint64_t piece_bytes = shared_->piece_bytes;
  const std::uint64_t first = offset / piece_bytes;
  if (length == 0) return done(std::string());
  if ((offset + length - 1) / piece_bytes == first) {
    return shared_->pool->start_read(piece_name(first), offset - first * piece_bytes, length,
                                     std::move(done));
  }
  const auto gathering = std::make_shared<Gathering>();
  const std::uint64_t pieces = (offset + length - 1) / piece_bytes - first + 1;
  gathering->done = std::move(done);
  {
    const MutexLock guard(gathering->mutex);
    gathering->bytes.assign(length, '\0');
    gathering->missing = pieces;
  }
  for (std::uint64_t at = offset; at < offset + length;) {
    const std::uint64_t piece = at / piece_bytes;
    const std::uint64_t n = std::min(offset + length, (piece + 1) * piece_bytes) - at;
    shared_->pool->start_read(piece_name(piece), at - piece * piece_bytes, n,
                              [gathering, to = at - offset](Result<std::string> got) {
                                bool all = false;
                                {
                                  const MutexLock guard(gathering->mutex);
                                  if (!got) gathering->status = fail(got.error());
                                  if (got)
                                    std::copy(got->begin(), got->end(),
                                              gathering->bytes.begin() + static_cast<std::ptrdiff_t>(to));
                                  all = --gathering->missing == 0;
                                }
                                if (!all) return;
                                const MutexLock guard(gathering->mutex);
                                if (!gathering->status)
                                  return gathering->done(fail(gathering->status.error()));
                                gathering->done(std::move(gathering->bytes));
                              });
    at += n;
  }
}

// --- writing

Pool::Done Body::landed(std::size_t bytes) {
  shared_->on_the_way.enter(bytes);
  return [self = shared_from_this(), bytes, ended = flights_.one()](int code) {
    self->shared_->on_the_way.leave(bytes);
    if (code != 0) self->shared_->keep_failed(self);
    ended(code);
  };
}

Status Body::first_error(int code) const {
  if (code == 0) return {};
  return fail(shared_->pool->error(-code, piece_name(0)));
}

// Before a change.
Status Body::usable() {
  if (shared_->pool->is_shut_out()) return fail(shared_->pool->error(-ESHUTDOWN, {}));
  if (!cut_unfinished_) return {};
  CFFS_TRY_VOID(cut(size_));
  cut_unfinished_ = false;
  return {};
}

// Nothing of it is anywhere that nobody can find: its name comes first.
Status Body::settle() {
  if (naming_ == nullptr) return {};
  return first_error(naming_->wait());
}

Status Body::make_first_piece() {
  if (has_first_piece_) return {};
  CFFS_TRY_VOID(settle());
  WriteOperation operation;
  operation.create(false);
  operation.set_attribute("bound", std::to_string(bound_));
  shared_->pool->start(operation, piece_name(0), landed(0));
  has_first_piece_ = true;
  return {};
}

Status Body::reach(std::uint64_t piece) {
  if (piece < durable_bound_) return {};
  CFFS_TRY_VOID(settle());
  const std::uint64_t bound = piece < bound_ ? bound_ : std::max(piece + 1, bound_ * 2);
  WriteOperation operation;
  operation.create(false);
  operation.set_attribute("bound", std::to_string(bound));
  announce_blocking();
  CFFS_TRY_VOID(shared_->pool->run(operation, piece_name(0)));
  has_first_piece_ = true;
  durable_bound_ = bound_ = bound;
  return {};
}

void Body::send_to_piece(std::uint64_t piece, std::uint64_t offset, std::string_view bytes) {
  if (piece == 0 && !has_first_piece_) {
    WriteOperation operation;
    operation.create(false);
    operation.set_attribute("bound", std::to_string(bound_));
    operation.write(offset, bytes);
    shared_->pool->start(operation, piece_name(0), landed(bytes.size()));
    has_first_piece_ = true;
    return;
  }
  shared_->pool->start_write(piece_name(piece), offset, bytes, landed(bytes.size()));
}

Status Body::send_bytes(std::uint64_t offset, std::string_view bytes) {
  CFFS_TRY_VOID(settle());
  const std::uint64_t piece_bytes = shared_->piece_bytes;
  CFFS_TRY_VOID(reach((offset + bytes.size() - 1) / piece_bytes));
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t piece = (offset + at) / piece_bytes;
    const std::uint64_t within = offset + at - piece * piece_bytes;
    const std::size_t n = std::min<std::uint64_t>(bytes.size() - at, piece_bytes - within);
    send_to_piece(piece, within, bytes.substr(at, n));
    at += n;
  }
  shared_->cache->drop(id_, offset, bytes.size());
  return {};
}

Status Body::send_pending() {
  if (pending_.empty()) return {};
  const std::string bytes = std::exchange(pending_, {});
  return send_bytes(pending_at_, bytes);
}

Status Body::write(std::uint64_t offset, ConstBytes data) {
  if (data.empty()) return {};
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(usable());
  if (!pending_.empty() && offset != pending_at_ + pending_.size()) CFFS_TRY_VOID(send_pending());
  if (pending_.empty()) pending_at_ = offset;
  if (pending_.empty() && data.size() >= kTogether) {
    CFFS_TRY_VOID(send_bytes(offset, text(data)));
  } else {
    pending_.append(text(data));
    if (pending_.size() >= kTogether) CFFS_TRY_VOID(send_pending());
  }
  size_ = std::max(size_, offset + data.size());
  return {};
}

Result<std::uint64_t> Body::append(ConstBytes data) {
  const std::uint64_t at = size();
  CFFS_TRY_VOID(write(at, data));
  return at;
}

std::uint64_t Body::size() const {
  const MutexLock guard(mutex_);
  return size_;
}

Status Body::send() {
  const MutexLock guard(mutex_);
  return send_pending();
}

Status Body::sync() {
  {
    const MutexLock guard(mutex_);
    if (shared_->pool->is_shut_out()) return fail(shared_->pool->error(-ESHUTDOWN, {}));
    CFFS_TRY_VOID(send_pending());
    CFFS_TRY_VOID(make_first_piece());
  }
  announce_blocking();
  return first_error(flights_.wait());
}

void Body::expect(std::uint64_t bytes) {
  const MutexLock guard(mutex_);
  // Known from the beginning, it is one attribute of the first write.
  if (!has_first_piece_ && bytes > 0) bound_ = std::max(bound_, last_piece(bytes) + 1);
}

}  // namespace cffs::rados
