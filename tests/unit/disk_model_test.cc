// Modelled disks, without waiting: what fio would see.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "bench/disk/disk_profile.h"

namespace cffs::bench::test {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
using Kind = DiskRequest::Kind;

// Keeps `depth` requests under way until `count` are done; returns the seconds that took.
double play(DiskModel& disk, std::int64_t& now, std::uint64_t count, unsigned depth,
            const std::function<DiskRequest(std::uint64_t)>& make) {
  const std::int64_t start = now;
  std::uint64_t sent = 0, done = 0;
  std::vector<std::uint64_t> completed;
  const auto send = [&] {
    DiskRequest request = make(sent);
    request.id = ++sent;
    disk.submit(now, request);
  };
  while (sent < std::min<std::uint64_t>(depth, count)) send();
  while (done < count) {
    const std::int64_t next = disk.next_event_ns();
    REQUIRE(next != DiskModel::kNever);
    REQUIRE(next >= now - 1);
    now = std::max(now, next);
    completed.clear();
    disk.advance(now, completed);
    for (std::size_t i = 0; i < completed.size(); ++i) {
      ++done;
      if (sent < count) send();
    }
  }
  return static_cast<double>(now - start) / kSecond;
}

constexpr std::uint64_t kBytes = 8ull << 30;

}  // namespace

TEST_CASE("cloud disk: latency, requests and bytes a second are what the profile says") {
  const auto disk = make_disk_model("cloud", kBytes);
  REQUIRE(disk);
  std::mt19937_64 random(1);
  const auto anywhere = [&](std::uint64_t) {
    return DiskRequest{Kind::read, 0, random() % kBytes / 4096 * 4096, 4096};
  };
  std::int64_t now = kSecond;
  const double one = play(**disk, now, 2000, 1, anywhere) / 2000;
  REQUIRE(one == Approx(CloudProfile{}.latency_s + 4096 / 125e6).epsilon(0.01));
  now += kSecond;
  REQUIRE(6000 / play(**disk, now, 6000, 32, anywhere) == Approx(3000).epsilon(0.01));
  now += kSecond;
  const auto onward = [](std::uint64_t i) { return DiskRequest{Kind::read, 0, i << 20, 1u << 20}; };
  REQUIRE(500 * 1048576.0 / play(**disk, now, 500, 8, onward) == Approx(125e6).epsilon(0.01));
}

TEST_CASE("hard disk: random reads, sequential reads and writes, appends that are synced") {
  const auto made = make_disk_model("hdd", kBytes);
  REQUIRE(made);
  DiskModel& disk = **made;
  std::mt19937_64 random(1);
  std::int64_t now = kSecond;
  const auto anywhere = [&](std::uint64_t) {
    return DiskRequest{Kind::read, 0, random() % kBytes / 4096 * 4096, 4096};
  };
  const double single = play(disk, now, 3000, 1, anywhere) / 3000;
  REQUIRE(single == Approx(0.0067).epsilon(0.05));
  // Several at once: the nearest in time goes first.
  const double queued = play(disk, now, 3000, 16, anywhere) / 3000;
  REQUIRE(queued < 0.7 * single);
  REQUIRE(queued > 0.3 * single);
  now += kSecond;
  const auto onward = [](std::uint64_t i) { return DiskRequest{Kind::read, 0, i * 131072, 131072}; };
  REQUIRE(2000 * 131072.0 / play(disk, now, 2000, 1, onward) == Approx(130e6).epsilon(0.03));
  now += kSecond;
  const auto written = [](std::uint64_t i) {
    return DiskRequest{Kind::write, 0, (1ull << 30) + i * (1u << 20), 1u << 20};
  };
  REQUIRE(2000 * 1048576.0 / play(disk, now, 2000, 4, written) < 145e6);
  now += 100 * kSecond;
  std::vector<std::uint64_t> completed;
  disk.advance(now, completed);
  // A write next to the last one, and a flush, with a moment of thought between: a rotation each.
  std::uint64_t at = 2ull << 30;
  const std::int64_t start = now;
  for (int i = 0; i < 200; ++i) {
    play(disk, now, 1, 1, [&](std::uint64_t) { return DiskRequest{Kind::write, 0, at, 4096}; });
    play(disk, now, 1, 1, [&](std::uint64_t) { return DiskRequest{Kind::flush, 0, 0, 0}; });
    at += 4096;
    now += 50'000;
  }
  REQUIRE(static_cast<double>(now - start) / 200 / kSecond == Approx(60.0 / 7200).epsilon(0.05));
}

TEST_CASE("hard disk: what goes on where the last read ended is not left for something short nearby") {
  const auto made = make_disk_model("hdd", kBytes);
  REQUIRE(made);
  DiskModel& disk = **made;
  constexpr std::uint64_t kLong = 512u << 10, kStart = 1ull << 30;
  disk.submit(kSecond, {Kind::read, 1, kStart, kLong});
  // Three tracks further on, where the arm could be when it has settled.
  disk.submit(kSecond, {Kind::read, 2, kStart + kLong + 3'379'200, 4096});
  disk.submit(kSecond, {Kind::read, 3, kStart + kLong, kLong});
  std::vector<std::uint64_t> completed;
  while (completed.size() < 3) disk.advance(disk.next_event_ns(), completed);
  REQUIRE(completed == std::vector<std::uint64_t>{1, 3, 2});
}

TEST_CASE("hard disk: written data is read from its memory, a flush waits for all of it, nothing starves") {
  const auto made = make_disk_model("hdd", kBytes);
  DiskModel& disk = **made;
  std::mt19937_64 random(2);
  std::int64_t now = kSecond;
  std::uint64_t last = 0;
  play(disk, now, 100, 100, [&](std::uint64_t) {
    last = random() % kBytes / 4096 * 4096;
    return DiskRequest{Kind::write, 0, last, 4096};
  });
  REQUIRE(now - kSecond < 50'000'000);  // in memory: long before 100 seeks
  const std::int64_t before = now;
  play(disk, now, 1, 1, [&](std::uint64_t) { return DiskRequest{Kind::read, 0, last, 4096}; });
  REQUIRE(now - before < 1'000'000);
  const std::int64_t flushed = now;
  play(disk, now, 1, 1, [&](std::uint64_t) { return DiskRequest{Kind::flush, 0, 0, 0}; });
  REQUIRE(now - flushed > 100'000'000);
  // Reads that never end, and one flush among them.
  bool flush_sent = false;
  play(disk, now, 500, 8, [&](std::uint64_t i) {
    if (i == 100) flush_sent = true;
    if (i % 5 == 1) return DiskRequest{Kind::write, 0, random() % kBytes / 4096 * 4096, 4096};
    if (i == 100) return DiskRequest{Kind::flush, 0, 0, 0};
    return DiskRequest{Kind::read, 0, random() % kBytes / 4096 * 4096, 4096};
  });
  REQUIRE(flush_sent);
}

TEST_CASE("disks have names, others are refused") {
  REQUIRE(make_disk_model("raw", kBytes)->get() == nullptr);
  REQUIRE(!make_disk_model("tape", kBytes));
}

}  // namespace cffs::bench::test
