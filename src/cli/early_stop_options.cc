#include "cli/early_stop_options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

using explore::Shown;
using explore::StoppingRule;

Result<Shown> ShownBy(const EarlyStopVerbOptions& options, const std::vector<Goal>& goals) {
  if (!options.shown.empty()) {
    return options.shown == "loss" ? Shown::kLoss : Shown::kRate;
  }
  if (goals.size() > 1) {
    return Status::InvalidArgument(
        "--end-early: of several metrics the first would end runs that the others want; say by which: --end-early-by "
        "loss or rate");
  }
  const bool loss = !goals.empty() && goals.front().quantity == experiment::Quantity::kLoss && !goals.front().maximize;
  const bool rate =
      goals.empty() || (goals.front().quantity == experiment::Quantity::kThroughput && goals.front().maximize);
  if (!loss && !rate) {
    return Status::InvalidArgument(fmt::format(
        "--end-early: {} is not seen before the end of a run; say --end-early-by loss or rate", goals.front().Name()));
  }
  return loss ? Shown::kLoss : Shown::kRate;
}

/// Into the operation's details, beside what is there.
Status KeepRule(explore::ExploreOptions& explore) {
  auto details = nlohmann::json::object();
  if (!explore.details.empty()) {
    ASSAY_ASSIGN_OR_RETURN(details, ParseJson(explore.details, "details"));
  }
  details["early_stop"] = Describe(*explore.early_stop);
  explore.details = DumpJson(details);
  return Status::Ok();
}

}  // namespace

void AddEarlyStopOptions(CLI::App& app, EarlyStopVerbOptions& options) {
  CLI::Option* const rule =
      app.add_option("--end-early", options.rule,
                     "End runs by their progress, which are kept as ended early: median (behind the median of five or "
                     "more whole runs at the same step), halving (not among the best quarter at the first step that "
                     "counts, at four times as many, and so on)")
          ->check(CLI::IsMember({"median", "halving"}));
  app.add_option(
         "--end-early-by", options.shown,
         "Their progress: loss of each step, or rate, tokens or images a second so far without the first step [by "
         "--metric]")
      ->check(CLI::IsMember({"loss", "rate"}))
      ->needs(rule);
  app.add_option("--end-early-from", options.from_step, "The first step at which a run may end so")
      ->check(WholeNumber(1))
      ->capture_default_str()
      ->needs(rule);
}

Status UseEarlyStop(const EarlyStopVerbOptions& options, const std::vector<Goal>& goals,
                    explore::ExploreOptions& explore) {
  if (options.rule.empty()) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const Shown shown, ShownBy(options, goals));
  const auto kind = options.rule == "median" ? StoppingRule::Kind::kMedian : StoppingRule::Kind::kHalving;
  explore.early_stop = {.rule = {.kind = kind, .first_step = options.from_step}, .shown = shown};
  return KeepRule(explore);
}

}  // namespace assay::cli
