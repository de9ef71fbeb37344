// Requests and replies in the memory that a ring entry shares with the kernel.
#include <catch2/catch.hpp>

#define FUSE_USE_VERSION 314
#include <linux/fuse.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "fusefs/ring_message.h"

using namespace cffs;

namespace {

constexpr std::size_t kPayload = 1u << 16;

// What the kernel does: the three parts of a request, each in its place.
struct AsTheKernel {
  explicit AsTheKernel(const RingMessage& message)
      : header(static_cast<RingHeader*>(message.buffers()[0].iov_base)),
        payload(static_cast<char*>(message.buffers()[1].iov_base)) {}

  void put(std::uint32_t opcode, std::uint64_t unique, const std::string& own_header,
           const std::string& rest) {
    fuse_in_header in{};
    in.len = static_cast<std::uint32_t>(sizeof in + own_header.size() + rest.size());
    in.opcode = opcode;
    in.unique = unique;
    put_header(in);
    std::memcpy(header->op_in, own_header.data(), own_header.size());
    std::memcpy(payload, rest.data(), rest.size());
    header->entry.payload_size = static_cast<std::uint32_t>(rest.size());
    header->entry.commit_id = unique;
  }
  void put_header(const fuse_in_header& in) { std::memcpy(header->in_out, &in, sizeof in); }
  fuse_out_header reply() const {
    fuse_out_header out;
    std::memcpy(&out, header->in_out, sizeof out);
    return out;
  }
  std::string data() const { return {payload, header->entry.payload_size}; }

  RingHeader* header;
  char* payload;
};

Status reply_with(RingMessage& message, int error, std::vector<std::string> pieces) {
  fuse_out_header out{sizeof out, error, message.unique()};
  for (const std::string& piece : pieces) out.len += static_cast<std::uint32_t>(piece.size());
  std::vector<iovec> list{{&out, sizeof out}};
  for (std::string& piece : pieces) list.push_back({piece.data(), piece.size()});
  return message.answer(list.data(), static_cast<int>(list.size()));
}

std::string bytes_of(const fuse_buf& request) {
  return {static_cast<const char*>(request.mem), request.size};
}

}  // namespace

TEST_CASE("the ring's structs lie as the kernel has them", "[ring]") {
  CHECK(offsetof(RingHeader, op_in) == 128);
  CHECK(offsetof(RingHeader, entry) == 256);
  CHECK(offsetof(RingEntryState, commit_id) == 8);
  CHECK(offsetof(RingEntryState, payload_size) == 16);
  CHECK(offsetof(RingCommand, commit_id) == 8);
  CHECK(offsetof(RingCommand, queue) == 16);
}

TEST_CASE("a request comes in one piece, and its data are not copied", "[ring]") {
  auto message = RingMessage::make(kPayload);
  REQUIRE(message);
  AsTheKernel kernel(*message);

  fuse_write_in own{};
  own.fh = 7;
  own.size = 5000;
  const std::string own_header(reinterpret_cast<const char*>(&own), sizeof own);
  const std::string data(5000, 'd');
  kernel.put(FUSE_WRITE, 42, own_header, data);
  const auto write = message->open();
  REQUIRE(write);
  CHECK(write->size == sizeof(fuse_in_header) + sizeof own + data.size());
  CHECK(bytes_of(*write).substr(sizeof(fuse_in_header)) == own_header + data);
  CHECK(static_cast<char*>(write->mem) + sizeof(fuse_in_header) + sizeof own == kernel.payload);
  CHECK(message->unique() == 42);
  CHECK(message->commit_id() == 42);

  kernel.put(FUSE_LOOKUP, 44, "", std::string("name\0", 5));  // without a header of its own
  const auto lookup = message->open();
  REQUIRE(lookup);
  CHECK(bytes_of(*lookup).substr(sizeof(fuse_in_header)) == std::string("name\0", 5));

  kernel.put(FUSE_STATFS, 46, "", "");
  const auto statfs = message->open();
  REQUIRE(statfs);
  CHECK(statfs->size == sizeof(fuse_in_header));

  kernel.put(FUSE_SETATTR, 48, std::string(kRingHeaderBytes, 'h'),
             std::string(kPayload, 'p'));  // as much as there can be
  const auto largest = message->open();
  REQUIRE(largest);
  CHECK(bytes_of(*largest).substr(sizeof(fuse_in_header)) ==
        std::string(kRingHeaderBytes, 'h') + std::string(kPayload, 'p'));
}

TEST_CASE("a request whose lengths contradict each other is none", "[ring]") {
  auto message = RingMessage::make(kPayload);
  REQUIRE(message);
  AsTheKernel kernel(*message);
  fuse_in_header in{};
  in.unique = 5;

  const auto opens = [&](std::size_t length, std::size_t payload) {
    in.len = static_cast<std::uint32_t>(length);
    kernel.put_header(in);
    kernel.header->entry.payload_size = static_cast<std::uint32_t>(payload);
    return message->open().has_value();
  };
  CHECK(opens(sizeof in, 0));
  CHECK_FALSE(opens(sizeof in - 1, 0));
  CHECK_FALSE(opens(0, 0));
  CHECK_FALSE(opens(sizeof in, 1));
  CHECK(opens(sizeof in + 1, 1));
  CHECK(opens(sizeof in + kRingHeaderBytes, 0));
  CHECK_FALSE(opens(sizeof in + kRingHeaderBytes + 1, 0));
  CHECK_FALSE(opens(sizeof in + kPayload + 1, kPayload + 1));
  CHECK_FALSE(opens(0xffffffff, 0xffffffff));
  message->answer_error(EIO);  // and can be answered
  message->seal();
  CHECK(kernel.reply().error == -EIO);
  CHECK(kernel.reply().unique == 5);
}

TEST_CASE("a reply lies where the kernel looks for it, and the request until then", "[ring]") {
  auto message = RingMessage::make(kPayload);
  REQUIRE(message);
  AsTheKernel kernel(*message);

  kernel.put(FUSE_GETXATTR, 10, std::string(8, 'h'), "user.name");
  const auto request = message->open();
  REQUIRE(request);
  const std::string before = bytes_of(*request);
  REQUIRE(reply_with(*message, 0, {std::string(100, 'a'), std::string(20'000, 'b')}));
  CHECK(bytes_of(*request) == before);
  CHECK(message->room(1) == nullptr);  // the name lies there
  message->seal();
  CHECK(kernel.data() == std::string(100, 'a') + std::string(20'000, 'b'));
  CHECK(kernel.reply().unique == 10);
  CHECK(kernel.reply().error == 0);

  kernel.put(FUSE_LOOKUP, 12, "", "none");  // what came before is not in the way
  REQUIRE(message->open());
  REQUIRE(reply_with(*message, -ENOENT, {}));
  message->seal();
  CHECK(kernel.reply().error == -ENOENT);
  CHECK(kernel.header->entry.payload_size == 0);
}

TEST_CASE("a reply that was made in the room for it is not copied", "[ring]") {
  auto message = RingMessage::make(kPayload);
  REQUIRE(message);
  AsTheKernel kernel(*message);
  kernel.put(FUSE_READ, 20, std::string(sizeof(fuse_read_in), 'r'), "");
  REQUIRE(message->open());
  CHECK(message->room(kPayload + 1) == nullptr);
  std::byte* room = message->room(kPayload);
  REQUIRE(room == reinterpret_cast<std::byte*>(kernel.payload));
  std::memset(room, 'x', 30'000);
  fuse_out_header out{sizeof out + 30'000, 0, 20};
  const iovec pieces[2] = {{&out, sizeof out}, {room, 30'000}};
  REQUIRE(message->answer(pieces, 2));
  message->seal();
  CHECK(kernel.data() == std::string(30'000, 'x'));

  kernel.put(FUSE_READDIR, 22, std::string(sizeof(fuse_read_in), 'r'), "");  // from memory of its own
  REQUIRE(message->open());
  REQUIRE(reply_with(*message, 0, {"entries"}));
  message->seal();
  CHECK(kernel.data() == "entries");
}

TEST_CASE("a reply that is too large or has no header is refused", "[ring]") {
  auto message = RingMessage::make(kPayload);
  REQUIRE(message);
  AsTheKernel kernel(*message);
  kernel.put(FUSE_READLINK, 30, "", "");
  REQUIRE(message->open());
  CHECK(reply_with(*message, 0, {std::string(kPayload, 'x')}));
  const Status too_large = reply_with(*message, 0, {std::string(kPayload, 'x'), "y"});
  REQUIRE_FALSE(too_large);
  CHECK(too_large.error().errno_value == EMSGSIZE);
  char little[8] = {};
  const iovec piece{little, sizeof little};
  CHECK_FALSE(message->answer(&piece, 1));
}
