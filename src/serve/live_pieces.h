// What an exploration does, as the page shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/html.h"

namespace assay::serve {

/// Points, steps, losses and what is left, of what an exploration said of itself (explore/live_state.h). `silent`:
/// nothing was heard of it for longer than it is ever quiet. Throws nlohmann::json::exception where `state` says other
/// things than this version knows, having written a part.
void WriteExploration(report::Markup& html, const nlohmann::json& state, bool silent);

}  // namespace assay::serve
