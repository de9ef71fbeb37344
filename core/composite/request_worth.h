// How many bytes of a medium's rate a request to it is worth, as the times of small and large requests say (adr/0025).
//
// Pure; the clock is its callers'. Thread safety: its owner's.
#pragma once

#include <cstdint>

namespace cffs {

class RequestWorth {
 public:
  struct Sample {
    std::uint64_t bytes = 0, nanoseconds = 0;
  };
  // Requests of at least so many bytes tell what bytes cost.
  static constexpr std::uint64_t kLarge = 256u << 10;

  // A read of what was absent, and a sample of each kind: as ReadAhead says.
  void took(std::uint64_t bytes, std::uint64_t beyond, std::uint64_t from, std::uint64_t until);
  void measured(const Sample& small, const Sample& large);
  // So many wait for the medium now.
  void waits(unsigned at_once);

  bool has_arm() const;
  bool knows_large() const;
  // To those who wait side by side lately.
  std::uint64_t of_a_request() const;
  // To a reader alone; 0: not measured yet.
  std::uint64_t to_one_as_measured() const;
  // 0: not measured yet, or too many to be seen.
  std::uint64_t bytes_per_second() const;

 private:
  // Of requests of about one size, means that forget.
  struct Times {
    double bytes = 0, nanoseconds = 0;
    std::uint64_t samples = 0;
    void add(double b, double ns);
  };
  bool is_measured() const;
  std::uint64_t to_one() const;

  double crowd_ = 1;              // who waits at once, lately
  std::uint64_t busy_until_ = 0;  // the medium, as far as is known
  Times small_, large_;
};

}  // namespace cffs
