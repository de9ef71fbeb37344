// What the OSDs of a pool have: objects as a client sees them, and what of that was acknowledged. A value: a copy is another pool.
//
// What may survive the client (docs/RADOS_STORE.md): all that was acknowledged, and of each object's operations behind that a
// prefix, whole operations, whatever became of other objects'.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cffs::test {

class PoolMedium {
 public:
  struct Object {
    std::string bytes;
    std::map<std::string, std::string> attributes;
    std::map<std::string, std::string> keys;  // its omap
  };
  // A part of an operation. What librados calls it is said where it is made (memory_pool.cc).
  struct Step {
    enum class Kind {
      create,
      create_new,
      write,
      set_attribute,
      erase_attribute,
      truncate,
      zero,
      set_key,
      erase_key,
      remove
    };
    Kind kind = Kind::create;
    std::uint64_t offset = 0, length = 0;  // bytes
    std::string name;                      // of an attribute, or a key
    std::string data;
  };
  using Operation = std::vector<Step>;
  using ObjectPtr = std::shared_ptr<const Object>;
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;

  // Null: there is none.
  ObjectPtr find(std::string_view name) const;
  // All of it or, with a negative errno, nothing. Not acknowledged yet.
  int submit(const std::string& object, const Operation& operation);
  // The operations of this object so far; of all.
  void acknowledge(const std::string& object);
  void acknowledge_all();
  // Of how many operations nobody was told.
  std::size_t on_their_way() const { return pending_.size(); }
  std::uint64_t bytes() const;

  // As the next client finds it where this one ends now. The same seed leaves the same.
  PoolMedium cut(std::uint64_t seed) const;
  // With all that is on its way.
  void sync_everything() { acknowledge_all(); }
  std::size_t fingerprint() const;

 private:
  struct Pending {
    std::string object;
    Operation operation;
  };
  static int apply(Objects& objects, const std::string& name, const Operation& operation);

  Objects live_, durable_;
  std::vector<Pending> pending_;
};

}  // namespace cffs::test
