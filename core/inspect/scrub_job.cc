#include "core/inspect/scrub_job.h"

#include <nlohmann/json.hpp>
#include <utility>

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
  const auto begin = [this] {
    const MutexLock guard(mutex_);
    progress_ = {};
    damages_.clear();
  };
  return thread_.start(begin, [this, bytes_per_second, anew] { return run(bytes_per_second, anew); });
}

JobThread::State ScrubJob::run(std::uint64_t bytes_per_second, bool anew) {
  ScrubOptions options;
  options.bytes_per_second = bytes_per_second;
  options.anew = anew;
  options.go_on = [this] { return thread_.go_on(); };
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
  if (!done) return {"failed", done.error().message()};
  progress_ = *done;
  return {done->finished ? "done" : "stopped", ""};
}

std::string ScrubJob::status_json() const {
  const JobThread::State now = thread_.state();
  const MutexLock guard(mutex_);
  nlohmann::ordered_json j{{"state", now.state},
                           {"error", now.error},
                           {"files", progress_.files},
                           {"bytes", progress_.bytes},
                           {"bytes_in_all", progress_.bytes_in_all},
                           {"sealed", progress_.sealed},
                           {"damaged", progress_.damaged},
                           {"damages", damages_}};
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cffs
