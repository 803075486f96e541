#include "explore/live_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ranges>
#include <variant>

#include "base/json.h"
#include "base/text.h"
#include "space/number.h"

namespace assay::explore {
namespace {

using nlohmann::json;

constexpr size_t kMostLosses = 200;  ///< of a run
/// What is told of all that run, so that it stays small whatever their number: all of it waits for each that looks on.
constexpr size_t kMostRunsTold = 32;
constexpr size_t kMostLossesTold = 1200;
constexpr size_t kMostRecent = 8;
constexpr size_t kLongestText = 300;

std::string MachineName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 ? name : "";
}

std::string Shortened(std::string text) {
  if (text.size() > kLongestText) {
    text.resize(kLongestText);
    text += "...";
  }
  return text;
}

/// A curve's digits: six.
double Rounded(double loss) {
  return std::strtod(fmt::format("{:.6g}", loss).c_str(), nullptr);
}

/// At most so many, the first and the last among them.
json ThinnedLosses(const std::vector<std::pair<int64_t, double>>& losses, size_t most) {
  json told = json::array();
  const size_t count = std::min(losses.size(), most);
  for (size_t i = 0; i < count; ++i) {
    const auto& [step, loss] = losses[count == 1 ? 0 : i * (losses.size() - 1) / (count - 1)];
    told.push_back({step, Rounded(loss)});
  }
  return told;
}

/// Beyond 0: the seconds after which the point's run stops.
double TimeLimitOf(const experiment::BoundPoint& point) {
  const experiment::PropertySpec* limit = FindProperty(*point.experiment, experiment::Role::kTimeLimit);
  const auto found = limit == nullptr ? point.complete.end() : point.complete.find(limit->name);
  return found == point.complete.end() ? -1 : space::NumberOf(found->second).value_or(-1);
}

}  // namespace

LiveState::LiveState(const experiment::BoundSpace& space, int64_t total, int workers)
    : space_(space), host_(MachineName()), started_at_(UtcTimestamp()), total_(total), workers_(workers) {}

/// By what differs within the space.
std::string LiveState::LabelOf(const experiment::BoundPoint& point) const {
  std::vector<std::string> parts;
  for (const space::Property& property : space_.space().properties) {
    const auto value = point.complete.find(property.identifier);
    if (property.domain.size().value_or(2) > 1 && value != point.complete.end()) {
      parts.push_back(property.identifier + " " + space::ToString(value->second));
    }
  }
  return Shortened(parts.empty() ? std::string(point.experiment->id()) : Join(parts, ", "));
}

void LiveState::OnStart(const PointStart& start, double now) {
  running_[start.index] = {.number = start.number,
                           .label = LabelOf(*start.point),
                           .experiment = std::string(start.point->experiment->id()),
                           .began = now,
                           .phase = "preparing",
                           .pace = RunPace(TimeLimitOf(*start.point)),
                           .last = {},
                           .losses = {}};
}

void LiveState::OnBusy(const PointStart& start) {
  if (auto run = running_.extract(start.index)) {
    waiting_.insert(std::move(run));
  }
}

void LiveState::OnStep(Running& run, const job::Step& step) {
  run.phase = "training";
  run.pace.OnStep(step);
  run.last = step;
  if (step.step % run.every == 0) {
    run.losses.emplace_back(step.step, step.loss);
  }
  if (run.losses.size() > kMostLosses) {
    run.every *= 2;
    std::erase_if(run.losses, [&](const auto& entry) { return entry.first % run.every != 0; });
  }
}

void LiveState::OnEvent(int64_t index, const job::Event& event, double now) {
  if (auto run = waiting_.extract(index)) {
    run.mapped().began = now;  // the others did not measure it after all
    running_.insert(std::move(run));
  }
  const auto found = running_.find(index);
  if (found == running_.end()) {
    return;
  }
  Running& run = found->second;
  if (std::holds_alternative<job::Started>(event)) {
    run.phase = "loading";
  } else if (const auto* loaded = std::get_if<job::Loaded>(&event)) {
    run.phase = "loaded";
    run.pace.OnLoaded(*loaded);
  } else if (const auto* step = std::get_if<job::Step>(&event)) {
    OnStep(run, *step);
  } else if (std::holds_alternative<job::Ended>(event)) {
    run.phase = "ended";
  }
}

void LiveState::OnDone(const PointDone& done, double now) {
  const samplestore::Measurement& measurement = done.result->measurement;
  const bool replayed = done.result->source == Source::kReplayed;
  double seconds = 0;
  if (const auto run = running_.extract(done.index)) {
    seconds = now - run.mapped().began;
  }
  waiting_.erase(done.index);
  if (!replayed && seconds > 0) {
    ++timed_points_;
    timed_seconds_ += seconds;
  }
  const std::string outcome(EndedEarly(measurement) ? samplestore::kEndedEarly
                                                    : samplestore::ToString(measurement.outcome));
  done_ = done.done;
  ++counts_[replayed ? "replayed" : outcome];
  recent_.push_front({.number = done.done,
                      .label = LabelOf(*done.point),
                      .outcome = outcome,
                      .replayed = replayed,
                      .reason = Shortened(measurement.reason),
                      .seconds = seconds,
                      .uid = measurement.uid});
  if (recent_.size() > kMostRecent) {
    recent_.pop_back();
  }
}

double LiveState::SecondsLeft(double now) const {
  const double each = timed_seconds_ / static_cast<double>(timed_points_);
  double left = each * static_cast<double>(std::max<int64_t>(0, total_ - done_));
  for (const auto& [index, run] : running_) {
    left -= std::min(each, now - run.began);  // a point that takes longer takes from its own share alone
  }
  return std::max(0.0, left / workers_);
}

json LiveState::RunJson(const Running& run, double now) const {
  const size_t most_losses = kMostLossesTold / std::clamp<size_t>(running_.size(), 1, kMostRunsTold);
  json entry = {{"number", run.number},       {"label", run.label}, {"experiment", run.experiment},
                {"seconds", now - run.began}, {"phase", run.phase}, {"losses", ThinnedLosses(run.losses, most_losses)}};
  if (run.last.step > 0) {
    entry.update({{"step", run.last.step},
                  {"steps", run.pace.total_steps()},
                  {"loss", run.last.loss},
                  {"rate", RateOf(run.last)},
                  {"unit", run.last.real_tokens > 0 ? "tokens/s" : "images/s"},
                  {"seconds_left", run.pace.SecondsLeft()}});
  }
  return entry;
}

std::string LiveState::ToJson(double now) const {
  json state = {{"space", space_.space().name.empty() ? space_.space().source : space_.space().name},
                {"host", host_},
                {"started_at", started_at_},
                {"at", UtcTimestamp()},
                {"total", total_},
                {"done", done_},
                {"waiting", waiting_.size()},
                {"running", json::array()},
                {"recent", json::array()}};
  for (const auto& [name, key] :
       {std::pair("measured", "valid"), std::pair("replayed", "replayed"), std::pair("invalid", "invalid"),
        std::pair("failed", "failed"), std::pair("ended_early", "ended_early")}) {
    const auto found = counts_.find(key);
    state[name] = found == counts_.end() ? 0 : found->second;
  }
  state["seconds_left"] = timed_points_ == 0 ? json() : json(SecondsLeft(now));
  for (const auto& [index, run] : running_ | std::views::take(kMostRunsTold)) {
    state["running"].push_back(RunJson(run, now));
  }
  state["more_running"] = running_.size() - state["running"].size();
  for (const Done& done : recent_) {
    state["recent"].push_back({{"number", done.number},
                               {"label", done.label},
                               {"outcome", done.outcome},
                               {"replayed", done.replayed},
                               {"reason", done.reason},
                               {"seconds", done.seconds},
                               {"uid", done.uid}});
  }
  return DumpJson(state);
}

}  // namespace assay::explore
