// Packed composites as objects: whatever is read of one is what its plain bytes have, and no damage goes further than an error.
#include "core/packed/packed_object.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <thread>

#include "core/object/memory_store.h"
#include "core/packed/frame_bytes.h"
#include "core/packed/frame_codec.h"
#include "core/packed/packer.h"
#include "core/packed/unpacker.h"
#include "tests/passing_object.h"

namespace cffs::test {
namespace {

const Compression kZstd{Codec::zstd, 1}, kLz4{Codec::lz4, 0};

std::string wordy(std::size_t length, unsigned seed) {
  static constexpr const char* kWords[] = {"composite ", "frame ", "member ", "group ", "of ", "the ", "\n"};
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < length) {
    text += kWords[random() % std::size(kWords)];
    if (random() % 8 == 0) text += std::to_string(random());
  }
  text.resize(length);
  return text;
}

std::string unpackable(std::size_t length, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string bytes(length, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// Records of many lengths, some that do not shrink, one longer than several frames.
struct Sample {
  std::string plain;
  std::vector<std::uint64_t> ends;
  Sample() {
    for (unsigned i = 0; i < 60; ++i) add(wordy(i * 977 % 20'000 + 1, i));
    add(unpackable(150'000, 1));
    add(wordy(200'000, 2));
    for (unsigned i = 0; i < 40; ++i) add(i % 3 == 0 ? unpackable(3'000, i) : wordy(5'000, i));
  }
  void add(const std::string& record) {
    plain += record;
    ends.push_back(plain.size());
  }
};

std::shared_ptr<Object> put_packed(ObjectStore& store, const std::string& bytes) {
  auto object = *store.create("composites/0/7", ObjectStore::Create::truncate);
  REQUIRE(object->write_at(0, as_bytes(bytes)));
  return object;
}

// Of which the medium does not give some bytes.
class PartlyReadObject final : public PassingObject {
 public:
  PartlyReadObject(std::shared_ptr<Object> below, std::uint64_t bad_at, std::uint64_t bad_bytes,
                   int reason = EIO)
      : PassingObject(std::move(below)), bad_at_(bad_at), bad_bytes_(bad_bytes), reason_(reason) {}
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    const bool meets = offset < bad_at_ + bad_bytes_ && offset + out.size() > bad_at_;
    return meets ? fail(reason_, "the medium") : PassingObject::read_at(offset, out);
  }

 private:
  const std::uint64_t bad_at_, bad_bytes_;
  const int reason_;
};

Result<std::shared_ptr<Object>> open_packed(ObjectStore& store,
                                            std::size_t memory = FrameCache::kUsualBytes) {
  return PackedObject::open(*store.open("composites/0/7"), "composites/0/7",
                            std::make_shared<FrameCache>(memory));
}

std::string part_of(const Object& object, std::uint64_t at, std::size_t length) {
  std::string out(length, '\0');
  const auto n = object.read_at(at, as_writable_bytes(out));
  REQUIRE(n);
  out.resize(*n);
  return out;
}

std::string with_flip(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 4);
  return bytes;
}

}  // namespace

TEST_CASE("a packed object reads as its plain bytes, wherever one looks", "[packed]") {
  const Sample sample;
  for (const Compression& how : {kZstd, kLz4, Compression{Codec::zstd, 19}}) {
    INFO(compression_text(how));
    const auto packed = pack(sample.plain, sample.ends, how);
    REQUIRE(packed);
    REQUIRE(packed->size() < sample.plain.size() * 2 / 3);
    MemoryStore store;
    put_packed(store, *packed);
    for (const std::size_t memory : {std::size_t{1}, FrameCache::kUsualBytes}) {
      const auto object = *open_packed(store, memory);
      REQUIRE(object->info()->size == sample.plain.size());
      REQUIRE(part_of(*object, 0, sample.plain.size() + 10) == sample.plain);
      std::mt19937_64 random(5);
      for (int i = 0; i < 300; ++i) {
        const std::uint64_t at = random() % (sample.plain.size() + 100);
        const std::size_t length = random() % (i % 2 == 0 ? 200'000 : 300);
        const std::string expected =
            sample.plain.substr(std::min<std::uint64_t>(at, sample.plain.size()), length);
        REQUIRE(part_of(*object, at, length) == expected);
        std::string from_medium(length, '\0');
        from_medium.resize(*object->read_medium(at, as_writable_bytes(from_medium)));
        REQUIRE(from_medium == expected);
        std::string tried(length, '\0');
        const auto n = object->try_read_at(at, as_writable_bytes(tried));
        REQUIRE((n && *n));
        tried.resize(**n);
        REQUIRE(tried == expected);
      }
      REQUIRE(*object->next_data(70'000) == 70'000);
      REQUIRE(*object->next_hole(70'000) == sample.plain.size());
    }
  }
}

TEST_CASE("a packed composite in memory unpacks to its plain bytes, and a damaged one is refused",
          "[packed]") {
  const Sample sample;
  for (const Compression& how : {kZstd, kLz4}) {
    const std::string packed = *pack(sample.plain, sample.ends, how);
    std::string plain;
    REQUIRE(unpack(packed, plain));
    REQUIRE(plain == sample.plain);
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{40}, kPackedHeadBytes, packed.size() / 2, packed.size() - 1})
      REQUIRE_FALSE(unpack(std::string_view(packed).substr(0, n), plain));
    REQUIRE_FALSE(unpack(packed + "x", plain));
    REQUIRE_FALSE(unpack(with_flip(packed, 70), plain));
    REQUIRE_FALSE(unpack(with_flip(packed, packed.size() / 2), plain));
    REQUIRE_FALSE(unpack(sample.plain, plain));
  }
}

TEST_CASE("frames end where records do, and none is larger than it may be", "[packed]") {
  const Sample sample;
  const auto packed = pack(sample.plain, sample.ends, kZstd);
  MemoryStore store;
  put_packed(store, *packed);
  const auto object = *open_packed(store);
  const auto& frames = dynamic_cast<const PackedObject&>(*object).index().frames();
  REQUIRE(frames.size() > 10);
  std::size_t at_ends = 0, stored = 0;
  for (const Frame& frame : frames) {
    REQUIRE(frame.plain_bytes <= kFramePlain);
    at_ends += std::binary_search(sample.ends.begin(), sample.ends.end(), frame.plain_end());
    stored += frame.codec == Codec::stored;
  }
  REQUIRE(at_ends >= frames.size() - 6);  // but for those inside the two long records
  REQUIRE(stored >= 2);                   // what does not shrink
}

TEST_CASE("what does not shrink is not packed", "[packed]") {
  REQUIRE_FALSE(pack(unpackable(300'000, 3), {}, kZstd));
  REQUIRE_FALSE(pack("", {}, kZstd));
  REQUIRE_FALSE(pack(wordy(300'000, 3), {}, Compression{}));
  REQUIRE_FALSE(compress_frame(kLz4, unpackable(5000, 4)));
}

TEST_CASE("a packed object is never written", "[packed]") {
  const Sample sample;
  MemoryStore store;
  put_packed(store, *pack(sample.plain, sample.ends, kZstd));
  const auto object = *open_packed(store);
  REQUIRE(object->write_at(0, as_bytes("x")).error().errno_value == EPERM);
  REQUIRE(object->append(as_bytes("x")).error().errno_value == EPERM);
  REQUIRE(object->truncate(3).error().errno_value == EPERM);
  REQUIRE(object->punch_hole(0, 4096).error().errno_value == EPERM);
  REQUIRE(object->give_back(0, 4096).error().errno_value == EPERM);
  REQUIRE(object->allocate(0, 4096).error().errno_value == EPERM);
}

TEST_CASE("a damaged frame costs what is in it; a damaged index is told, and its copy used", "[packed]") {
  const Sample sample;
  const std::string packed = *pack(sample.plain, sample.ends, kZstd);
  MemoryStore store;
  put_packed(store, packed);
  FrameIndex index = dynamic_cast<const PackedObject&>(**open_packed(store)).index();
  SECTION("a frame") {
    const Frame& bad = index.frames()[index.frames().size() / 2];
    put_packed(store, with_flip(packed, bad.stored_at + bad.stored_bytes / 2));
    const auto object = *open_packed(store);
    std::string out(10, '\0');
    const auto read = object->read_at(bad.plain_at + 5, as_writable_bytes(out));
    REQUIRE_FALSE(read);
    REQUIRE(read.error().kind == ErrorKind::corruption);
    REQUIRE(part_of(*object, 0, bad.plain_at) == sample.plain.substr(0, bad.plain_at));
    REQUIRE(part_of(*object, bad.plain_end(), 1 << 20) == sample.plain.substr(bad.plain_end()));
    std::string can_be = sample.plain;
    std::fill_n(can_be.begin() + static_cast<std::ptrdiff_t>(bad.plain_at), bad.plain_bytes, '\0');
    REQUIRE(dynamic_cast<const PackedObject&>(*object).read_what_can_be() == can_be);
    REQUIRE(dynamic_cast<const PackedObject&>(*object).check_index());
  }
  SECTION("each byte of head and index, and of their copies") {
    const std::uint64_t front = index.frames().front().stored_at;
    const std::uint64_t back = index.frames().back().stored_end();
    for (std::uint64_t at = 0; at < packed.size(); at += at < front || at >= back ? 1 : back - front) {
      if (at >= front && at < back) continue;
      INFO(at);
      put_packed(store, with_flip(packed, at));
      const auto object = open_packed(store);
      REQUIRE(object);
      const auto* const seen = dynamic_cast<const PackedObject*>(object->get());
      REQUIRE(seen != nullptr);
      REQUIRE_FALSE(seen->check_index());
      REQUIRE(part_of(**object, 100'000, 50) == sample.plain.substr(100'000, 50));
    }
  }
  SECTION("both indexes") {
    put_packed(store, with_flip(with_flip(packed, 70), packed.size() - 70));
    const auto object = open_packed(store);
    REQUIRE_FALSE(object);
    REQUIRE(object.error().kind == ErrorKind::corruption);
  }
  SECTION("cut anywhere") {
    for (const std::size_t length :
         {std::size_t{3}, kPackedHeadBytes, packed.size() / 2, packed.size() - 1}) {
      INFO(length);
      put_packed(store, packed.substr(0, length));
      const auto object = open_packed(store);
      if (length <= kPackedHeadBytes) {
        REQUIRE((!object || part_of(**object, 0, packed.size()) == packed.substr(0, length)));
        continue;
      }
      // The frames that are there are read.
      REQUIRE(object);
      REQUIRE_FALSE(dynamic_cast<const PackedObject&>(**object).check_index());
      REQUIRE(part_of(**object, 0, 50'000) == sample.plain.substr(0, 50'000));
      std::string last(10, '\0');
      const auto read = (*object)->read_at(sample.plain.size() - 10, as_writable_bytes(last));
      REQUIRE(read.has_value() == (length == packed.size() - 1));
    }
  }
  SECTION("longer than it was") {
    put_packed(store, packed + "x");
    const auto object = open_packed(store);
    REQUIRE(object);
    REQUIRE(part_of(**object, 0, packed.size() * 4) == sample.plain);
    REQUIRE_FALSE(dynamic_cast<const PackedObject&>(**object).check_index());
  }
}

TEST_CASE("a flipped bit of a frame is told, also where what it says can be unpacked", "[packed]") {
  const Sample sample;
  const std::string packed = *pack(sample.plain, sample.ends, GENERATE(kZstd, kLz4));
  MemoryStore store;
  put_packed(store, packed);
  const FrameIndex index = dynamic_cast<const PackedObject&>(**open_packed(store)).index();
  bool met_stored = false, met_packed = false;
  for (const Frame& frame : index.frames()) {
    bool& met = frame.codec == Codec::stored ? met_stored : met_packed;
    if (std::exchange(met, true)) continue;
    for (std::uint64_t at = 0; at < frame.stored_bytes; at += 1 + frame.stored_bytes / 40) {
      INFO(static_cast<int>(frame.codec) << ", " << at);
      put_packed(store, with_flip(packed, frame.stored_at + at));
      std::string out(10, '\0');
      const auto read = (*open_packed(store))->read_at(frame.plain_at, as_writable_bytes(out));
      REQUIRE_FALSE(read);
      REQUIRE(read.error().kind == ErrorKind::corruption);
    }
  }
  REQUIRE((met_stored && met_packed));
}

TEST_CASE("bytes that the medium does not give cost what is in them, whatever kind of composite it is",
          "[packed]") {
  const Sample sample;
  const std::string packed = *pack(sample.plain, sample.ends, kZstd);
  const auto opened = [](const std::string& bytes, std::uint64_t bad_at, std::uint64_t bad_bytes) {
    MemoryStore store;
    put_packed(store, bytes);
    auto partly = std::make_shared<PartlyReadObject>(*store.open("composites/0/7"), bad_at, bad_bytes);
    return PackedObject::open(std::move(partly), "composites/0/7",
                              std::make_shared<FrameCache>(FrameCache::kUsualBytes));
  };
  const auto is_packed = [](const Object& object) {
    return dynamic_cast<const PackedObject*>(&object) != nullptr;
  };
  for (const std::uint64_t bad_at : {0, 512, 12'288}) {
    INFO(bad_at);
    const auto plain = opened(sample.plain, bad_at, 512);
    REQUIRE(plain);
    CHECK_FALSE(is_packed(**plain));
    CHECK(part_of(**plain, bad_at + 512, 4 << 20) == sample.plain.substr(bad_at + 512));
    const auto frames = opened(packed, bad_at, 512);
    REQUIRE(frames);
    REQUIRE(is_packed(**frames));
    const std::uint64_t last = dynamic_cast<const PackedObject&>(**frames).index().frames().back().plain_at;
    CHECK(part_of(**frames, last, 4 << 20) == sample.plain.substr(last));
  }
  // What is neither at its beginning nor at its end to be told may be so another time.
  REQUIRE_FALSE(opened(packed, 0, packed.size()));
  REQUIRE_FALSE(opened(sample.plain, 0, sample.plain.size()));
  REQUIRE_FALSE(opened(with_flip(packed, packed.size() - 70), 0, 512));
}

TEST_CASE("what cannot be read for want of memory or descriptors is not taken for damage", "[packed]") {
  const Sample sample;
  const std::string packed = *pack(sample.plain, sample.ends, kZstd);
  const int reason = GENERATE(EMFILE, ENOMEM);
  MemoryStore store;
  const auto opened = [&](const std::string& bytes, std::uint64_t bad_at) {
    auto partly = std::make_shared<PartlyReadObject>(put_packed(store, bytes), bad_at, 512, reason);
    return PackedObject::open(std::move(partly), "composites/0/7",
                              std::make_shared<FrameCache>(FrameCache::kUsualBytes));
  };
  // Cut off, it ends as a plain one does; read another time, it begins as a packed one.
  for (const std::string& bytes : {sample.plain, packed.substr(0, packed.size() / 2)}) {
    const auto object = opened(bytes, 0);
    REQUIRE_FALSE(object);
    CHECK(object.error().errno_value == reason);
  }
  const auto object = opened(packed, packed.size() / 2);
  REQUIRE(object);
  const auto can_be = dynamic_cast<const PackedObject&>(**object).read_what_can_be();
  REQUIRE_FALSE(can_be);
  CHECK(can_be.error().errno_value == reason);
}

TEST_CASE("a frame that claims other lengths than it has is refused", "[packed]") {
  const std::string plain(100'000, 'a');
  const std::string packed = *compress_frame(kZstd, plain);
  std::string out(plain.size() + 1, '\0');
  const Bytes room = as_writable_bytes(out);
  REQUIRE(decompress_frame(Codec::zstd, as_bytes(packed), room.first(plain.size())));
  REQUIRE_FALSE(decompress_frame(Codec::zstd, as_bytes(packed), room));
  REQUIRE_FALSE(decompress_frame(Codec::zstd, as_bytes(packed), room.first(100)));  // a bomb
  REQUIRE_FALSE(decompress_frame(Codec::lz4, as_bytes(packed), room.first(plain.size())));
  REQUIRE_FALSE(decompress_frame(Codec::stored, as_bytes(packed), room.first(plain.size())));
  REQUIRE_FALSE(decompress_frame(static_cast<Codec>(77), as_bytes(packed), room.first(plain.size())));

  FrameIndex large(kZstd);
  large.add(Codec::zstd, kLargestFrame + 1, packed);
  const std::string front = large.encode_front();
  const auto decoded = decode_frame_index(std::string_view(front).substr(0, kPackedHeadBytes),
                                          std::string_view(front).substr(kPackedHeadBytes));
  REQUIRE_FALSE(decoded);
}

namespace {

// Records out of more phrases than a frame has room for: what they have in common no frame has all of.
Sample phrased(std::size_t bytes) {
  std::vector<std::string> phrases;
  for (unsigned i = 0; i < 3000; ++i) {
    std::mt19937_64 random(i);
    std::string phrase;
    while (phrase.size() < 40) phrase += std::to_string(random());
    phrases.push_back(phrase);
  }
  std::mt19937 random(1);
  Sample sample{};
  sample.plain.clear();
  sample.ends.clear();
  while (sample.plain.size() < bytes) {
    std::string record;
    for (int i = 0; i < 100; ++i) {
      const std::size_t often = random() % phrases.size();
      record += phrases[random() % 4 == 0 ? often : often % 500];
    }
    sample.add(record);
  }
  return sample;
}

StoredDictionary dictionary_in(const std::string& packed) {
  MemoryStore store;
  put_packed(store, packed);
  return dynamic_cast<const PackedObject&>(**open_packed(store)).index().dictionary();
}

}  // namespace

TEST_CASE("a dictionary is learnt where it pays, and comes with the composite", "[packed]") {
  const Sample sample = phrased(4u << 20);
  const auto packed = pack(sample.plain, sample.ends, kZstd);
  REQUIRE(packed);
  MemoryStore store;
  put_packed(store, *packed);
  const auto object = *open_packed(store);
  const FrameIndex& index = dynamic_cast<const PackedObject&>(*object).index();
  REQUIRE(index.dictionary().plain_bytes > 1000);
  REQUIRE(index.dictionary().plain_bytes <= kDictionaryBytes);
  std::uint64_t alone = 0;
  for (const Frame& frame : index.frames()) {
    const std::string_view piece = std::string_view(sample.plain).substr(frame.plain_at, frame.plain_bytes);
    alone += compress_frame(kZstd, piece)->size();
  }
  REQUIRE(packed->size() < alone);
  REQUIRE(part_of(*object, 0, sample.plain.size() + 1) == sample.plain);
  std::string from_medium(sample.plain.size(), '\0');
  REQUIRE(object->read_medium(0, as_writable_bytes(from_medium)) == sample.plain.size());
  REQUIRE(from_medium == sample.plain);
  SECTION("it is there twice") {
    put_packed(store, with_flip(*packed, 2000));
    const auto damaged = *open_packed(store);
    REQUIRE_FALSE(dynamic_cast<const PackedObject&>(*damaged).check_index());
    REQUIRE(part_of(*damaged, 1'000'000, 500'000) == sample.plain.substr(1'000'000, 500'000));
  }
  SECTION("by many at once, of more objects than dictionaries are kept") {
    const auto cache = std::make_shared<FrameCache>(1);
    std::vector<std::shared_ptr<Object>> objects;
    for (std::size_t i = 0; i < DictionaryCache::kMost + 20; ++i)
      objects.push_back(*PackedObject::open(*store.open("composites/0/7"), "composites/0/7", cache));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::string out(100, '\0');
        for (std::size_t i = 0; i < 600; ++i) {
          const std::size_t at = (i * 37 + t) * 5000 % (sample.plain.size() - 100);
          const auto n = objects[(i + t * 7) % objects.size()]->read_at(at, as_writable_bytes(out));
          wrong += !n || out != sample.plain.substr(at, 100);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("no dictionary where it does not pay", "[packed]") {
  const Sample large = phrased(4u << 20);
  REQUIRE(dictionary_in(*pack(large.plain, large.ends, kLz4)).plain_bytes == 0);
  const Sample small = phrased(1u << 20);
  REQUIRE(dictionary_in(*pack(small.plain, small.ends, kZstd)).plain_bytes == 0);
  // Every frame has all that there is to learn; others nothing at all.
  REQUIRE(dictionary_in(*pack(std::string(4u << 20, 'a'), {}, kZstd)).plain_bytes == 0);
  REQUIRE(dictionary_in(*pack(unpackable(3u << 20, 1) + std::string(1u << 20, 'a'), {}, kZstd)).plain_bytes ==
          0);
}

TEST_CASE("a dictionary that is none costs the frames that need it, and nothing else", "[packed]") {
  const std::string text = wordy(50'000, 1), other = unpackable(5'000, 2);
  const auto packed_with = [&](StoredDictionary dictionary) {
    FrameIndex index(kZstd, std::move(dictionary));
    const std::string frame = *compress_frame(kZstd, text);
    index.add(Codec::zstd, text.size(), frame);
    index.add(Codec::stored, other.size(), other);
    const std::string front = index.encode_front();
    return front + frame + other + index.encode_back();
  };
  const std::string shrunk = *compress_frame(kZstd, std::string(1000, 'd'));
  MemoryStore store;
  for (const auto& [plain_bytes, stored] :
       {std::pair(1000u, std::string("garbage")), std::pair(999u, shrunk), std::pair(70'000u, shrunk)}) {
    put_packed(store, packed_with({plain_bytes, stored}));
    const auto object = *open_packed(store);
    std::string out(10, '\0');
    const auto read = object->read_at(0, as_writable_bytes(out));
    REQUIRE_FALSE(read);
    REQUIRE(read.error().kind == ErrorKind::corruption);
    REQUIRE(part_of(*object, text.size(), 10'000) == other);
  }
  for (const std::uint32_t plain_bytes : {static_cast<std::uint32_t>(kLargestDictionary) + 1, 5u}) {
    put_packed(store,
               packed_with({plain_bytes, shrunk}));  // larger than any; shorter than what it is stored as
    REQUIRE_FALSE(open_packed(store));
  }
}

TEST_CASE("frames' memory is used again, and nobody has another's", "[packed]") {
  const auto memory = std::make_shared<FrameMemory>();
  std::set<const std::byte*> places;
  std::vector<std::shared_ptr<FrameBytes>> taken;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 40; ++i) {
      taken.push_back(memory->take(kFramePlain - i % 2));
      std::fill(taken.back()->writable().begin(), taken.back()->writable().end(), std::byte(i));
      places.insert(taken.back()->bytes().data());
    }
    taken.push_back(memory->take(kLargestFrame));
    std::fill(taken.back()->writable().begin(), taken.back()->writable().end(), std::byte(255));
    for (unsigned i = 0; i < 40; ++i) {
      const ConstBytes bytes = taken[i]->bytes();
      REQUIRE(bytes.size() == kFramePlain - i % 2);
      REQUIRE(std::all_of(bytes.begin(), bytes.end(), [i](std::byte b) { return b == std::byte(i); }));
    }
    taken.clear();
  }
  CHECK(places.size() <= 48);  // three pieces
}

TEST_CASE("frames in memory: bounded, made once, whoever asks at the same time", "[packed]") {
  FrameCache cache(5 * kFramePlain);
  std::atomic<int> made = 0;
  const auto make = [&]() -> Result<FrameCache::Plain> {
    ++made;
    std::this_thread::yield();
    auto frame = cache.memory().take(kFramePlain);
    std::fill(frame->writable().begin(), frame->writable().end(), std::byte{7});
    return FrameCache::Plain(frame);
  };
  std::vector<std::thread> threads;
  const std::uint64_t owner = cache.new_owner();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < 4; ++i) {
        const auto got = cache.get(owner, i, make);
        if (!got || (*got)->bytes().back() != std::byte{7}) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(made == 4);
  for (std::size_t i = 0; i < 20; ++i) REQUIRE(cache.get(owner, i, make));
  REQUIRE(cache.bytes() <= 5 * kFramePlain);
  REQUIRE(cache.find(owner, 19));
  REQUIRE_FALSE(cache.find(owner, 3));
  REQUIRE_FALSE(cache.find(cache.new_owner(), 19));

  const auto refuse = []() -> Result<FrameCache::Plain> { return fail(EIO, "no"); };
  REQUIRE_FALSE(cache.get(owner, 99, refuse));
  REQUIRE(cache.get(owner, 99, make));
}

TEST_CASE("a reader that goes from frame to frame is told once for several, either way", "[packed]") {
  const Sample sample;
  MemoryStore store;
  put_packed(store, *pack(sample.plain, sample.ends, kZstd));
  const auto object = *open_packed(store);
  auto& packed = dynamic_cast<PackedObject&>(*object);
  std::vector<int> directions;
  packed.on_sequence([&](const PackedObject::Ahead& ahead) {
    directions.push_back(ahead.direction);
    PackedObject::make_next_ready(ahead);
  });
  const auto& frames = packed.index().frames();
  for (const Frame& frame : frames) (void)part_of(*object, frame.plain_at, 10);
  REQUIRE(!directions.empty());
  REQUIRE(directions.size() < frames.size() / 2);
  const std::size_t forwards = directions.size();
  REQUIRE(std::count(directions.begin(), directions.end(), 1) == static_cast<std::ptrdiff_t>(forwards));
  const auto again = *open_packed(store);
  auto& backwards = dynamic_cast<PackedObject&>(*again);
  backwards.on_sequence([&](const PackedObject::Ahead& ahead) {
    directions.push_back(ahead.direction);
    PackedObject::make_next_ready(ahead);
  });
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    (void)part_of(*again, frame->plain_at, 10);
  REQUIRE(directions.back() == -1);
}

TEST_CASE("ways to compress are told apart", "[packed]") {
  REQUIRE(*parse_compression("zstd") == Compression{Codec::zstd, 3});
  REQUIRE(*parse_compression("zstd:19") == Compression{Codec::zstd, 19});
  REQUIRE(*parse_compression("lz4") == kLz4);
  REQUIRE(*parse_compression("none") == Compression{});
  for (const char* bad : {"", "zstd:", "zstd:0", "zstd:20", "zstd:3x", "zstd:-1", "lz4:3", "gzip", "ZSTD"}) {
    INFO(bad);
    REQUIRE_FALSE(parse_compression(bad));
  }
  for (const char* good : {"zstd:1", "zstd:19", "lz4", "none"}) {
    REQUIRE(compression_text(*decode_compression(encode_compression(*parse_compression(good)))) == good);
  }
  for (const std::string& bad : {std::string(), std::string("\2"), std::string("\2\0", 2),
                                 std::string("\3\1"), std::string("\1\1"), std::string("\2\x14")}) {
    REQUIRE_FALSE(decode_compression(bad));
  }
}

}  // namespace cffs::test
