#include "experiment/connector/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "experiment/connector/connector.h"

namespace assay::experiment {
namespace {

Status NotWhole(const job::ConnectorPlan& plan, const std::string& what) {
  return Status::Internal(fmt::format("connector {} {}", plan.connector, what));
}

Status CheckRows(const job::ConnectorPlan& plan, const ConnectorParts& parts) {
  for (const char* name : {"optimise", "optimise_compressed", "stream", "stream_compressed"}) {
    const job::ConnectorStep& step = parts.at(name).step;
    if (step.samples != plan.rows) {
      return NotWhole(plan, fmt::format("gave {} rows in its step {}: there are {}", step.samples, name, plan.rows));
    }
    if (std::string_view(name).starts_with("stream") && step.digest != plan.rows_digest) {
      return NotWhole(plan, fmt::format("gave other rows in its step {} than it was given", name));
    }
  }
  return Status::Ok();
}

/// Of the checkpoint that a resume has to go on from: the last but one, since the last is removed.
int64_t StepToResume(const job::ConnectorPlan& plan) {
  return (plan.max_steps - 1) / plan.save_every * plan.save_every;
}

Status CheckTraining(const job::ConnectorPlan& plan, const ConnectorParts& parts) {
  for (const char* name : {"fine_tune", "resume", "fine_tune_local", "fine_tune_again"}) {
    const std::vector<job::Step>& steps = parts.at(name).steps;
    const int64_t before = std::string_view(name) == "resume" ? StepToResume(plan) : 0;
    bool are_all = static_cast<int64_t>(steps.size()) == plan.max_steps - before;
    for (size_t i = 0; are_all && i < steps.size(); ++i) {
      are_all = steps[i].step == before + 1 + static_cast<int64_t>(i);
    }
    if (!are_all) {
      return NotWhole(plan, fmt::format("made {} training steps in its step {}: they are to be {} to {}", steps.size(),
                                        name, before + 1, plan.max_steps));
    }
  }
  const std::optional<job::Resumed>& resumed = parts.at("resume").resumed;
  if (!resumed || resumed->step != StepToResume(plan)) {
    return NotWhole(plan, fmt::format("did not go on from the checkpoint of step {}", StepToResume(plan)));
  }
  return Status::Ok();
}

}  // namespace

ConnectorParts ConnectorPartsOf(const job::RunRecord& run) {
  ConnectorParts parts;
  ConnectorPart part;
  for (size_t i = 0; i < run.events.size(); ++i) {
    const job::Event& event = run.events[i];
    const double at_s = i < run.event_seconds.size() ? run.event_seconds[i] : 0;
    if (const auto* step = std::get_if<job::Step>(&event)) {
      part.first_step_s = part.steps.empty() ? at_s : part.first_step_s;
      part.steps.push_back(*step);
    } else if (const auto* rank_step = std::get_if<job::RankStep>(&event)) {
      part.rank_steps.push_back(*rank_step);
    } else if (const auto* checkpoint = std::get_if<job::Checkpointed>(&event)) {
      part.checkpoints.push_back(*checkpoint);
    } else if (const auto* resumed = std::get_if<job::Resumed>(&event)) {
      part.resumed = *resumed;
    } else if (const auto* use = std::get_if<job::DataUse>(&event)) {
      part.use = *use;
    } else if (const auto* ended = std::get_if<job::ConnectorStep>(&event)) {
      part.step = *ended;
      part.end_s = at_s;
      parts[ended->step] = std::move(part);
      part = {};
    }
  }
  return parts;
}

Status CheckConnectorParts(const job::ConnectorPlan& plan, const ConnectorParts& parts) {
  for (const char* step : kConnectorSteps) {
    if (!parts.contains(step)) {
      return NotWhole(plan, fmt::format("told nothing of its step {}", step));
    }
  }
  ASSAY_RETURN_IF_ERROR(CheckRows(plan, parts));
  return CheckTraining(plan, parts);
}

double LossDifference(const std::vector<job::Step>& one, const std::vector<job::Step>& other) {
  double largest = 0;
  for (const job::Step& step : one) {
    const auto same = std::ranges::find(other, step.step, &job::Step::step);
    const double difference = same == other.end() ? 0 : std::abs(same->loss - step.loss);
    if (std::isnan(difference)) {
      return difference;
    }
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace assay::experiment
