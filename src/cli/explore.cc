// assay explore: every point of a discovery space, once or in repeated turns.
#include "explore/explore.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "cli/live_progress.h"
#include "cli/options.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

struct ExploreVerbOptions {
  std::string space;
  std::string store;
  int workers = 1;
  int64_t max_points = -1;
  int repeats = 1;
};

double NumberOr(const space::Entity& values, const std::string& name, double fallback) {
  const auto found = values.find(name);
  if (found == values.end()) {
    return fallback;
  }
  if (const auto* integer = std::get_if<int64_t>(&found->second)) {
    return static_cast<double>(*integer);
  }
  const auto* number = std::get_if<double>(&found->second);
  return number != nullptr ? *number : fallback;
}

std::string DescribeResult(const explore::PointDone& done) {
  const samplestore::Measurement& m = done.result->measurement;
  const std::string name = fmt::format("{}  {}", done.point->experiment->id(), done.point->entity_id);
  if (done.result->source == explore::Source::kBusy) {
    return fmt::format("[{}/{}] {}: another process is measuring it", done.done, done.total, name);
  }
  std::string text = fmt::format("[{}/{}] {}: {}", done.done, done.total, name, samplestore::ToString(m.outcome));
  for (const auto& [property, unit] :
       {std::pair{"real_tokens_per_second", "tokens/s"}, {"images_per_second", "images/s"}}) {
    if (const double speed = NumberOr(m.properties, property, 0); speed > 0) {
      text += fmt::format(", {} {}", FormatNumber(speed), unit);
    }
  }
  if (!m.reason.empty()) {
    text += " (" + m.reason + ")";
  }
  return done.result->source == explore::Source::kReplayed ? text + ", replayed" : text;
}

explore::ExploreCallbacks MakeCallbacks(LiveProgress& progress, int64_t total) {
  explore::ExploreCallbacks callbacks;
  callbacks.on_start = [&progress, total](int64_t index, const experiment::BoundPoint& point) {
    progress.SetPrefix(fmt::format("[{}/{}] ", index + 1, total));
    progress.Restart(NumberOr(point.complete, "stop_after_seconds", -1));
    progress.OnPhase("preparing " + point.entity_id);
  };
  callbacks.on_event = [&progress](int64_t, const job::Event& event) { progress.OnEvent(event); };
  callbacks.on_done = [&progress](const explore::PointDone& done) { progress.Print(DescribeResult(done)); };
  return callbacks;
}

Status SummaryStatus(const explore::ExploreSummary& summary) {
  if (!summary.stopped_by.ok()) {
    return summary.stopped_by;
  }
  if (summary.interrupted) {
    return Status::Aborted("interrupted: what was measured is kept; the same command measures the rest");
  }
  if (summary.failed > 0) {
    return Status::Internal(fmt::format("{} points failed; the same command tries them again", summary.failed));
  }
  return Status::Ok();
}

Status Run(const ExploreVerbOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const experiment::BoundSpace space, experiment::ReadBoundSpace(options.space));
  ASSAY_ASSIGN_OR_RETURN(const auto store, samplestore::OpenStore(options.store));
  explore::ExploreOptions explore_options;
  explore_options.measure.context = DefaultPlanContext();
  explore_options.workers = options.workers;
  explore_options.max_points = options.max_points;
  explore_options.repeats = options.repeats;
  explore::ExploreSummary summary;
  {
    LiveProgress progress;
    const auto callbacks = MakeCallbacks(progress, space.size());
    ASSAY_ASSIGN_OR_RETURN(summary, explore::Explore(space, *store, explore_options, callbacks));
  }
  fmt::print("{} points: {} measured, {} replayed, {} invalid, {} failed, {} not looked at; {}\n", space.size(),
             summary.measured, summary.replayed, summary.invalid, summary.failed, summary.remaining,
             FormatSeconds(summary.seconds));
  return SummaryStatus(summary);
}

}  // namespace

Action AddExplore(CLI::App& app) {
  auto options = std::make_shared<ExploreVerbOptions>();
  app.add_option("space", options->space, "Discovery space (YAML)")->required()->type_name("SPACE.yaml");
  app.add_option("--workers", options->workers, "Points at once; more than one shares the machine among them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-points", options->max_points, "Measure at most so many points now; -1: all")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--repeats", options->repeats,
                 "Valid measurements that each point shall have, made in turns (A B C A B C); those of the store count")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  AddStoreOption(app, options->store);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
