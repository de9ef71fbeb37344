// What a reader wanted of the groups and composites that it came to, and what follows for the next (adr/0025).
//
// Pure; allocates nothing. Thread safety: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace cffs {

// What one reader wanted of a range of bytes that it came to.
struct Visit {
  std::uint64_t composite = 0, offset = 0;  // of the range; composite 0: none
  std::uint64_t total = 0;                  // bytes
  std::uint64_t first = 0, touched = 0;     // bytes of the first member, and of all that it came to
  std::uint64_t members = 0;                // that it came to
  std::uint64_t last_touch = 0;             // the how manieth of the reader
  double planned = 0;                       // share of the rest that a plan says is wanted
  bool twice = false;                       // a second touch came soon after the first
  bool handed = false;                      // its reader's cache was given it unasked, or is about to be
  double speaks_for = 1;                    // touches like each that are not seen, this one included
  bool ahead = false;                       // all of it was read; of a composite: the next ones were guessed
  bool tells() const;                       // there was a rest that could be wanted
  double share_of_rest() const;
  // `counts`: so many touches of as many bytes each.
  void add(std::uint64_t bytes, std::uint64_t touch, double counts = 1);
  // So many bytes of it went to the reader's cache, so nobody hears whether they are wanted: each touch of what is left speaks for its
  // share of them.
  void hand_over(std::uint64_t bytes);
  void plan(double share);  // of all of it
};

// What it wanted of those that it came to lately, and what that says of the next.
struct Visits {
  // What a second touch of a range soon after the first says of its rest.
  static constexpr double kLikely = 0.5;

  std::span<Visit> all() { return {places.data(), count}; }
  std::span<const Visit> all() const { return {places.data(), count}; }
  std::size_t count;  // that are remembered
  std::array<Visit, 32> places;
  // Of those with a second touch soon after the first that had to go: bytes that their rests had, and what was wanted of them. Who comes
  // anywhere has one in hundreds, so they are remembered longer than others.
  double twice_rest = 0, twice_wanted = 0;
  // The visit of that range; where it is none of these, it takes the place of the oldest.
  Visit& at(std::uint64_t composite, std::uint64_t offset);
  // Of the rest of a range that the reader has come to but now, the share that will be wanted: as it was with the others; by what a plan
  // says of it; as it was with those that had a second touch soon after the first.
  double expected(const Visit& but) const;
  double expected_by_plan(const Visit& but) const;
  double expected_after_two(const Visit& but) const;
  std::uint64_t mean_member() const;
  void remember_twice(const Visit& gone);
};

}  // namespace cffs
