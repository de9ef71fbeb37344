// zstd without memory for its state: what it could not read then is not called damaged, and is read once there is memory again.
#include <catch2/catch.hpp>
#include <thread>

#include "core/object/memory_store.h"
#include "core/packed/dictionary.h"
#include "core/packed/frame_codec.h"
#include "core/packed/packed_object.h"
#include "core/packed/packer.h"
#include "core/packed/unpacker.h"

namespace {

// Of this thread.
thread_local bool zstd_has_no_memory = false;

}  // namespace

extern "C" {
struct ZSTD_DCtx_s* ZSTD_createDStream();
struct ZSTD_CCtx_s* ZSTD_createCStream();

// They come before those of the library, which makes the same by the names above.
struct ZSTD_DCtx_s* ZSTD_createDCtx() {
  return zstd_has_no_memory ? nullptr : ZSTD_createDStream();
}
struct ZSTD_CCtx_s* ZSTD_createCCtx() {
  return zstd_has_no_memory ? nullptr : ZSTD_createCStream();
}
}

namespace cffs::test {
namespace {

const Compression kQuickZstd{Codec::zstd, 1};

// Whatever a thread that never had a context before meets.
template <typename Body>
void in_new_thread(Body body) {
  std::thread thread([&] {
    body();
    zstd_has_no_memory = false;
  });
  thread.join();
}

std::shared_ptr<Object> packed_in(MemoryStore& store, const std::string& plain) {
  auto object = *store.create("composites/0/7", ObjectStore::Create::truncate);
  REQUIRE(object->write_at(0, as_bytes(*pack(plain, {}, kQuickZstd))));
  auto opened = PackedObject::open(object, "composites/0/7", std::make_shared<FrameCache>());
  REQUIRE(opened);
  return *opened;
}

}  // namespace

TEST_CASE("a thread that once had no memory for zstd's state reads packed composites later",
          "[packed][shortage]") {
  MemoryStore store;
  const std::string plain(200'000, 'p');
  const auto object = packed_in(store, plain);
  const auto& packed = dynamic_cast<const PackedObject&>(*object);
  int short_of = 0;
  bool called_damaged = false, zeros = false, later = false, unpacked = false;
  in_new_thread([&] {
    std::string out(10, '\0'), all;
    zstd_has_no_memory = true;
    const auto refused = object->read_at(0, as_writable_bytes(out));
    short_of = refused ? 0 : refused.error().errno_value;
    called_damaged = !refused && refused.error().kind == ErrorKind::corruption;
    zeros = Result<std::string>(packed.read_what_can_be()).has_value();
    const Status unpacking = unpack(*pack(plain, {}, {Codec::lz4, 0}), all);
    unpacked = unpacking.has_value() && all == plain;  // needs none of zstd's
    zstd_has_no_memory = false;
    const auto read = object->read_at(0, as_writable_bytes(out));
    later = read && out == plain.substr(0, out.size());
  });
  CHECK_FALSE(called_damaged);
  CHECK(short_of == ENOMEM);
  CHECK_FALSE(zeros);
  CHECK(unpacked);
  CHECK(later);
}

TEST_CASE("a thread that once had no memory for zstd's state compresses later", "[packed][shortage]") {
  const std::string plain(50'000, 'c');
  bool refused = false, later = false;
  in_new_thread([&] {
    zstd_has_no_memory = true;
    refused = !compress_frame(kQuickZstd, plain);
    zstd_has_no_memory = false;
    later = compress_frame(kQuickZstd, plain).has_value();
  });
  CHECK(refused);
  CHECK(later);
}

TEST_CASE("no memory is not taken for a malformed dictionary or composite", "[packed][shortage]") {
  const std::string plain(100'000, 'd');
  const auto stored = store_dictionary(std::string(2000, 'e') + "what frames have in common");
  REQUIRE(stored);
  REQUIRE(DictionaryToDecompress::of(*stored));
  const std::string whole = *pack(plain, {}, kQuickZstd);
  int of_dictionary = 0, of_composite = 0;
  in_new_thread([&] {
    std::string out;
    zstd_has_no_memory = true;
    if (const auto made = DictionaryToDecompress::of(*stored); !made)
      of_dictionary = made.error().errno_value;
    if (const Status done = unpack(whole, out); !done) of_composite = done.error().errno_value;
  });
  CHECK(of_dictionary == ENOMEM);
  CHECK(of_composite == ENOMEM);
}

// Begins as one of zstd's, and has bad tables.
TEST_CASE("a dictionary with bad tables is malformed, also where zstd does not say so",
          "[packed][shortage]") {
  const std::string bad = std::string("\x37\xa4\x30\xec\x01\x02\x03\x04", 8) + std::string(2000, '\xff');
  const auto stored = store_dictionary(bad);
  REQUIRE(stored);
  const auto made = DictionaryToDecompress::of(*stored);
  REQUIRE_FALSE(made);
  REQUIRE(made.error().kind == ErrorKind::corruption);
}

}  // namespace cffs::test
