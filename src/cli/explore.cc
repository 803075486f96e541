// assay explore: every point of a discovery space, once or in repeated turns.
#include "explore/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/actuator_options.h"
#include "cli/early_stop_options.h"
#include "cli/launcher_options.h"
#include "cli/live_progress.h"
#include "cli/operation_options.h"
#include "cli/options.h"
#include "cli/repeat_options.h"
#include "cli/search_options.h"
#include "cli/serve_options.h"
#include "cli/space_store.h"
#include "cli/verb.h"
#include "explore/expected_time.h"
#include "explore/operation/apply_walk.h"
#include "explore/space_measurements.h"
#include "explore/survey.h"
#include "report/characterization.h"
#include "report/conditions.h"
#include "report/foretold_memory.h"
#include "report/format.h"

namespace assay::cli {
namespace {

struct ExploreVerbOptions {
  std::string space;
  std::string store;
  std::string operation;  ///< file
  int workers = 0;        ///< 0: as many as the launcher has room for
  int64_t max_points = -1;
  int retries = 0;
  bool again = false;
  bool dry_run = false;
  bool serve = false;
  int serve_port = 0;
  std::string actuator;  ///< file
  explore::Reuse reuse = explore::Reuse::kCommit;
  launch::LauncherSettings launcher;
  RepeatOptions repeats;
  SearchOptions search;
  EarlyStopVerbOptions early_stop;
};

constexpr size_t kMostForetold = 20'000;  // points of which the memory is foretold

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
  std::string text = fmt::format("[{}/{}] {}: {}", done.done, done.total, name,
                                 EndedEarly(m) ? m.reason : samplestore::ToString(m.outcome));
  for (const auto* target : experiment::TargetsOf({&done.point->experiment, 1}, experiment::Quantity::kThroughput)) {
    if (const double speed = NumberOr(m.properties, target->name, 0); speed > 0) {
      text += fmt::format(", {} {}", FormatNumber(speed), target->unit);
      break;
    }
  }
  if (!m.reason.empty() && !EndedEarly(m)) {
    text += " (" + m.reason + ")";
  }
  if (const std::string starved = report::ProvenanceOf(m, "starved"); !starved.empty()) {
    text += ", " + starved;
  }
  return done.result->source == explore::Source::kReplayed
             ? fmt::format("{}, replayed: measured {} on {} by commit {}", text, m.measured_at,
                           report::ProvenanceOf(m, "host"), report::ProvenanceOf(m, "commit"))
             : text;
}

explore::ExploreCallbacks MakeCallbacks(LiveProgress& progress, BestSeen& best) {
  explore::ExploreCallbacks callbacks;
  const auto follow = [&progress](const explore::PointStart& start, std::string_view phase) {
    progress.SetPrefix(fmt::format("[{}/{}] ", start.number, start.total));
    const auto* limit = FindProperty(*start.point->experiment, experiment::Role::kTimeLimit);
    progress.Restart(limit == nullptr ? -1 : NumberOr(start.point->complete, limit->name, -1));
    progress.OnPhase(fmt::format("{} {}", phase, start.point->entity_id));
  };
  callbacks.on_start = [follow](const explore::PointStart& start) { follow(start, "preparing"); };
  callbacks.on_busy = [follow](const explore::PointStart& start) {
    follow(start, "waiting: another process measures");
  };
  callbacks.on_event = [&progress](int64_t, const job::Event& event) { progress.OnEvent(event); };
  callbacks.on_mean = [&progress](const explore::PointMean& ended) { progress.Print(DescribeMean(ended)); };
  callbacks.on_done = [&progress, &best](const explore::PointDone& done) {
    progress.Print(DescribeResult(done));
    best.Add(done.result->measurement);
  };
  return callbacks;
}

/// A space that another tool wrote may name things of that tool: they are taken from it, and said not to count here.
void TellWhatDoesNotCount(const experiment::BoundSpace& bound, const std::string& store_url) {
  const space::DiscoverySpace& space = bound.space();
  if (const std::string note = NoteOnStore(space, store_url); !note.empty()) {
    fmt::print(stderr, "{}\n", note);
  }
  if (!space.labels.empty()) {
    fmt::print(stderr, "{}: metadata labels do not count here: measurements and reports do not bear them\n",
               space.source);
  }
  for (size_t i = 0; i < space.experiments.size(); ++i) {
    const space::ExperimentReference& experiment = space.experiments[i];
    if (!experiment.actuator.empty() && experiment.actuator != bound.experiments()[i]->declaration().actuator) {
      fmt::print(stderr, "{}: actuatorIdentifier '{}' does not count here: {} is an experiment of assay's\n",
                 experiment.where, experiment.actuator, experiment.identifier);
    }
  }
}

/// The names in an operation's file are those of a registry that is not here: the files that are given count.
void TellWhatDoesNotCount(const explore::OperationFile& operation, const std::string& space) {
  for (const std::string& name : operation.spaces) {
    fmt::print(stderr, "{}: spaces: '{}' does not count here: the walk goes through {}\n", operation.source, name,
               space);
  }
}

Status SummaryStatus(const explore::ExploreSummary& summary) {
  if (!summary.stopped_by.ok()) {
    return summary.stopped_by;
  }
  if (summary.interrupted) {
    return Status::Aborted("interrupted: what was measured is kept; the same command measures the rest");
  }
  if (summary.failed > 0) {
    return Status::Internal(fmt::format("{} failed; the same command tries again",
                                        report::Count(static_cast<size_t>(summary.failed), "point")));
  }
  return Status::Ok();
}

explore::ExploreOptions ExploreOptionsOf(const ExploreVerbOptions& options) {
  explore::ExploreOptions explore;
  explore.measure.context = DefaultPlanContext();
  explore.measure.reuse = options.reuse;
  explore.measure.replay = !options.again;
  explore.workers = options.workers;
  explore.max_points = options.max_points;
  explore.retries = options.retries;
  return explore;
}

/// What is given on the command line goes before what the operation names.
Status UseActuators(const std::string& given, const std::optional<explore::OperationFile>& operation,
                    experiment::PlanContext& context) {
  std::vector<std::string> files = operation ? ActuatorFilesOf(*operation) : std::vector<std::string>();
  if (!given.empty()) {
    files = {given};
  }
  for (const std::string& file : files) {
    ASSAY_RETURN_IF_ERROR(UseActuator(file, context));
  }
  return Status::Ok();
}

/// Where points are run, and how many at once.
Status ChooseMachines(const ExploreVerbOptions& options, explore::ExploreOptions& explore) {
  ASSAY_ASSIGN_OR_RETURN(const int slots, UseLauncher(options.launcher, explore.measure));
  explore.workers = explore.workers > 0 ? explore.workers : slots;
  return Status::Ok();
}

/// The order of the points, how many and how often, once it is known how they are run.
Status ChoosePoints(const ExploreVerbOptions& options, const std::optional<explore::OperationFile>& operation,
                    const experiment::BoundSpace& space, samplestore::SampleStore& store,
                    explore::ExploreOptions& explore) {
  const bool characterizes = operation && operation->characterization;
  if (characterizes) {
    explore.details = DumpJson({{"operation", operation->source}, {"operator", "characterization"}});
  }
  ASSAY_RETURN_IF_ERROR(characterizes ? Status::Ok()
                        : operation   ? explore::UseWalk(*operation, space, store, options.search.seed, explore)
                                      : UseSearch(options.search, space, store, explore));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Goal> goals, GoalsOf(options.search, space));
  ASSAY_RETURN_IF_ERROR(UseEarlyStop(options.early_stop, goals, explore));
  ASSAY_RETURN_IF_ERROR(UseRepeats(options.repeats, space, explore));
  if (characterizes && !options.repeats.repeats && !explore.until) {
    explore.repeats = std::max(explore.repeats, static_cast<int>(operation->characterization->repeats));
  }
  return Status::Ok();
}

/// What the store has of the space now, kept with the operation and printed.
Status Characterize(const experiment::BoundSpace& space, const std::string& operation_uid,
                    samplestore::SampleStore& store) {
  ASSAY_ASSIGN_OR_RETURN(const auto measured, explore::MeasurementsOf(space, store, /*with_series=*/false));
  const nlohmann::json characterization = report::CharacterizationJson(report::ResultSet(measured));
  ASSAY_ASSIGN_OR_RETURN(const auto operations, store.ListOperations());
  const auto found = std::ranges::find(operations, operation_uid, &samplestore::Operation::uid);
  ASSAY_ASSIGN_OR_RETURN(auto details, ParseJson(found == operations.end() ? "{}" : found->details, operation_uid));
  details["characterization"] = characterization;
  ASSAY_RETURN_IF_ERROR(store.SetDetails(operation_uid, DumpJson(details)));
  fmt::print("{}", report::CharacterizationText(characterization));
  return Status::Ok();
}

/// What a store that may not exist yet has for an exploration.
Result<std::unique_ptr<samplestore::SampleStore>> OpenToLook(const std::string& url) {
  auto store = OpenUserStore(url, samplestore::StoreAccess::kReadOnly);
  return store.status().code() == ErrorCode::kNotFound ? samplestore::OpenStore("sqlite:///:memory:")
                                                       : std::move(store);
}

std::string ExpectedText(const explore::ExpectedTime& expected, int64_t points) {
  return fmt::format("about {} of training one after the other: {} a point is the median of {}\n",
                     FormatSeconds(expected.point_seconds * static_cast<double>(points)),
                     FormatSeconds(expected.point_seconds),
                     report::Count(static_cast<size_t>(expected.measurements), "measurement"));
}

/// Of the points that would be measured, by what the store has of the space.
Result<std::string> ForetoldMemory(const experiment::BoundSpace& space,
                                   const std::vector<experiment::BoundPoint>& missing,
                                   samplestore::SampleStore& store) {
  if (missing.empty()) {
    return std::string();
  }
  ASSAY_ASSIGN_OR_RETURN(const auto measured, explore::MeasurementsOf(space, store, /*with_series=*/false));
  const std::vector<report::UnmeasuredPoint> points = report::UnmeasuredPointsOf(missing);
  return report::ForetoldMemoryText(report::ResultSet(measured, experiment::AllExperiments(), points));
}

Status DryRun(const experiment::BoundSpace& space, const std::optional<explore::OperationFile>& operation,
              const ExploreVerbOptions& verb, explore::ExploreOptions options) {
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenToLook(verb.store));
  TellWhatDoesNotCount(space, verb.store);
  ASSAY_RETURN_IF_ERROR(ChooseMachines(verb, options));
  ASSAY_RETURN_IF_ERROR(ChoosePoints(verb, operation, space, *store, options));
  if (!operation && verb.search.sampler == "model") {
    // Where a model leads depends on what is measured: it may be any point.
    options.sampler.reset();
    options.budget = -1;
  }
  std::vector<experiment::BoundPoint> missing;
  const auto print = [&missing](const experiment::BoundPoint& point, explore::Prospect prospect) {
    if (prospect == explore::Prospect::kMeasure) {
      fmt::print("{}  {}\n", point.parameterized_id, point.entity_id);
      if (missing.size() < kMostForetold) {
        missing.push_back(point);
      }
    }
  };
  ASSAY_ASSIGN_OR_RETURN(const explore::Survey survey, explore::SurveySpace(space, *store, options, print));
  ASSAY_ASSIGN_OR_RETURN(const auto expected, explore::ExpectTime(space, *store));
  fmt::print("{}: {} would be measured, {} replayed, {} are forbidden by a rule{}\n{}",
             report::Count(static_cast<size_t>(space.size()), "point"), survey.missing, survey.replayed,
             survey.forbidden, survey.not_looked_at > 0 ? fmt::format(", {} not looked at", survey.not_looked_at) : "",
             expected && survey.missing > 0 ? ExpectedText(*expected, survey.missing) : std::string());
  ASSAY_ASSIGN_OR_RETURN(const std::string memory, ForetoldMemory(space, missing, *store));
  fmt::print("{}", memory);
  return Status::Ok();
}

Status Run(const ExploreVerbOptions& options, const CLI::App& app) {
  ASSAY_ASSIGN_OR_RETURN(const experiment::BoundSpace space, experiment::ReadBoundSpace(options.space));
  explore::ExploreOptions explore = ExploreOptionsOf(options);
  std::optional<explore::OperationFile> operation;
  if (!options.operation.empty()) {
    ASSAY_ASSIGN_OR_RETURN(operation, explore::ReadOperationFile(options.operation));
    ASSAY_RETURN_IF_ERROR(CheckOptionsBeside(*operation, app));
    TellWhatDoesNotCount(*operation, options.space);
  }
  ASSAY_RETURN_IF_ERROR(UseActuators(options.actuator, operation, explore.measure.context));
  if (options.dry_run) {
    return DryRun(space, operation, options, std::move(explore));
  }
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.store));
  TellWhatDoesNotCount(space, options.store);
  ASSAY_ASSIGN_OR_RETURN(std::vector<Goal> goals, GoalsOf(options.search, space));
  ASSAY_RETURN_IF_ERROR(ChooseMachines(options, explore));
  ASSAY_RETURN_IF_ERROR(ChoosePoints(options, operation, space, *store, explore));
  std::unique_ptr<serve::PageServer> server;
  if (options.serve) {
    ASSAY_ASSIGN_OR_RETURN(
        server, StartPageServer({.store_url = options.store, .spaces = {space}, .port = options.serve_port}));
  }
  explore::ExploreSummary summary;
  BestSeen best(std::move(goals), *store);
  {
    LiveProgress progress;
    const auto callbacks = MakeCallbacks(progress, best);
    ASSAY_ASSIGN_OR_RETURN(summary, explore::Explore(space, *store, explore, callbacks));
  }
  fmt::print("{}: {} measured, {} replayed, {} invalid, {} failed, {}{} not looked at; {}\n",
             report::Count(static_cast<size_t>(space.size()), "point"), summary.measured, summary.replayed,
             summary.invalid, summary.failed,
             explore.early_stop ? fmt::format("{} ended early, ", summary.ended_early) : "", summary.remaining,
             FormatSeconds(summary.seconds));
  fmt::print("{}{}{}", DescribeRepeats(explore, summary), summary.settled ? "ended early: nothing better came\n" : "",
             explore.sampler ? best.Text() : std::string());
  if (operation && operation->characterization && !summary.interrupted) {
    ASSAY_RETURN_IF_ERROR(Characterize(space, summary.operation_uid, *store));
  }
  if (server && !summary.interrupted) {
    std::fflush(stdout);
    fmt::print(stderr, "still serving at {}; Ctrl-C ends it\n", server->url());
    WaitForInterrupt();
  }
  return SummaryStatus(summary);
}

}  // namespace

Action AddExplore(CLI::App& app) {
  auto options = std::make_shared<ExploreVerbOptions>();
  app.add_option("space", options->space, "Discovery space (YAML)")->required()->type_name("SPACE.yaml");
  app.add_option("--workers", options->workers,
                 "Points at once; more than one shares this machine among them [1, or what a cluster has room for]")
      ->check(WholeNumber(1, 1024));
  app.add_option("--max-points", options->max_points,
                 "Measure at most so many points now, those included that a rule forbids; -1: all")
      ->check(WholeNumber(-1))
      ->capture_default_str();
  AddRepeatOptions(app, options->repeats);
  app.add_option("--retries", options->retries, "Times that a point which failed, but not by a mistake, is run again")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_flag("--again", options->again, "Measure every point anew, whatever the store has");
  CLI::Option* const serve =
      app.add_flag("--serve", options->serve, "Show it to browsers while it goes on, and afterwards until Ctrl-C");
  app.add_option("--serve-port", options->serve_port, "Port of --serve; 0: any free one")
      ->check(WholeNumber(0, 65535))
      ->capture_default_str()
      ->needs(serve);
  app.add_flag("--dry-run", options->dry_run, "Only say which points would be measured")->excludes(serve);
  AddReuseOption(app, options->reuse);
  AddSearchOptions(app, options->search);
  AddEarlyStopOptions(app, options->early_stop);
  app.add_option("--operation", options->operation,
                 "An operation's file as ado has them: of a random walk (which points, in which order, how many at "
                 "once, what is measured again), or a characterization (all points, and what they say together)")
      ->type_name("FILE");
  AddActuatorOption(app, options->actuator);
  AddLauncherOptions(app, options->launcher);
  AddStoreOption(app, options->store);
  return [options, &app]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(options->store, StoreOfSpace(options->store, options->space));
    return Run(*options, app);
  };
}

}  // namespace assay::cli
