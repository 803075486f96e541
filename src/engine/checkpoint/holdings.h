// What a rank holds, as a save is planned from it: names, boxes and bytes, and as text for the other ranks.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/dcp/save_plan.h"
#include "checkpoint/value/flat_state.h"
#include "engine/checkpoint/held_state.h"

namespace assay::engine {

/// The names of a parameter's states in a checkpoint.
std::string model_name(const std::string& parameter);
std::string moment_name(const std::string& parameter, std::string_view moment);
inline constexpr std::string_view kSteps = "step";

/// What of `held` this rank may write. States of parameters that no step has updated have no values, and are left out.
/// Throws StatusError.
checkpoint::RankHoldings holdings_of(const std::vector<HeldState>& held);

/// The tensors of `held` that files with those items of its holdings are made of.
std::set<const at::Tensor*> tensors_of(const std::vector<HeldState>& held,
                                       const std::vector<checkpoint::PlannedFile>& files);

/// The bytes of what such files are made of, in the order of the holdings; what no item is of has no source. They stay
/// where they are on a CPU and are copied from elsewhere.
checkpoint::RankContents contents_of(const std::vector<HeldState>& held,
                                     const std::vector<checkpoint::PlannedFile>& files);

/// Values that one rank holds for all.
std::vector<checkpoint::HeldValue> held_values(const std::vector<checkpoint::Leaf>& leaves);
std::vector<checkpoint::FileLayout> contents_of(const std::vector<checkpoint::Leaf>& leaves);

/// One line of JSON, and back.
std::string to_text(const checkpoint::RankHoldings& holdings);
checkpoint::RankHoldings holdings_from_text(const std::string& text);

}  // namespace assay::engine
