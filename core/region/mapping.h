// Where the blocks of one object lie: its extents, and the tree of nodes that holds them on the medium once they do not fit into
// the onode.
//
// A node that the durable onode or the live one refers to is never changed: what changes it goes to another block. So both stay
// whole whatever becomes of the writes between, and wherever the process ends.
//
// Not safe for several threads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/region/block_device.h"
#include "core/region/layout.h"

namespace cffs::region {

class Mapping {
 public:
  // What a block of the object is: a run of blocks that follow each other on the medium, or a hole.
  struct Piece {
    std::uint64_t logical = 0, count = 0;
    std::uint64_t block = 0;  // 0: a hole
    bool written = false;
  };
  // From `logical`, at most `most` blocks.
  Piece at(std::uint64_t logical, std::uint64_t most) const;
  // Into a hole, or (written) over what was reserved there at the same place.
  void put(std::uint64_t logical, Run run, bool written);
  // The blocks that lay there.
  std::vector<Run> remove(std::uint64_t logical, std::uint64_t count);
  std::uint64_t blocks() const { return blocks_; }  // all that it has, nodes apart
  std::uint64_t extents() const { return extents_.size(); }
  std::uint64_t end() const;  // behind the last block
  // The block of the medium behind the last one before `logical`; 0: there is none.
  std::uint64_t follows(std::uint64_t logical) const;
  std::vector<Run> all_runs() const;

  // What writing the tree needs.
  struct Medium {
    const Geometry& geometry;
    OnodeId owner;
    std::function<std::optional<std::uint64_t>()> take_block;
    std::function<Status(std::uint64_t block, const std::string& bytes)> write;
  };
  // Writes the nodes that changed, and fills level and entries of the onode, whose name is set. Blocks of nodes that are of no use
  // any more come to `freed`: those that the durable onode may refer to, and (`unneeded`) those that only the live one may. ENOSPC.
  Status store(const Medium& medium, Onode& onode, std::vector<Run>& freed, std::vector<Run>& unneeded);
  // The onode as it was stored last is the live one.
  void now_live() { ++turn_; }
  // The onode as it was stored last is becoming durable. Returns the nodes written since the last time: they are to be flushed before.
  std::vector<std::uint64_t> freeze();
  // It is not known to have become durable: those are to be flushed still. Frozen they stay, since the onode may have got there.
  void unflushed(const std::vector<std::uint64_t>& nodes);
  // The mapping that an onode describes. Corruption.
  static Result<Mapping> load(const BlockDevice& device, const Geometry& geometry, OnodeId owner,
                              const Onode& onode);
  // Extents, and nodes, that lie among these blocks.
  std::vector<Piece> pieces_in(const Run& region) const;
  bool has_nodes_in(const Run& region) const;
  // Nodes there are written elsewhere by the next store().
  void leave(const Run& region);
  // Blocks of its nodes.
  std::vector<Run> node_runs() const;

 private:
  struct Stored {
    std::uint64_t block = 0;  // 0: none yet
    std::uint64_t sum = 0;    // of what is there; 0: that is not known
    bool frozen = false;      // the durable onode may refer to it
    std::uint64_t turn = 0;   // that it was written in; before this one, the live onode may refer to it
  };
  struct Leaf {
    Stored stored;
    bool dirty = true;
  };
  struct Placed {
    std::uint64_t block = 0;
    std::uint32_t count = 0;
    bool written = false;
  };
  using Extents = std::map<std::uint64_t, Placed>;
  void touch(std::uint64_t logical, std::uint64_t count);
  void join_around(std::uint64_t logical, std::uint64_t count);
  Extents::iterator split(std::uint64_t logical);
  void drop(Stored& stored, std::vector<Run>& freed, std::vector<Run>& unneeded);
  Status write_node(const Medium& medium, Stored& stored, const Node& node, std::vector<Run>& freed,
                    std::vector<Run>& unneeded);
  static Status load_node(Mapping& mapping, const BlockDevice& device, const Geometry& geometry,
                          OnodeId owner, unsigned level, const Extent& entry, std::uint64_t end);
  Status adopt(const Extent& extent);

  Extents extents_;
  std::uint64_t blocks_ = 0;
  std::map<std::uint64_t, Leaf> leaves_;    // by the first block that each is for; empty: the onode holds all
  std::vector<std::vector<Stored>> above_;  // levels 1, 2, … : nodes that hold where the nodes below lie
  std::vector<std::uint64_t> fresh_;        // blocks of nodes written since freeze()
  std::uint64_t turn_ = 1;                  // changes with now_live()
};

}  // namespace cffs::region
