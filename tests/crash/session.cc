#include "tests/crash/session.h"

#include <stdexcept>

#include "core/table/table.h"
#include "tests/crash/ticking_clock.h"
#include "tests/test_options.h"

namespace cffs::test {

template <typename Ground>
SessionOn<Ground>::SessionOn(Medium medium, std::uint64_t delay)
    : store_(std::move(medium)), delay_(delay), clock_(std::make_shared<TickingClock>()) {
  store_.on_change([this](const std::string& what) {
    if (work_) work_->before_change(what);
    if (keeps_) cut_now(what);
    if (told_) told_(what);
  });
}

template <typename Ground>
SessionOn<Ground>::~SessionOn() {
  close();
}

template <typename Ground>
void SessionOn<Ground>::cut_now(const std::string& before) {
  cuts_.push_back({store_.medium(), calls_, before});
}

template <typename Ground>
Status SessionOn<Ground>::open() {
  work_ = std::make_unique<SteppedWork>(delay_);
  FileSystemOptions options;
  options.background = false;
  options.nameless_bytes = 5000;
  options.awake_nodes = kSleepy;
  options.boot_id = "boot";
  options.clock = clock_;
  if (write_buffer_ > 0) options.write_buffer_bytes = write_buffer_;
  options.run_later = [work = work_.get()](std::function<void()> piece) { work->add(std::move(piece)); };
  try {
    surface_ = std::make_unique<LibrarySurface>(store_.objects(), options, nullptr);
  } catch (const std::runtime_error& error) {
    return fail(EIO, error.what());
  }
  return {};
}

template <typename Ground>
void SessionOn<Ground>::compact_table() {
  work_->set_free();
  fs().table().compact();
}

template <typename Ground>
void SessionOn<Ground>::end() {
  if (work_) work_->set_free();
  surface_.reset();
  if (work_) table_work_ += work_->pieces();
  work_.reset();
}

template <typename Ground>
void SessionOn<Ground>::close() {
  if (work_) work_->run_all();
  end();
}

template <typename Ground>
void SessionOn<Ground>::kill() {
  if (!Ground::kOutlivesTheProcess && surface_ != nullptr) (void)fs().sync();
  store_.kill();
  end();
  store_.revive();
}

template class SessionOn<CrashStore>;
template class SessionOn<CrashRegions>;
#ifdef CFFS_WITH_RADOS
template class SessionOn<CrashPool>;
#endif

}  // namespace cffs::test
