// When the kernel has to be told that what it was told may be old.
#include "fusefs/attribute_receipts.h"

#include <catch2/catch.hpp>
#include <memory>

namespace cffs::test {
namespace {

constexpr InodeId kDirectory{7};
constexpr pid_t kMe = 100, kYou = 200;

}  // namespace

TEST_CASE("who is alone is never late") {
  const auto receipts = std::make_unique<fuse::AttributeReceipts>();
  CHECK_FALSE(receipts->may_be_late(kDirectory, kMe, 1));
  for (std::uint16_t at = 1; at < 20; ++at) {
    receipts->told(kDirectory, kMe, at);
    CHECK_FALSE(receipts->may_be_late(kDirectory, kMe, at));
  }
}

TEST_CASE("somebody else who was told may be late, for a while") {
  const auto receipts = std::make_unique<fuse::AttributeReceipts>();
  receipts->told(kDirectory, kYou, 10);
  CHECK(receipts->may_be_late(kDirectory, kMe, 10));
  receipts->told(kDirectory, kMe, 11);  // that does not make them less late
  CHECK(receipts->may_be_late(kDirectory, kMe, 12));
  CHECK(receipts->may_be_late(kDirectory, kYou, 12));
  receipts->told(kDirectory, kMe, 14);
  CHECK_FALSE(receipts->may_be_late(kDirectory, kMe, 14));
  CHECK(receipts->may_be_late(kDirectory, kYou, 14));
  CHECK_FALSE(receipts->may_be_late(kDirectory, kYou, 18));
}

TEST_CASE("somebody whose number is not known is always somebody else") {
  const auto receipts = std::make_unique<fuse::AttributeReceipts>();
  receipts->told(kDirectory, 0, 10);
  CHECK(receipts->may_be_late(kDirectory, 0, 11));
  CHECK(receipts->may_be_late(kDirectory, kMe, 11));
}

TEST_CASE("seconds are counted across the end of their number") {
  const auto receipts = std::make_unique<fuse::AttributeReceipts>();
  receipts->told(kDirectory, kYou, 65535);
  CHECK(receipts->may_be_late(kDirectory, kMe, 1));
  CHECK_FALSE(receipts->may_be_late(kDirectory, kMe, 10));
}

TEST_CASE("files are not told apart, and nothing of theirs is a directory's") {
  const auto receipts = std::make_unique<fuse::AttributeReceipts>();
  CHECK_FALSE(receipts->file_may_be_late(kMe, 1));
  receipts->told_of_file(kYou, 10);
  CHECK(receipts->file_may_be_late(kMe, 10));
  CHECK(receipts->file_may_be_late(0, 10));
  CHECK_FALSE(receipts->file_may_be_late(kYou, 10));
  CHECK_FALSE(receipts->may_be_late(kDirectory, kMe, 10));
}

TEST_CASE("a third who is told in the same second is known, too") {
  const auto receipts = std::make_unique<fuse::AttributeReceipts>();
  constexpr pid_t kThird = 300;
  for (const pid_t task : {kMe, kYou, kThird}) receipts->told(kDirectory, task, 10);
  for (const pid_t task : {kMe, kYou, kThird}) CHECK(receipts->may_be_late(kDirectory, task, 13));
  receipts->told(kDirectory, kMe, 13);
  CHECK(receipts->may_be_late(kDirectory, kMe, 13));
  receipts->told(kDirectory, kMe, 14);
  CHECK_FALSE(receipts->may_be_late(kDirectory, kMe, 14));
}

}  // namespace cffs::test
