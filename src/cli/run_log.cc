#include "cli/run_log.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace assay::cli {
namespace {

/// JSON has no numbers that are not finite.
nlohmann::json NumberOrNull(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

/// "loss" of training, else "eval_loss", as transformers names them.
std::string LineName(std::string_view tag) {
  constexpr std::string_view kTrain = "train/";
  std::string name(tag.starts_with(kTrain) ? tag.substr(kTrain.size()) : tag);
  std::ranges::replace(name, '/', '_');
  return name;
}

std::vector<Scalar> ScalarsOf(const job::Step& step) {
  const auto in_a_second = [&](int64_t count) { return static_cast<double>(count) / step.seconds; };
  std::vector<Scalar> scalars = {{"train/loss", step.loss},
                                 {"train/grad_norm", step.grad_norm},
                                 {"train/learning_rate", step.learning_rate},
                                 {"train/step_seconds", step.seconds},
                                 {"train/samples_per_second", in_a_second(step.samples)}};
  if (step.real_tokens > 0) {
    scalars.push_back({"train/tokens_per_second", in_a_second(step.real_tokens)});
  }
  return scalars;
}

}  // namespace

Result<RunLog> RunLog::Open(const std::string& folder) {
  ASSAY_RETURN_IF_ERROR(CheckWritableDirectory(folder));
  ASSAY_ASSIGN_OR_RETURN(AppendFile lines, AppendFile::Open(folder + "/log.jsonl"));
  ASSAY_ASSIGN_OR_RETURN(ScalarEvents curves, ScalarEvents::Create(folder));
  return RunLog(std::move(lines), std::move(curves));
}

void RunLog::OnEvent(const job::Event& event) {
  if (status_.ok()) {
    status_ = Write(event);
  }
}

Status RunLog::Write(const job::Event& event) {
  if (const auto* step = std::get_if<job::Step>(&event)) {
    return Add(step->step, ScalarsOf(*step));
  }
  if (const auto* held_out = std::get_if<job::HeldOutLoss>(&event)) {
    return Add(held_out->step, std::vector<Scalar>{{"eval/loss", held_out->loss},
                                                   {"eval/perplexity", held_out->perplexity},
                                                   {"eval/seconds", held_out->seconds}});
  }
  if (const auto* images = std::get_if<job::Evaluation>(&event)) {
    return Add(images->step, std::vector<Scalar>{{"eval/loss", images->loss},
                                                 {"eval/accuracy", images->accuracy},
                                                 {"eval/seconds", images->seconds}});
  }
  const auto* resumed = std::get_if<job::Resumed>(&event);
  return resumed == nullptr ? Status::Ok() : curves_.BeginAt(resumed->step + 1);
}

Status RunLog::Add(int64_t step, std::span<const Scalar> scalars) {
  nlohmann::ordered_json line = {{"step", step}, {"time", UtcTimestamp()}};
  for (const Scalar& scalar : scalars) {
    line[LineName(scalar.tag)] = NumberOrNull(scalar.value);
  }
  ASSAY_RETURN_IF_ERROR(lines_.Append(line.dump() + '\n'));
  return curves_.Write(step, scalars);
}

}  // namespace assay::cli
