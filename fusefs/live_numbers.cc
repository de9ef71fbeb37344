#include "fusefs/live_numbers.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/clock.h"
#include "core/live/exposition.h"
#include "fusefs/process_numbers.h"

namespace cffs {
namespace {

using Json = nlohmann::ordered_json;

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// Since the last commit; since the mount began, where there was none.
double commit_age(const LiveCounters& c, std::int64_t began_ns) {
  return seconds(c.now_ns - (c.last_commit_ns != 0 ? c.last_commit_ns : began_ns));
}

std::uint64_t written_to_store(const LiveCounters& c) {
  return c.log_bytes_written + c.table_file_bytes_written + c.value_bytes_written +
         c.composite_bytes_written + c.blob_bytes_written;
}

std::uint64_t bytes_of(const RequestNumbers& requests, std::string_view name) {
  for (const auto& [opcode, kind] : requests.kinds) {
    if (request_name(opcode) == name) return kind.bytes;
  }
  return 0;
}

// [upper bound in ns, count] of those that are not empty, `together` neighbours as one.
Json buckets_json(const LatencyCounts& latencies, std::size_t together) {
  Json list = Json::array();
  for (std::size_t first = 0; first < kLatencyBuckets; first += together) {
    const std::size_t end = std::min(first + together, kLatencyBuckets);
    std::uint64_t n = 0;
    for (std::size_t i = first; i < end; ++i) n += latencies.buckets[i];
    if (n > 0) list.push_back({latency_upper_ns(end - 1), n});
  }
  return list;
}

Json requests_json(const RequestNumbers& requests, std::size_t together) {
  Json all = Json::object();
  for (const auto& [opcode, kind] : requests.kinds) {
    const LatencyCounts& latencies = kind.latencies;
    Json one = {{"count", latencies.count()},
                {"seconds", seconds(static_cast<std::int64_t>(latencies.sum_ns))},
                {"p50_ns", latencies.percentile_ns(0.5)},
                {"p90_ns", latencies.percentile_ns(0.9)},
                {"p99_ns", latencies.percentile_ns(0.99)},
                {"p999_ns", latencies.percentile_ns(0.999)},
                {"most_ns", latencies.percentile_ns(1)}};
    if (kind.bytes > 0) one["bytes"] = kind.bytes;
    for (const auto& [error, n] : kind.errors) one["errors"][error_name(error)] = n;
    one["buckets"] = buckets_json(latencies, together);
    all[std::string(request_name(opcode))] = std::move(one);
  }
  return all;
}

Json table_json(const LiveCounters& c) {
  return {{"files_by_level", c.table_files},
          {"block_reads", c.table_block_reads},
          {"block_read_bytes", c.table_block_read_bytes},
          {"writes", c.table_writes},
          {"syncs", c.table_syncs},
          {"log_bytes", c.log_bytes},
          {"value_log_bytes", c.value_log_bytes},
          {"read_only_after_error", c.read_only_after_error}};
}

Json written_json(const LiveCounters& c, const RequestNumbers& requests) {
  const std::uint64_t by_users = bytes_of(requests, "write"), to_store = written_to_store(c);
  Json json = {{"by_users_bytes", by_users},           {"to_store_bytes", to_store},
               {"log_bytes", c.log_bytes_written},     {"table_bytes", c.table_file_bytes_written},
               {"value_bytes", c.value_bytes_written}, {"composite_bytes", c.composite_bytes_written},
               {"blob_bytes", c.blob_bytes_written}};
  if (by_users > 0) json["amplification"] = static_cast<double>(to_store) / static_cast<double>(by_users);
  return json;
}

Json backlog_json(const LiveCounters& c) {
  return {{"staged_directories", c.staged_directories},
          {"longest_staged_s", static_cast<double>(c.longest_staged_ms) / 1e3},
          {"renamed_files", c.renamed_files},
          {"wasteful_composites", c.wasteful_composites},
          {"freed_composites", c.freed_composites},
          {"freed_bytes", c.freed_bytes},
          {"dirty_objects", c.dirty_objects}};
}

Json memory_json(const LiveCounters& c, const ProcessNumbers& process) {
  return {{"resident_bytes", process.resident_bytes}, {"table_block_cache_bytes", c.block_cache_bytes},
          {"table_rows_bytes", c.memtable_bytes},     {"frame_cache_bytes", c.frame_cache_bytes},
          {"inode_table_bytes", c.inode_table_bytes}, {"nameless_bytes", c.nameless_bytes},
          {"inodes_awake", c.inodes_awake},           {"inodes_asleep", c.inodes_asleep}};
}

void tell_requests(Exposition& e, const RequestNumbers& requests) {
  e.histogram("cffs_request_duration_seconds", "Time that the daemon had a request, by kind.");
  for (const auto& [opcode, kind] : requests.kinds)
    e.sample(kind.latencies, {{"kind", request_name(opcode)}});
  e.counter("cffs_request_errors_total", "Requests answered with an error, by kind and errno.");
  for (const auto& [opcode, kind] : requests.kinds) {
    for (const auto& [error, n] : kind.errors)
      e.sample(n, {{"kind", request_name(opcode)}, {"errno", error_name(error)}});
  }
  e.counter("cffs_read_bytes_total", "Bytes that were read from the mount.");
  e.sample(bytes_of(requests, "read"));
  e.counter("cffs_written_bytes_total", "Bytes that were written to the mount.");
  e.sample(bytes_of(requests, "write"));
  e.counter("cffs_forgotten_inodes_total", "Inodes that the kernel let go of.");
  e.sample(requests.forgotten);
}

void tell_reading(Exposition& e, FileSystem& fs) {
  const ReadAheadCounters ahead = fs.read_ahead();
  e.counter("cffs_read_ahead_bytes_total", "Bytes read from the medium beyond what was asked for.");
  e.sample(ahead.asked);
  e.counter("cffs_read_ahead_used_bytes_total", "Of these, bytes that a reader came to.");
  e.sample(ahead.used);
  e.counter("cffs_handed_over_files_total", "Files put into the kernel's cache before it asked.");
  e.sample(ahead.handed_files);
  e.counter("cffs_handed_over_bytes_total", "Their bytes.");
  e.sample(ahead.handed_bytes);
  const FrameCounters frames = fs.frames();
  e.counter("cffs_frames_decompressed_total", "Frames of packed composites that were decompressed.");
  e.sample(frames.decompressed);
  e.counter("cffs_frames_decompressed_bytes_total", "Bytes that came of it.");
  e.sample(frames.plain_bytes);
  e.counter("cffs_frame_decompression_seconds_total", "Time that it took, on all threads.");
  e.sample(seconds(static_cast<std::int64_t>(frames.nanoseconds)));
  e.counter("cffs_frame_cache_hits_total", "Frames that were wanted and in memory.");
  e.sample(frames.found);
}

void tell_table(Exposition& e, const LiveCounters& c) {
  e.gauge("cffs_table_files", "Files of the table, by LevelDB's level.");
  for (std::size_t level = 0; level < c.table_files.size(); ++level)
    e.sample(c.table_files[level], {{"level", std::to_string(level)}});
  e.counter("cffs_table_block_reads_total", "Blocks of the table that were not in its cache.");
  e.sample(c.table_block_reads);
  e.counter("cffs_table_block_read_bytes_total", "Bytes of these blocks.");
  e.sample(c.table_block_read_bytes);
  e.counter("cffs_table_writes_total", "Batches of rows that were written.");
  e.sample(c.table_writes);
  e.counter("cffs_table_syncs_total", "Syncs of the table's log.");
  e.sample(c.table_syncs);
  e.gauge("cffs_table_log_bytes", "The table's log: what a crash leaves to be replayed.");
  e.sample(c.log_bytes);
  e.gauge("cffs_value_log_bytes", "Small files that wait beside the table to be moved.");
  e.sample(c.value_log_bytes);
  e.gauge("cffs_store_read_only", "1 where a failed write or sync has made the store read-only.");
  e.sample(std::uint64_t{c.read_only_after_error});
  e.counter("cffs_store_written_bytes_total", "Bytes written to the store, by part.");
  e.sample(c.log_bytes_written, {{"part", "log"}});
  e.sample(c.table_file_bytes_written, {{"part", "table"}});
  e.sample(c.value_bytes_written, {{"part", "values"}});
  e.sample(c.composite_bytes_written, {{"part", "composites"}});
  e.sample(c.blob_bytes_written, {{"part", "blobs"}});
}

void tell_background(Exposition& e, const LiveCounters& c, std::int64_t began_ns) {
  e.counter("cffs_commits_total", "Commits that made everything durable.");
  e.sample(c.commits);
  e.counter("cffs_commit_failures_total", "Commits that failed.");
  e.sample(c.commit_failures);
  e.gauge("cffs_commit_age_seconds", "Time since the last commit.");
  e.sample(commit_age(c, began_ns));
  e.gauge("cffs_commit_interval_seconds", "Time between commits; 0 of a mount that only reads.");
  e.sample(seconds(c.commit_interval_ns));
  e.gauge("cffs_last_commit_duration_seconds", "Time that the last commit took.");
  e.sample(seconds(c.last_commit_took_ns));
  e.gauge("cffs_dirty_objects", "Objects that the next commit has to sync.");
  e.sample(c.dirty_objects);
  e.gauge("cffs_staged_directories", "Directories with files that wait to join a composite.");
  e.sample(c.staged_directories);
  e.gauge("cffs_longest_staged_seconds", "Time that the first of them has waited.");
  e.sample(static_cast<double>(c.longest_staged_ms) / 1e3);
  e.gauge("cffs_wasteful_composites", "Composites that are half freed and wait for compaction.");
  e.sample(c.wasteful_composites);
  e.gauge("cffs_freed_composites", "Composites of which room is known to be freed.");
  e.sample(c.freed_composites);
  e.gauge("cffs_freed_bytes", "That room.");
  e.sample(c.freed_bytes);
}

void tell_process(Exposition& e, const LiveCounters& c, std::int64_t began_ns) {
  e.gauge("cffs_memory_bytes", "Memory that the daemon keeps, by part.");
  e.sample(c.block_cache_bytes, {{"part", "table_block_cache"}});
  e.sample(c.memtable_bytes, {{"part", "table_rows"}});
  e.sample(c.frame_cache_bytes, {{"part", "frame_cache"}});
  e.sample(c.inode_table_bytes, {{"part", "inode_table"}});
  e.sample(c.nameless_bytes, {{"part", "nameless_files"}});
  e.gauge("cffs_inodes",
          "Inodes that the kernel refers to: whole in memory, or as a reference to their row.");
  e.sample(c.inodes_awake, {{"state", "awake"}});
  e.sample(c.inodes_asleep, {{"state", "asleep"}});
  const ProcessNumbers p = process_numbers();
  e.counter("process_cpu_seconds_total", "Processor time of the daemon, in seconds.");
  e.sample(p.cpu_seconds);
  e.gauge("process_resident_memory_bytes", "Resident memory of the daemon.");
  e.sample(p.resident_bytes);
  e.gauge("process_virtual_memory_bytes", "Virtual memory of the daemon.");
  e.sample(p.virtual_bytes);
  e.gauge("process_open_fds", "Open descriptors of the daemon.");
  e.sample(p.descriptors);
  e.gauge("process_max_fds", "Most descriptors that it may have open.");
  e.sample(p.most_descriptors);
  e.gauge("process_threads", "Threads of the daemon.");
  e.sample(p.threads);
  e.gauge("process_start_time_seconds", "When the mount began, in seconds since 1970.");
  e.sample(seconds(began_ns));
}

}  // namespace

LiveNumbers::LiveNumbers(FileSystem& fs, const RequestCounts& requests, const DaemonLog& log,
                         const std::atomic<bool>& over_ring)
    : fs_(fs),
      requests_(requests),
      log_(log),
      over_ring_(over_ring),
      began_ns_(SystemClock().now_ns()),
      began_steady_ns_(static_cast<std::int64_t>(elapsed_ns())) {}

std::string LiveNumbers::json(std::size_t most) const {
  const RequestNumbers requests = requests_.numbers();
  const LiveCounters c = fs_.live_counters();
  const ProcessNumbers process = process_numbers();
  const ReadAheadCounters ahead = fs_.read_ahead();
  const FrameCounters frames = fs_.frames();
  Json json = {{"uptime_s", seconds(static_cast<std::int64_t>(elapsed_ns()) - began_steady_ns_)},
               {"transport", over_ring_ ? "ring" : "device"},
               {"requests", Json::object()},
               {"forgotten_inodes", requests.forgotten},
               {"read_ahead",
                {{"bytes", ahead.asked},
                 {"used_bytes", ahead.used},
                 {"unused_bytes", ahead.asked > ahead.used ? ahead.asked - ahead.used : 0}}},
               {"handed_over", {{"files", ahead.handed_files}, {"bytes", ahead.handed_bytes}}},
               {"frames",
                {{"decompressed", frames.decompressed},
                 {"bytes", frames.plain_bytes},
                 {"seconds", seconds(static_cast<std::int64_t>(frames.nanoseconds))},
                 {"in_memory", frames.found}}},
               {"table", table_json(c)},
               {"commits",
                {{"count", c.commits},
                 {"failed", c.commit_failures},
                 {"age_s", commit_age(c, began_steady_ns_)},
                 {"interval_s", seconds(c.commit_interval_ns)},
                 {"last_took_s", seconds(c.last_commit_took_ns)}}},
               {"backlog", backlog_json(c)},
               {"written", written_json(c, requests)},
               {"memory", memory_json(c, process)},
               {"process",
                {{"descriptors", process.descriptors},
                 {"most_descriptors", process.most_descriptors},
                 {"threads", process.threads},
                 {"cpu_seconds", process.cpu_seconds}}},
               {"log_lines", Json::object()}};
  for (const auto& [level, n] : log_.counts()) json["log_lines"][std::string(level)] = n;
  constexpr std::size_t kOctave = std::size_t{1} << kLatencySubBits;
  for (std::size_t together = 1;; together *= 2) {
    json["requests"] = requests_json(requests, together);
    std::string text = json.dump();
    if (text.size() <= most || together >= kOctave) return text;
  }
}

std::string LiveNumbers::exposition() const {
  const RequestNumbers requests = requests_.numbers();
  const LiveCounters c = fs_.live_counters();
  Exposition e;
  e.gauge("cffs_mount_info", "1; how requests come from the kernel.");
  e.sample(std::uint64_t{1}, {{"transport", over_ring_ ? "ring" : "device"}});
  tell_requests(e, requests);
  tell_reading(e, fs_);
  tell_table(e, c);
  tell_background(e, c, began_steady_ns_);
  tell_process(e, c, began_ns_);
  e.counter("cffs_log_lines_total", "Lines that the daemon has logged, by level.");
  for (const auto& [level, n] : log_.counts()) e.sample(n, {{"level", level}});
  return e.text();
}

}  // namespace cffs
