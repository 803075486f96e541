#include "explore/operation/apply_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "explore/exploration.h"
#include "explore/search/walk_sampler.h"
#include "explore/space_measurements.h"

namespace assay::explore {
namespace {

constexpr int64_t kMostRetries = 1'000'000;

/// How many experiments have measured an entity that the store has, by the entity's place in the space.
using Measured = std::map<int64_t, int64_t>;

Result<Measured> MeasuredExperiments(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                                     const MeasureOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto points, PointsInStore(space, store));
  Measured measured;
  for (const auto& [index, key] : points) {
    ASSAY_ASSIGN_OR_RETURN(const bool counts, store.IsMeasured(key, 1, FactsHere(space.At(index), options)));
    measured[index / std::ssize(space.experiments())] += counts ? 1 : 0;
  }
  return measured;
}

bool Passes(EntityFilter filter, int64_t measured, int64_t experiments) {
  switch (filter) {
    case EntityFilter::kNone:
      return true;
    case EntityFilter::kUnmeasured:
      return measured == 0;
    case EntityFilter::kPartial:
      return measured > 0 && measured < experiments;
    case EntityFilter::kMeasured:
      return measured == experiments;
  }
  return false;
}

Result<std::vector<size_t>> AxesOf(const OperationFile& file, const experiment::BoundSpace& space) {
  std::vector<std::string> names;
  for (const space::Property& property : space.space().properties) {
    names.push_back(property.identifier);
  }
  std::vector<size_t> axes;
  for (const std::string& name : file.walk.grouped_by) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      const std::string nearest = NearestName(name, names);
      return Status::InvalidArgument(fmt::format("{}: 'grouping' names '{}', which is no property of {}{}", file.source,
                                                 name, space.space().source,
                                                 nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
    }
    const auto axis = static_cast<size_t>(found - names.begin());
    if (std::ranges::find(axes, axis) == axes.end()) {
      axes.push_back(axis);
    }
  }
  return axes;
}

/// Sets which entities `walk` goes through: only those of `measured` where nothing else can pass.
void ChooseEntities(const RandomWalk& settings, const Measured& measured, int64_t experiments, Walk& walk) {
  const bool listed = settings.from_store || !Passes(settings.filter, 0, experiments);
  if (listed) {
    walk.entities.emplace();
  }
  for (const auto& [entity, count] : measured) {
    const bool passes = Passes(settings.filter, count, experiments);
    if (passes && listed) {
      walk.entities->push_back(entity);
    } else if (!passes && !listed) {
      walk.left_out.insert(entity);
    }
  }
}

Status CheckNumber(const OperationFile& file, int64_t there_are, const std::string& store_url) {
  if (file.walk.entities <= there_are) {
    return Status::Ok();
  }
  const std::string where =
      file.walk.from_store
          ? fmt::format("{} has of this space (samplerType selector; generator takes them from the space)", store_url)
          : std::string("the space has");
  return Status::InvalidArgument(fmt::format("{}: 'numberEntities' is {}, more than the {} that {}; all takes them all",
                                             file.source, file.walk.entities, there_are, where));
}

std::string DetailsOf(const OperationFile& file, uint64_t seed) {
  return DumpJson({{"operation", file.source},
                   {"operator", "random_walk"},
                   {"name", file.name},
                   {"random", file.walk.random},
                   {"grouping", file.walk.grouped_by},
                   {"entities", file.walk.entities},
                   {"seed", seed}});
}

/// Here points at once share the machine, so that a batch is of points: of one alone what was measured alone is
/// replayed. Elsewhere each has its own, and an entity's experiments run side by side.
void UseSettings(const RandomWalk& walk, const experiment::BoundSpace& space, ExploreOptions& options) {
  const int64_t together = options.measure.context.runs_here() ? 1 : std::ssize(space.experiments());
  const int64_t at_once = std::min(walk.batch_size, kMostAtOnce) * together;
  options.workers = static_cast<int>(std::min({at_once, kMostAtOnce, std::max<int64_t>(1, space.size())}));
  options.retries = static_cast<int>(std::min(walk.max_retries, kMostRetries));
  options.measure.replay = walk.single_measurement;
}

}  // namespace

Status UseWalk(const OperationFile& file, const experiment::BoundSpace& space, samplestore::SampleStore& store,
               uint64_t seed, ExploreOptions& options) {
  const RandomWalk& settings = file.walk;
  UseSettings(settings, space, options);
  const int64_t experiments = std::ssize(space.experiments());
  Walk walk{.random = settings.random};
  ASSAY_ASSIGN_OR_RETURN(walk.grouped_by, AxesOf(file, space));
  Measured measured;
  if (settings.from_store || settings.filter != EntityFilter::kNone) {
    ASSAY_ASSIGN_OR_RETURN(measured, MeasuredExperiments(space, store, Completed(options).measure));
  }
  const int64_t all = space.size() / experiments;
  ASSAY_RETURN_IF_ERROR(CheckNumber(file, settings.from_store ? std::ssize(measured) : all, store.url()));
  ChooseEntities(settings, measured, experiments, walk);
  const int64_t passing = walk.entities ? std::ssize(*walk.entities) : all - std::ssize(walk.left_out);
  options.budget = (settings.entities < 0 ? passing : std::min(settings.entities, passing)) * experiments;
  options.sampler = std::make_shared<WalkSampler>(Grid(space), std::move(walk), seed);
  options.details = DetailsOf(file, seed);
  return Status::Ok();
}

}  // namespace assay::explore
