#include "core/inspect/scrub_job.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/thread.h"

namespace cffs {
namespace {

constexpr std::size_t kDamagesKept = 100;  // an extended attribute has 64 KiB; the log has all of them

}  // namespace

Status ScrubJob::request(const std::string& json) {
  const auto asked = nlohmann::json::parse(json, nullptr, false);
  const auto malformed = [] { return fail(Error::usage("no such request of a scrub")); };
  if (!asked.is_object()) return malformed();
  const auto rate = asked.value("rate", nlohmann::json(0));
  const auto anew = asked.value("anew", nlohmann::json(false));
  const auto stops = asked.value("stop", nlohmann::json(false));
  if (!rate.is_number_unsigned() && rate != 0) return malformed();
  if (!anew.is_boolean() || !stops.is_boolean()) return malformed();
  if (stops.get<bool>()) {
    stop();
    return {};
  }
  return start(rate.get<std::uint64_t>(), anew.get<bool>());
}

Status ScrubJob::start(std::uint64_t bytes_per_second, bool anew) {
  const MutexLock one_at_a_time(control_);
  {
    const MutexLock guard(mutex_);
    if (state_ == "running") return fail(EBUSY, "a scrub is under way");
  }
  if (thread_.joinable()) thread_.join();  // one that has ended
  stopping_.store(false);
  {
    const MutexLock guard(mutex_);
    state_ = "running";
    error_.clear();
    progress_ = {};
    damages_.clear();
  }
  auto made =
      make_thread("the thread that scrubs", [this, bytes_per_second, anew] { run(bytes_per_second, anew); });
  if (made) {
    thread_ = std::move(*made);
    return {};
  }
  const MutexLock guard(mutex_);
  state_ = "failed";
  error_ = made.error().message();
  return fail(made.error());
}

void ScrubJob::stop() {
  const MutexLock one_at_a_time(control_);
  stopping_.store(true);
  if (thread_.joinable()) thread_.join();
}

void ScrubJob::run(std::uint64_t bytes_per_second, bool anew) {
  ScrubOptions options;
  options.bytes_per_second = bytes_per_second;
  options.anew = anew;
  options.go_on = [this] { return !stopping_.load(std::memory_order_relaxed); };
  options.on_damage = [this](const std::string& sentence) {
    fs_.log("scrub: " + sentence);
    const MutexLock guard(mutex_);
    if (damages_.size() < kDamagesKept) damages_.push_back(sentence);
  };
  options.on_progress = [this](const ScrubProgress& progress) {
    const MutexLock guard(mutex_);
    progress_ = progress;
  };
  const auto done = Scrub(fs_, std::move(options)).run();
  const MutexLock guard(mutex_);
  if (done) progress_ = *done;
  state_ = !done ? "failed" : done->finished ? "done" : "stopped";
  if (!done) error_ = done.error().message();
}

std::string ScrubJob::status_json() const {
  const MutexLock guard(mutex_);
  nlohmann::ordered_json j{{"state", state_},
                           {"error", error_},
                           {"files", progress_.files},
                           {"bytes", progress_.bytes},
                           {"sealed", progress_.sealed},
                           {"damaged", progress_.damaged},
                           {"damages", damages_}};
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cffs
