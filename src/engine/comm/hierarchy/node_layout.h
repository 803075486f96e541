// The ranks of a group by the machine that they are on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace assay::engine {

/// As one rank of the group sees it. Machines are those that the group has ranks on, in order of their first ranks.
struct NodeLayout {
  /// `machine_of`: by rank of the group.
  NodeLayout(const std::vector<int>& machine_of, int rank);

  std::vector<std::vector<int>> nodes;  ///< the group's ranks on each machine, ascending
  int node = 0;                         ///< this rank's machine
  int local = 0;                        ///< this rank's place among its machine's
  /// Into how many slices a buffer is cut that machines exchange: as many as the largest has ranks.
  int slices = 1;
  /// All machines have equally many ranks, which follow each other.
  bool regular = true;

  int machines() const { return static_cast<int>(nodes.size()); }
  int ranks_here() const { return ranks_of(node); }
  int ranks_of(int machine) const { return static_cast<int>(nodes[static_cast<size_t>(machine)].size()); }
  /// Whether the ranks of `machine` follow each other.
  bool consecutive(int machine) const;
  /// The place, among the ranks of `machine`, of the one that exchanges `slice`.
  int owner(int machine, int slice) const { return slice % ranks_of(machine); }
  /// Which machine `rank` of the group is on, and its place there.
  struct Place {
    int machine;
    int local;
  };
  Place place_of(int rank) const;
};

/// A buffer in `count` slices of one length; the last one has what does not divide besides.
struct Slices {
  at::Tensor buffer;
  int count;

  int64_t length() const { return buffer.numel() / count; }
  /// The first that holds anything; the last one is never left out.
  int first() const { return length() > 0 ? 0 : count - 1; }
  at::Tensor of(int slice) const;
  /// What divides, and the rest.
  at::Tensor even() const { return buffer.narrow(0, 0, length() * count); }
  at::Tensor rest() const { return buffer.narrow(0, length() * count, buffer.numel() - length() * count); }
};

}  // namespace assay::engine
