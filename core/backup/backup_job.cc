#include "core/backup/backup_job.h"

#include <nlohmann/json.hpp>

#include "core/backup/directory_place.h"

namespace cffs {
namespace {

constexpr std::size_t kDamagesKept = 100;  // an extended attribute has 64 KiB; the log has all of them

}  // namespace

Result<BackupProgress> back_up(FileSystem& fs, const std::string& place, BackupOptions options) {
  CFFS_TRY(const auto directory, DirectoryPlace::open(place, fs.objects().description()));
  return Backup(fs, *directory, std::move(options)).run();
}

Status BackupJob::request(const std::string& json) {
  const auto asked = nlohmann::json::parse(json, nullptr, false);
  const auto malformed = [] { return fail(Error::usage("no such request of a backup")); };
  if (!asked.is_object()) return malformed();
  const auto rate = asked.value("rate", nlohmann::json(0));
  const auto stops = asked.value("stop", nlohmann::json(false));
  const auto place = asked.value("place", nlohmann::json(""));
  if ((!rate.is_number_unsigned() && rate != 0) || !stops.is_boolean() || !place.is_string())
    return malformed();
  if (stops.get<bool>()) {
    stop();
    return {};
  }
  return start(place.get<std::string>(), rate.get<std::uint64_t>());
}

Status BackupJob::start(const std::string& place, std::uint64_t bytes_per_second) {
  const auto begin = [&] {
    const MutexLock guard(mutex_);
    place_ = place;
    began_ms_ = fs_.clock().steady_ms();
    progress_ = {};
    damages_.clear();
  };
  return thread_.start(begin, [this, place, bytes_per_second] { return run(place, bytes_per_second); });
}

JobThread::State BackupJob::run(const std::string& place, std::uint64_t bytes_per_second) {
  BackupOptions options;
  options.bytes_per_second = bytes_per_second;
  options.go_on = [this] { return thread_.go_on(); };
  options.on_damage = [this](const std::string& sentence) {
    if (told_ == Damages::logged) fs_.log("backup: " + sentence);
    const MutexLock guard(mutex_);
    if (told_ == Damages::in_status || damages_.size() < kDamagesKept) damages_.push_back(sentence);
  };
  options.on_progress = [this](const BackupProgress& progress) {
    const MutexLock guard(mutex_);
    progress_ = progress;
  };
  const auto done = back_up(fs_, place, std::move(options));
  const MutexLock guard(mutex_);
  took_ms_ = fs_.clock().steady_ms() - began_ms_;
  if (!done) return {done.error().errno_value == EINTR ? "stopped" : "failed", done.error().message()};
  progress_ = *done;
  return {"done", ""};
}

std::string BackupJob::status_json() const {
  const JobThread::State now = thread_.state();
  const MutexLock guard(mutex_);
  const bool running = now.state == "running";
  const std::int64_t ms = running ? fs_.clock().steady_ms() - began_ms_ : took_ms_;
  nlohmann::ordered_json j{{"state", now.state},
                           {"error", now.error},
                           {"place", place_},
                           {"moment_ns", progress_.at_ns},
                           {"paused_us", progress_.paused_us},
                           {"files", progress_.files},
                           {"objects_copied", progress_.copied},
                           {"objects_shared", progress_.shared},
                           {"objects_kept", progress_.kept},
                           {"bytes", progress_.bytes},
                           {"ms", ms},
                           {"damaged", progress_.damaged},
                           {"rows_damaged", progress_.rows_damaged},
                           {"damages", damages_}};
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cffs
