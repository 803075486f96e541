// Texts of different lengths over a communicator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/communicator.h"

namespace assay::engine {

/// What each rank of the group has, in order of rank. All ranks call it together; it waits. Throws CommError.
std::vector<std::string> gather_text(Communicator& ranks, const std::string& own, std::string_view label);

}  // namespace assay::engine
