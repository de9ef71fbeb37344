// What a power cut may leave of a store: objects and names as a running program sees them, and beside each what of it is
// durable. A value: a copy is another medium.
//
// What may survive (docs/TESTING.md, "The crash explorer", says where each rule is from):
//  - Bytes: of each 512-byte sector, what the object's durable state had, or what any unsynced write had made of it; sectors are
//    independent of each other. A sector that nothing written reached reads as zeros.
//  - Size: any that the object has had since it was synced, whatever became of the bytes: behind data that is gone are zeros,
//    data behind the size is gone. What was written behind a cut (truncate) that did not survive did not either.
//  - Names: of the creations, removals and renames since, in one of three ways: a prefix of all, a prefix of each folder's, or a
//    prefix of those of each name. A rename is whole or did not happen.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cffs::test {

class CrashMedium {
 public:
  struct Change {  // to an object's bytes: a write, or a change of size where size is set
    std::uint64_t offset = 0;
    std::string data;
    std::optional<std::uint64_t> size;
  };
  struct Body {
    std::string live;  // as the running program sees it
    std::string durable;
    std::vector<Change> unsynced;
    std::uint64_t reserved = 0;     // bytes that the medium keeps for it, behind its end too
    std::set<std::uint64_t> holes;  // blocks whose room is the medium's again
    static constexpr std::uint64_t kBlockBytes = 4096;

    // The bytes of the medium that it takes.
    std::uint64_t held() const;
  };
  using BodyPtr = std::shared_ptr<Body>;
  using Names = std::map<std::string, BodyPtr, std::less<>>;

  CrashMedium() = default;
  CrashMedium(const CrashMedium& other);
  CrashMedium& operator=(const CrashMedium& other);
  CrashMedium(CrashMedium&&) noexcept = default;
  CrashMedium& operator=(CrashMedium&&) noexcept = default;

  const Names& live() const { return live_; }
  BodyPtr find(std::string_view name) const;
  BodyPtr create(std::string_view name);
  void remove(std::string_view name);
  void rename(std::string_view from, std::string_view to);
  static void write(Body& body, std::uint64_t offset, std::string_view data);
  static void resize(Body& body, std::uint64_t size);
  // Writes zeros; the whole blocks among them take no room until they are written again.
  static void punch(Body& body, std::uint64_t offset, std::uint64_t length);

  // The object's bytes, and the name it was created with.
  void sync(const BodyPtr& body);
  // A sync that fails: bytes that were not durable never will be, although the program still sees them; sizes are the journal's,
  // and get there.
  static void lose(Body& body);
  void sync_names();
  void sync_everything();

  // As the machine finds it after a power cut now; all of it is durable. The same seed leaves the same.
  CrashMedium cut(std::uint64_t seed) const;
  // Equal for media whose programs see the same.
  std::size_t fingerprint() const;

 private:
  struct NameChange {  // to.empty(): removal; from.empty(): creation
    std::string from, to;
    BodyPtr body;
  };
  using Random = std::mt19937_64;
  static void apply(Names& names, const NameChange& change);
  static std::string what_survives(const Body& body, Random& random);
  Names names_that_survive(Random& random) const;
  std::vector<std::size_t> chains(std::size_t changes) const;

  Names live_;
  Names durable_;
  std::vector<NameChange> unsynced_;
};

}  // namespace cffs::test
