// Communicators without peers: the group of one rank, and the fake that dry runs use.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <vector>

#include "engine/comm/communicator.h"

namespace assay::engine {

/// The group of one rank ("self"). A shard is copied to its place, or nothing is done where it is there already.
std::unique_ptr<Communicator> make_self_communicator();

struct FakeOptions {
  int rank = 0;
  int size = 1;
  c10::Device device = c10::kCPU;  ///< of allocate()
  /// By rank; empty: all are on one machine. Collectives over several take what memory they would take beside their
  /// buffers (gloo's tiles, what goes from machine to machine), on `device`.
  std::vector<int> machine_of = {};
};

/// One rank of a group whose other ranks are not there ("fake"): calls are checked and counted, nothing is moved but
/// this rank's own shard, as in a group of one. What others would have sent is left as it was. Buffers may be on any
/// device, "meta" included; over several machines on "meta" alone.
std::unique_ptr<Communicator> make_fake_communicator(const FakeOptions& options);
/// How many ranks of such a group, or of one split from it, are on this one's machine.
int ranks_on_own_machine(const Communicator& fake);
/// What the calls of such a group have taken beside their buffers over several machines: what they keep, and the most
/// of one under way, where that is counted (ShapeMemory).
int64_t scratch_bytes_of(const Communicator& fake);

}  // namespace assay::engine
