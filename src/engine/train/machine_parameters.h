// Parameters that the ranks of a machine make once and share, where no file holds them as they are wanted.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/rank_environment.h"
#include "engine/model/parameter_maker.h"

namespace assay::engine {

/// Where each of some parameters lies in one stretch of memory.
struct SharedLayout {
  SharedLayout(const std::vector<ParameterSpec>& specs, at::ScalarType dtype);

  std::vector<size_t> begins;
  size_t bytes = 0;
};

/// Whether such parameters are shared by `local_ranks` ranks of a machine that compute on `device`.
bool are_shared(c10::Device device, int64_t local_ranks);

/// Of the maker that `open` returns, the parameters that lie in no file as they are wanted: converted or drawn once on
/// each machine, by each of its ranks a part of them, in memory that all its ranks have mapped copy-on-write. Its bytes
/// count in mapped_bytes(), and go when the last process has let go of the last of them. Empty where a rank is alone on
/// its machine, or computes elsewhere: then it makes them itself. All ranks of `world` (null: there is one) call it
/// together. `what`: as do_on_all_ranks() has it, which tells of what goes wrong. Throws StatusError and CommError.
MadeParameters make_on_machine(Communicator* world, const RankEnvironment& environment, c10::Device device,
                               const std::string& what, const std::function<ParameterMaker()>& open);

}  // namespace assay::engine
