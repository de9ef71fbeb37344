// The objects that an OBFS benchmark keeps (§6.1), and how its disk comes to be as full and as old as the paper's.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/suite/object_surface.h"
#include "bench/suite/session.h"

namespace cffs::bench {

// Which sizes objects have: large ones are whole stripe units, small ones anything from 1 KB up to that; four of five of the
// mix are large.
enum class Mix { mixed, large, small };
// "mixed", "large", "small".
Result<Mix> mix_of(const std::string& name);

class Population {
 public:
  // `largest`: bytes of a stripe unit.
  Population(Rig& rig, ObjectSurface& objects, Mix mix, std::uint64_t largest, std::uint64_t seed);

  std::size_t count() const { return ids_.size(); }
  // What the objects take of the room that the file system had for files when it was new: 0 to 1. What a target needs besides, or
  // has not given back yet, is its own affair, and leaves it less.
  double utilization() const;
  static constexpr std::size_t kFewest = 2;  // that stay, whatever the share

  // Timed where there is a lane. Each object is read once, in an order of its own, before one is read again; so are they rewritten.
  Status create(Lane* lane);
  Status read(Lane* lane);
  Status rewrite(Lane* lane);
  Status remove(Lane* lane);  // of two at least
  std::uint64_t chance() { return random_(); }
  // Bytes that the last of these moved; 0: none.
  std::uint64_t last_bytes() const { return last_bytes_; }

  // Creates and deletes until that share is taken; then that many creates and deletes at random, of which there are more of what
  // leads back to it. A modelled disk takes no time for that.
  Status age(double utilization, std::uint64_t requests);
  // Everything is taken down, caches are dropped, everything is put up again.
  Status cool();
  Status remove_all();

 private:
  Status grow_old(double utilization, std::uint64_t requests);
  Status reach(double utilization);
  std::uint64_t next_of(std::vector<std::uint64_t>& order);
  std::uint64_t pick_size();

  Rig& rig_;
  ObjectSurface& objects_;
  const Mix mix_;
  std::mt19937_64 random_;
  const std::uint64_t largest_;
  std::string buffer_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> to_read_, to_rewrite_;  // what is left of the orders
  std::map<std::uint64_t, std::uint64_t> sizes_;     // bytes, by id
  std::uint64_t bytes_ = 0, next_ = 0, last_bytes_ = 0;
};

}  // namespace cffs::bench
