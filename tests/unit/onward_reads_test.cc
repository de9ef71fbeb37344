// Reading ahead for who reads an object of a region store from its beginning to its end, and for nobody else.
#include "core/region/onward_reads.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/region/memory_device.h"
#include "core/region/region_store.h"

namespace cffs::test {
namespace {

using region::OnwardReads;

// Notes what is read and what is fetched, in order.
class NotingDevice final : public BlockDevice {
 public:
  explicit NotingDevice(std::vector<DeviceRange>& fetched) : below_(64u << 20), fetched_(fetched) {}
  std::uint64_t size() const override { return below_.size(); }
  Status read(std::uint64_t offset, Bytes out) const override { return below_.read(offset, out); }
  void prefetch(DeviceRange range) const override { fetched_.push_back(range); }
  Status write(std::uint64_t offset, ConstBytes data) override { return below_.write(offset, data); }
  Status flush(std::span<const DeviceRange> ranges) override { return below_.flush(ranges); }
  Status flush_everything() override { return below_.flush_everything(); }
  std::uint64_t incarnation() const override { return below_.incarnation(); }
  Result<std::unique_ptr<StoreLock>> lock(bool writes) override { return below_.lock(writes); }
  std::string description() const override { return below_.description(); }

 private:
  MemoryDevice below_;
  std::vector<DeviceRange>& fetched_;
};

std::uint64_t bytes_of(const std::vector<DeviceRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const DeviceRange& range : ranges) bytes += range.length;
  return bytes;
}

}  // namespace

TEST_CASE("who reads on gets windows that double and do not overlap") {
  OnwardReads reads;
  std::uint64_t fetched = 0, windows = 0;
  for (std::uint64_t at = 0; at < (8u << 20); at += 4096) {
    const DeviceRange range = reads.before(at, 4096);
    if (range.length == 0) continue;
    ++windows;
    REQUIRE(range.offset >= fetched);
    REQUIRE(range.offset <= std::max(fetched, at));  // nothing is left out
    fetched = range.offset + range.length;
  }
  REQUIRE(fetched >= (8u << 20));
  REQUIRE(fetched <= (8u << 20) + OnwardReads::kMost + 4096);
  REQUIRE(windows < 30);
}

TEST_CASE("what memory had is skipped by who reads on") {
  OnwardReads reads;
  REQUIRE(reads.before(0, 4096).length == 0);  // one read says nothing
  const DeviceRange first = reads.before(4096, 4096);
  REQUIRE(first.length >= OnwardReads::kFirst);
  // All of the window is in memory: the next read that waits lies behind it.
  REQUIRE(reads.before(first.offset + first.length + 8192, 4096).length > OnwardReads::kFirst);
}

TEST_CASE("who reads here and there gets nothing, also after having read on") {
  OnwardReads reads;
  for (std::uint64_t i = 0; i < 4; ++i) (void)reads.before(i * 4096, 4096);
  for (std::uint64_t i = 1; i < 100; ++i) {
    const std::uint64_t at = (i * 37 % 101) << 20;
    REQUIRE(reads.before(at, 4096).length == 0);
  }
}

TEST_CASE(
    "an object of a region store is read ahead of who reads on, unless that has a read-ahead of its own") {
  std::vector<DeviceRange> fetched;
  auto device = std::make_unique<NotingDevice>(fetched);
  REQUIRE(RegionStore::format(*device, {std::uint64_t{8} << 20, 512 * 1024}));
  auto store = RegionStore::open(std::move(device));
  REQUIRE(store);
  auto object = (*store)->create("table/000005.ldb", ObjectStore::Create::exclusive);
  REQUIRE(object);
  const std::string data(2u << 20, 'x');
  REQUIRE((*object)->write_at(0, as_bytes(data)));
  const auto reader = (*store)->open("table/000005.ldb");
  REQUIRE(reader);
  std::string block(4096, '\0');
  fetched.clear();
  for (std::uint64_t at = 0; at < data.size(); at += block.size())
    REQUIRE((*reader)->read_at(at, as_writable_bytes(block)));
  REQUIRE(fetched.size() < 20);
  REQUIRE(bytes_of(fetched) + 8192 >= data.size());
  REQUIRE(bytes_of(fetched) <= data.size());  // nothing behind its end

  const auto composite = (*store)->open("table/000005.ldb");
  REQUIRE(composite);
  (*composite)->read_no_further();
  fetched.clear();
  for (std::uint64_t at = 0; at < data.size(); at += block.size())
    REQUIRE((*composite)->read_at(at, as_writable_bytes(block)));
  REQUIRE(fetched.empty());
}

}  // namespace cffs::test
