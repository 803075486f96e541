#include "samplestore/exchange/published/published_point.h"

#include <fmt/format.h>

#include "experiment/catalogue.h"

namespace assay::samplestore {
namespace {

constexpr std::string_view kActuator = "SFTTrainer.";

/// The name of the property that `text` begins with, followed by a '.'; of several the longest.
std::string_view PropertyAt(const experiment::Experiment& experiment, std::string_view text) {
  std::string_view longest;
  for (const experiment::PropertySpec& spec : experiment.properties()) {
    const bool begins = text.starts_with(spec.name) && text.substr(spec.name.size()).starts_with('.');
    if (begins && spec.name.size() > longest.size()) {
      longest = spec.name;
    }
  }
  return longest;
}

/// Where the value at the front of `text` ends: at the '-' before the next property.
size_t ValueEnd(const experiment::Experiment& experiment, std::string_view text) {
  size_t end = text.find('-');
  while (end != std::string_view::npos && PropertyAt(experiment, text.substr(end + 1)).empty()) {
    end = text.find('-', end + 1);
  }
  return std::min(end, text.size());
}

}  // namespace

Result<PublishedExperiment> ReadExperimentId(std::string_view id) {
  std::string_view rest = id;
  rest.remove_prefix(rest.starts_with(kActuator) ? kActuator.size() : 0);
  const experiment::Experiment* found = nullptr;
  for (const experiment::Experiment* known : experiment::AllExperiments()) {
    const bool begins = rest == known->id() || rest.starts_with(known->id() + "-");
    if (begins && (found == nullptr || known->id().size() > found->id().size())) {
      found = known;
    }
  }
  if (found == nullptr) {
    return experiment::FindExperiment(rest).status();
  }
  rest.remove_prefix(found->id().size());
  PublishedExperiment published{.experiment = found, .parameters = {}};
  if (!rest.empty()) {
    ASSAY_ASSIGN_OR_RETURN(published.parameters, ReadEntityId(*found, rest.substr(1)));
  }
  return published;
}

Result<space::Entity> ReadEntityId(const experiment::Experiment& experiment, std::string_view id) {
  space::Entity entity;
  for (std::string_view rest = id; !rest.empty();) {
    const std::string_view name = PropertyAt(experiment, rest);
    if (name.empty()) {
      return Status::InvalidArgument(
          fmt::format("'{}' in the id '{}' is no property of {}: `assay experiments {}` lists them",
                      rest.substr(0, rest.find('.')), id, experiment.id(), experiment.id()));
    }
    rest.remove_prefix(name.size() + 1);
    const size_t end = ValueEnd(experiment, rest);
    entity[std::string(name)] = space::ValueFromText(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return entity;
}

std::string PublishedExperimentId(std::string_view parameterized_id) {
  return fmt::format("{}{}", kActuator, parameterized_id);
}

}  // namespace assay::samplestore
