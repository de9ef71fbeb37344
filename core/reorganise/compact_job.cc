#include "core/reorganise/compact_job.h"

#include <nlohmann/json.hpp>

namespace cffs {

Status CompactJob::start() {
  const auto begin = [this] {
    const MutexLock guard(mutex_);
    step_ = {"starting"};
  };
  const auto job = [this] { return run(); };
  Status started = thread_.start(begin, job);
  if (!started && started.error().errno_value == EAGAIN) return thread_.run_here(begin, job);
  return started;
}

JobThread::State CompactJob::run() {
  CompactOptions options;
  options.on_progress = [this](const WorkStep& step) {
    const MutexLock guard(mutex_);
    step_ = step;
  };
  options.go_on = [this] { return thread_.go_on(); };
  if (const Status done = reorganiser_.compact_now(options); !done) return {"failed", done.error().message()};
  return {thread_.go_on() ? "done" : "stopped", ""};
}

std::string CompactJob::status_json() const {
  const JobThread::State now = thread_.state();
  const MutexLock guard(mutex_);
  nlohmann::ordered_json j{{"state", now.state}, {"error", now.error}};
  j["progress"] = nlohmann::ordered_json::parse(step_json(step_));
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cffs
