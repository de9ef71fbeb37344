// Reads the composite that a reader will come to next, on a thread of its own: at leisure, and beside what is asked for.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/base/favours.h"
#include "core/composite/read_ahead.h"
#include "core/object/object_store.h"

namespace cffs {

class NextComposite {
 public:
  using Open = std::function<Result<std::shared_ptr<Object>>(CompositeId)>;
  NextComposite(ObjectStore& store, Open open, ReadAhead& read_ahead)
      : store_(store),
        open_(std::move(open)),
        read_ahead_(read_ahead),
        favours_("a thread that reads ahead", [this](const Wanted& wanted) { read(wanted); }) {}

  struct Wanted {
    CompositeId current;
    int direction = 1;  // to higher numbers; -1: to lower ones
    unsigned count = 1;
    ReaderId reader = 0;
  };
  // Of so many composites with the next numbers in that direction all is read, of which it was not. Returns at once; where much is
  // waiting, or no thread can be had, nothing happens.
  void want(const Wanted& wanted) { favours_.want(wanted); }
  // For good; returns when nothing is read any more.
  void stop() { favours_.stop(); }

 private:
  void read(const Wanted& wanted);
  bool read_one(CompositeId composite, ReaderId reader);
  std::optional<CompositeId> neighbour(CompositeId of, int direction);
  const std::vector<std::uint64_t>& numbers_in(std::uint64_t folder, std::uint64_t current);

  ObjectStore& store_;
  const Open open_;
  ReadAhead& read_ahead_;

  // Of the thread alone: what is in the folder that was looked at last.
  std::optional<std::uint64_t> folder_;
  std::vector<std::uint64_t> numbers_;

  Favours<Wanted> favours_;  // last: its thread uses what is above
};

}  // namespace cffs
