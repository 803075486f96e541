// Which series of a run one figure shows together, and how.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

/// Every figure in the order of the page: [{"id", "title", "text", "unit", "over", "scale", "zero"}]. Values are
/// divided by `scale`; `zero`: the axis begins there. `loss_of` is what a step's loss is the mean of.
nlohmann::json FiguresJson(std::string_view loss_of);

/// The figure of each of a run's series, in their order; empty: none. Of several ranks their own step times say more
/// than the run's, of one the same.
std::vector<std::string_view> FiguresOf(std::span<const std::string> series);

/// A series as its figure names it: "rank 1", "cpu tree percent".
std::string CurveLabel(std::string_view series);

}  // namespace assay::report
