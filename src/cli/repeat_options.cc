#include "cli/repeat_options.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "cli/options.h"
#include "measure/statistics.h"
#include "report/format.h"
#include "space/repeats.h"

namespace assay::cli {

void AddRepeatOptions(CLI::App& app, RepeatOptions& options) {
  app.add_option("--repeats", options.repeats,
                 "Valid measurements that each point shall have, made in turns (A B C A B C); those of the store count "
                 "[the space's `repeats`, else 1, or 20 at most with --interval]")
      ->check(WholeNumber(1, space::kMostRepeats));
  app.add_option("--interval", options.interval,
                 "End the repeats of a point once the interval of its mean, at 95 % over all looks, is +- so much of "
                 "it, as 5%; looked at after each run from the third [the space's `repeats`]")
      ->type_name("SHARE");
  app.add_option("--interval-of", options.interval_of, "The target property of which that is asked [throughput]")
      ->type_name("NAME");
}

Status UseRepeats(const RepeatOptions& options, const experiment::BoundSpace& space, explore::ExploreOptions& explore) {
  constexpr int64_t kMostOfInterval = 20;
  const space::Repeats& declared = space.space().repeats;
  explore::RepeatUntil until{.interval = declared.interval, .target = declared.target};
  if (!options.interval.empty()) {
    ASSAY_ASSIGN_OR_RETURN(until.interval, space::ParseInterval(options.interval));
  }
  until.target = options.interval_of.empty() ? until.target : options.interval_of;
  const int64_t usual = until.interval > 0 ? kMostOfInterval : 1;
  const int64_t at_most = options.repeats.value_or(declared.at_most > 0 ? declared.at_most : usual);
  explore.repeats = static_cast<int>(at_most);
  if (until.interval == 0) {
    return options.interval_of.empty() ? Status::Ok() : Status::InvalidArgument("--interval-of needs --interval");
  }
  if (at_most < measure::kFewestForInterval) {
    return Status::InvalidArgument(
        fmt::format("an interval needs {} repeats or more, not {}", measure::kFewestForInterval, at_most));
  }
  if (!explore.measure.replay) {
    return Status::InvalidArgument(
        "an interval is one of all runs that the store has: leave --again, or singleMeasurement: false, out");
  }
  if (!until.target.empty()) {
    ASSAY_RETURN_IF_ERROR(explore::CheckTarget(space, until.target));
  }
  explore.until = until;
  return Status::Ok();
}

std::string DescribeMean(const explore::PointMean& ended) {
  const explore::RepeatedMean& mean = *ended.mean;
  return fmt::format("{}: {} {} {} +- {} % after {} (95 %, looked at after each run){}", ended.point->entity_id,
                     mean.target, FormatNumber(mean.estimate.mean), mean.unit,
                     FormatNumber(100 * mean.relative_half_width()),
                     report::Count(static_cast<size_t>(mean.estimate.batches), "run"),
                     mean.narrow ? "" : ", which is not as narrow as was asked");
}

std::string DescribeRepeats(const explore::ExploreOptions& explore, const explore::ExploreSummary& summary) {
  return explore.until ? fmt::format("{} of {} as narrow as +- {} %, {} spared\n", summary.narrow,
                                     report::Count(static_cast<size_t>(summary.narrow + summary.wide), "interval"),
                                     FormatNumber(100 * explore.until->interval),
                                     report::Count(static_cast<size_t>(summary.spared), "run"))
                       : std::string();
}

}  // namespace assay::cli
