#include "core/rados/body.h"

#include <algorithm>
#include <new>
#include <random>

#include "core/object/blocking_section.h"

namespace cffs::rados {
namespace {

constexpr std::size_t kTogether = 256 * 1024;  // bytes that lie end to end are sent in one operation
// What an object grows to: as a file of ext4. There is an end, for its pieces go one by one.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;
constexpr std::uint64_t kMostBytesEver = std::uint64_t{1} << 63;  // earlier programs let it grow to
constexpr std::uint64_t kProbesAtOnce = 32;  // pieces that are looked for side by side

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

// The last of the pieces [begin, end) that is there, and its bytes; all are asked for side by side.
Result<std::optional<std::pair<std::uint64_t, std::uint64_t>>> last_of(const Shared& shared, ObjectId id,
                                                                       std::uint64_t begin,
                                                                       std::uint64_t end) {
  std::vector<std::uint64_t> sizes(end - begin, 0);
  std::vector<time_t> times(sizes.size(), 0);
  // All that takes memory comes before what is begun, which writes into these vectors.
  std::vector<std::string> names;
  for (std::uint64_t piece = begin; piece < end; ++piece) names.push_back(shared.piece_name(id, piece));
  std::vector<rados_completion_t> asked;
  asked.reserve(sizes.size());
  int failed = 0;
  for (std::uint64_t i = 0; i < sizes.size() && failed == 0; ++i) {
    rados_completion_t one = nullptr;
    if (librados().aio_create_completion2(nullptr, nullptr, &one) != 0) failed = -ENOMEM;
    if (failed != 0) break;
    failed = std::min(0, librados().aio_stat(shared.pool->io(), names[i].c_str(), one, &sizes[i], &times[i]));
    if (failed == 0) asked.push_back(one);
    if (failed != 0) librados().aio_release(one);
  }
  announce_blocking();
  std::optional<std::pair<std::uint64_t, std::uint64_t>> last;
  // All of it is waited for.
  for (std::uint64_t i = 0; i < asked.size(); ++i) {
    (void)librados().aio_wait_for_complete(asked[i]);
    const int code = librados().aio_get_return_value(asked[i]);
    librados().aio_release(asked[i]);
    if (code == 0) last.emplace(begin + i, sizes[i]);
    if (code < 0 && code != -ENOENT) failed = code;
  }
  if (failed != 0) return fail(shared.pool->error(failed, shared.piece_name(id, begin)));
  return last;
}

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
  return pool->address().name + "." + hexadecimal(id, 16) + "." + hexadecimal(piece, 8);
}

Body::Body(std::shared_ptr<Shared> shared, ObjectId id, std::shared_ptr<Together> naming, Kind kind)
    : shared_(std::move(shared)), id_(id), naming_(std::move(naming)), kind_(kind) {
  // By its id and by chance: a pool that was put back to what it was, or copied, gives ids again.
  constexpr std::uint64_t kLow = 0xffffffff, kChance = 0x3fffffff;
  if (naming_ == nullptr || kind != Kind::grows) return;
  std::random_device chance;
  born_ = ((std::uint64_t{chance()} & kChance) + 1) << 32 | (id & kLow);
}

Result<std::shared_ptr<Body>> Body::load(std::shared_ptr<Shared> shared, ObjectId id, Kind kind) {
  return load_pieces(std::move(shared), id, kind, true);
}

Result<std::shared_ptr<Body>> Body::load_to_remove(std::shared_ptr<Shared> shared, ObjectId id) {
  return load_pieces(std::move(shared), id, Kind::changes, false);
}

// The last piece that is there, from behind.
Status Body::find_end(std::uint64_t first_bytes) {
  size_ = first_bytes;
  const auto& spans = written_.spans();
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    const std::uint64_t first = std::max<std::uint64_t>(1, span->begin);
    for (std::uint64_t end = span->end; end > first;) {
      const std::uint64_t begin = std::max(first, end - std::min(end, kProbesAtOnce));
      CFFS_TRY(const auto last, last_of(*shared_, id_, begin, end));
      if (last) {
        size_ = last->first * shared_->piece_bytes + last->second;
        return {};
      }
      end = begin;
    }
  }
  return {};
}

Result<std::shared_ptr<Body>> Body::load_pieces(std::shared_ptr<Shared> shared, ObjectId id, Kind kind,
                                                bool to_its_end) {
  const auto body = std::make_shared<Body>(shared, id, nullptr, kind);
  const std::string first = shared->piece_name(id, 0);
  const auto found = shared->pool->stat(first);
  if (!found && found.error().errno_value == ENOENT) return body;
  if (!found) return fail(found.error());
  // A first piece whose first write was refused, and whose later one was not, has none; then it is the only one.
  std::optional<WrittenPieces> written = WrittenPieces();
  if (const std::string text = found->attribute("bound"); !text.empty())
    written = WrittenPieces::parse(text, kMostBytesEver / shared->piece_bytes);
  if (!written) return fail(Error::corruption(first + ": attribute bound names no pieces"));
  std::uint64_t born = 0;
  if (const std::string text = found->attribute("born"); !text.empty()) {
    CFFS_TRY(born, number_of(text, first + ": attribute born"));
  }
  const std::string cut = found->attribute("cut");
  const MutexLock guard(body->mutex_);
  body->born_ = born;
  body->durable_written_ = body->written_ = std::move(*written);
  body->has_first_piece_ = true;
  if (to_its_end) CFFS_TRY_VOID(body->find_end(found->size));
  if (!cut.empty()) {
    CFFS_TRY(const std::uint64_t end, number_of(cut, first + ": attribute cut"));
    if (end > kMostBytesEver)
      return fail(Error::corruption(first + ": attribute cut says more than an object can have"));
    body->size_ = end;  // its last piece may still be a hole
    body->cut_unfinished_ = true;
  }
  return body;
}

// --- reading

bool Body::is_pending(std::uint64_t offset, std::uint64_t length) const {
  return !pending_.empty() && offset < pending_at_ + pending_.size() && pending_at_ < offset + length;
}

Result<std::uint64_t> Body::readable(std::uint64_t offset, std::size_t wanted) {
  const MutexLock guard(mutex_);
  if (offset >= size_) return std::uint64_t{0};
  const std::uint64_t n = std::min<std::uint64_t>(wanted, size_ - offset);
  if (is_pending(offset, n)) CFFS_TRY_VOID(send_pending());
  return n;
}

Result<std::size_t> Body::read(std::uint64_t offset, Bytes out) {
  CFFS_TRY(const std::size_t n, readable(offset, out.size()));
  if (shared_->pool->is_shut_out()) return fail(shared_->pool->error(-ESHUTDOWN, {}));
  CFFS_TRY_VOID(shared_->cache->read(*this, offset, out.first(n)));
  CFFS_TRY_VOID(not_lost(offset, n));
  return n;
}

std::optional<std::size_t> Body::read_if_here(std::uint64_t offset, Bytes out) {
  if (shared_->pool->is_shut_out()) return std::nullopt;
  std::size_t n = 0;
  {
    const MutexLock guard(mutex_);
    n = offset >= size_ ? 0 : std::min<std::uint64_t>(out.size(), size_ - offset);
    if (is_pending(offset, n)) return std::nullopt;
  }
  if (!shared_->cache->read_if_here(id_, offset, out.first(n)) || !not_lost(offset, n)) return std::nullopt;
  return n;
}

Result<std::size_t> Body::read_medium(std::uint64_t offset, Bytes out) {
  CFFS_TRY(const std::size_t n, readable(offset, out.size()));
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
  CFFS_TRY_VOID(not_lost(offset, n));
  bytes.resize(n);
  std::copy_n(as_bytes(bytes).begin(), n, out.begin());
  return n;
}

double Body::share_in_memory(std::uint64_t offset, std::uint64_t length) const {
  return shared_->cache->share(id_, offset, length);
}

void Body::prefetch(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t n = readable(offset, length).value_or(0);
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

// What was not sent yet is not in the pool. Runs of pages lie in one piece: a piece that is not there yet, before one that is, is never
// taken for zeros.
std::optional<PageCache::Source::Lasting> Body::lasting() const {
  if (kind_ != Kind::grows || shared_->piece_bytes != LocalFile::kPages * kPageBytes) return {};
  const MutexLock guard(mutex_);
  if (born_ == 0) return {};
  return Lasting{born_, pending_.empty() ? size_ : std::min(size_, pending_at_), shared_from_this()};
}

// --- writing

Pool::Done Body::landed(std::uint64_t offset, std::size_t bytes) {
  // Off its way however it ends, also where memory runs out before it is sent: then nothing is lost, whoever wrote it is told, or tries again.
  struct Way {
    Way(std::shared_ptr<Shared> its_store, std::size_t its_bytes)
        : shared(std::move(its_store)), bytes(its_bytes) {
      shared->on_the_way.enter(bytes);
    }
    ~Way() { shared->on_the_way.leave(bytes); }
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    const std::shared_ptr<Shared> shared;
    const std::size_t bytes;
  };
  constexpr int kNothingWasSent = 0;
  return [self = shared_from_this(), offset, way = std::make_shared<Way>(shared_, bytes),
          ended = flights_.one(kNothingWasSent)](int code) {
    if (code != 0 && way->bytes > 0) self->lose({offset, offset + way->bytes, code});
    ended(code);
  };
}

void Body::lose(const Lost& lost) {
  const MutexLock guard(lost_mutex_);
  // A full pool refuses all that comes, end to end.
  const bool goes_on = !lost_.empty() && lost_.back().end == lost.begin && lost_.back().code == lost.code;
  try {
    if (goes_on) lost_.back().end = lost.end;
    if (!goes_on) lost_.push_back(lost);
  } catch (const std::bad_alloc&) {  // on a thread of librados's
    all_lost_ = lost.code;
  }
  has_lost_.store(true, std::memory_order_release);
}

Status Body::not_lost(std::uint64_t offset, std::uint64_t length) const {
  if (!has_lost_.load(std::memory_order_acquire)) return {};
  const MutexLock guard(lost_mutex_);
  CFFS_TRY_VOID(first_error(all_lost_));
  for (const Lost& lost : lost_)
    if (offset < lost.end && lost.begin < offset + length) return first_error(lost.code);
  return {};
}

Status Body::first_error(int code) const {
  if (code == 0) return {};
  return fail(shared_->pool->error(-code, piece_name(0)));
}

// Before a change.
Status Body::usable() {
  if (shared_->pool->is_shut_out()) return fail(shared_->pool->error(-ESHUTDOWN, {}));
  if (!cut_unfinished_) return {};
  const Status done = cut(size_);
  // The page with its end may have been read when its piece still had what was cut off.
  shared_->cache->drop(id_, size_);
  return done;
}

// Nothing of it is anywhere that nobody can find: its name comes first.
Status Body::settle() {
  if (naming_ == nullptr) return {};
  return first_error(naming_->wait());
}

void Body::set_first_attributes(WriteOperation& operation, const WrittenPieces& written) const {
  operation.set_attribute("bound", written.text());
  if (born_ != 0) operation.set_attribute("born", std::to_string(born_));
}

Status Body::make_first_piece() {
  if (has_first_piece_) return {};
  CFFS_TRY_VOID(settle());
  WriteOperation operation;
  operation.create(false);
  set_first_attributes(operation, written_);
  shared_->pool->start(operation, piece_name(0), landed(0, 0));
  has_first_piece_ = true;
  return {};
}

Status Body::may_end_at(std::uint64_t end) const {
  if (end <= std::max(kMostBytes, size_)) return {};
  return fail(EFBIG);
}

Status Body::reach(std::uint64_t first, std::uint64_t last) {
  bool all = true;
  for (std::uint64_t piece = first; piece <= last && all; ++piece) all = durable_written_.contains(piece);
  if (all) return {};
  CFFS_TRY_VOID(settle());
  WrittenPieces written = written_;
  for (std::uint64_t piece = first; piece <= last; ++piece) written.add(piece);
  WrittenPieces durable = written;
  WriteOperation operation;
  operation.create(false);
  set_first_attributes(operation, written);
  announce_blocking();
  CFFS_TRY_VOID(shared_->pool->run(operation, piece_name(0)));
  has_first_piece_ = true;
  durable_written_ = std::move(durable);
  written_ = std::move(written);
  return {};
}

void Body::send_to_piece(std::uint64_t piece, std::uint64_t offset, std::string_view bytes) {
  if (piece == 0 && !has_first_piece_) {
    WriteOperation operation;
    operation.create(false);
    set_first_attributes(operation, written_);
    operation.write(offset, bytes);
    shared_->pool->start(operation, piece_name(0), landed(offset, bytes.size()));
    has_first_piece_ = true;
    return;
  }
  shared_->pool->start_write(piece_name(piece), offset, bytes,
                             landed(piece * shared_->piece_bytes + offset, bytes.size()));
}

Status Body::send_bytes(std::uint64_t offset, std::string_view bytes) {
  CFFS_TRY_VOID(settle());
  const std::uint64_t piece_bytes = shared_->piece_bytes;
  CFFS_TRY_VOID(reach(offset / piece_bytes, (offset + bytes.size() - 1) / piece_bytes));
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
  // What cannot be sent now is not lost: a later sync tries again, and says so.
  CFFS_TRY_VOID(send_bytes(pending_at_, pending_));
  pending_.clear();
  return {};
}

Status Body::write(std::uint64_t offset, ConstBytes data) {
  if (data.empty()) return {};
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(usable());
  CFFS_TRY_VOID(may_end_at(offset + data.size()));
  // Nothing of `data` is taken before what may fail is over.
  const bool goes_on = offset == pending_at_ + pending_.size() && pending_.size() + data.size() <= kTogether;
  if (!pending_.empty() && !goes_on) CFFS_TRY_VOID(send_pending());
  if (pending_.empty()) pending_at_ = offset;
  if (pending_.empty() && data.size() >= kTogether) {
    CFFS_TRY_VOID(send_bytes(offset, text(data)));
  } else {
    pending_.append(text(data));
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
  constexpr std::uint64_t kMostPieces = 1024;  // a larger one may be sparse
  // Known from the beginning, it is one attribute of the first write.
  if (!has_first_piece_ && bytes > 0) written_.add_first(std::min(last_piece(bytes) + 1, kMostPieces));
}

}  // namespace cffs::rados
