// Parameters that the ranks of a machine make once and share, where no file holds them as they are wanted.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/rank_environment.h"
#include "engine/model/parameter_maker.h"

namespace assay::engine {

/// A parameter in memory that ranks share. Tensor ranks that divide it have a part each, one after the other; of any
/// other there is one part.
struct SharedParameter {
  ParameterSpec spec;  ///< of the whole
  std::vector<int64_t> part_shape;
  int64_t parts = 1;
  size_t begin = 0;       ///< of the first part
  size_t part_bytes = 0;  ///< in whole pages: a rank maps no more than it uses
};

/// All that the ranks of a machine share.
struct SharedLayout {
  /// Throws std::invalid_argument for a parameter that does not divide over the tensor ranks.
  SharedLayout(const std::vector<ParameterSpec>& specs, const ParameterOptions& options);

  std::vector<SharedParameter> parameters;
  size_t bytes = 0;
};

/// Whether such parameters are shared by `local_ranks` ranks of a machine that compute on `device`.
bool are_shared(c10::Device device, int64_t local_ranks);

/// Of the maker that `open` returns, what this rank has of the parameters that lie in no file as they are wanted:
/// converted, drawn or cut into columns once on each machine, by each of its ranks a part of them, in memory that all
/// its ranks have mapped copy-on-write. Its bytes count in mapped_bytes(), and go when the last process has let go of
/// the last of them. Empty where a rank is alone on its machine, or computes elsewhere: then it makes them itself. All
/// ranks of `world` (null: there is one) call it together. `what`: as do_on_all_ranks() has it, which tells of what
/// goes wrong. Throws StatusError and CommError.
MadeParameters make_on_machine(Communicator* world, const RankEnvironment& environment, c10::Device device,
                               const std::string& what, const std::function<ParameterMaker()>& open);

}  // namespace assay::engine
