// Communicators without peers: the group of one rank, and the fake that dry runs use.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"

namespace assay::engine {

/// The group of one rank ("self"). A shard is copied to its place, or nothing is done where it is there already.
std::unique_ptr<Communicator> make_self_communicator();

struct FakeOptions {
  int rank = 0;
  int size = 1;
};

/// One rank of a group whose other ranks are not there ("fake"): calls are checked and counted, nothing is moved but
/// this rank's own shard, as in a group of one. What others would have sent is left as it was. Buffers may be on any
/// device, "meta" included.
std::unique_ptr<Communicator> make_fake_communicator(const FakeOptions& options);

}  // namespace assay::engine
