// What the ranks of one machine have beyond it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/lost_ranks.h"

namespace assay::engine {

/// All may be empty.
struct ShmOutside {
  /// Where the ranks met, held open so that who comes late is refused instead of waiting for nobody.
  std::shared_ptr<const void> place;
  /// Tells the job's other machines of a failure, and which ranks are lost; gives the line that all ranks end with.
  /// Safe from several threads.
  std::function<std::string(const std::string& line, const std::vector<int>& lost)> publish;
  /// This rank knows the line and goes on no more: its peers on other machines, who may wait for it, are to see so.
  /// Safe from several threads.
  std::function<void()> leave = {};
  /// The same where nobody on this machine knows who is to blame; gives the line that all ranks end with.
  std::function<std::string(const SeenFailure& failure)> settle = {};
};

}  // namespace assay::engine
