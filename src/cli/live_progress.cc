#include "cli/live_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::cli {
namespace {

// Where nobody rewrites the line, a log with a line a second is enough.
constexpr double kPlainLineSeconds = 1.0;

}  // namespace

LiveProgress::LiveProgress(double stop_after_seconds) : line_(stderr), pace_(stop_after_seconds) {}

void LiveProgress::Restart(double stop_after_seconds) {
  pace_ = explore::RunPace(stop_after_seconds);
  last_plain_line_ = -1;
}

void LiveProgress::OnPhase(std::string_view phase) {
  line_.Update(prefix_ + std::string(phase));
}

void LiveProgress::Print(std::string_view text) {
  line_.PrintAbove(text);
}

void LiveProgress::OnEvent(const job::Event& event) {
  if (const auto* started = std::get_if<job::Started>(&event)) {
    const std::string isa = started->isa.empty() ? "" : ", " + started->isa;
    line_.Update(fmt::format("{}loading on {} ({} threads{})", prefix_, started->device, started->threads, isa));
  } else if (const auto* loaded = std::get_if<job::Loaded>(&event)) {
    pace_.OnLoaded(*loaded);
    last_plain_line_ = -1;
    const std::string rows = loaded->rows > 0 ? fmt::format(", {} rows", loaded->rows) : "";
    line_.Update(fmt::format("{}{}: {} of {} parameters train{}, loaded in {}", prefix_, loaded->model_type,
                             FormatCount(loaded->trainable_parameters), FormatCount(loaded->parameters), rows,
                             FormatSeconds(loaded->seconds)));
  } else if (const auto* step = std::get_if<job::Step>(&event)) {
    OnStep(*step);
  } else if (const auto* evaluation = std::get_if<job::Evaluation>(&event)) {
    line_.PrintAbove(fmt::format("{}epoch {}: loss {:.4f}, accuracy {:.2f} % of {} images", prefix_, evaluation->epoch,
                                 evaluation->loss, 100 * evaluation->accuracy, evaluation->samples));
  } else if (const auto* held_out = std::get_if<job::HeldOutLoss>(&event)) {
    line_.PrintAbove(fmt::format("{}step {}: held-out loss {:.4f}, perplexity {}", prefix_, held_out->step,
                                 held_out->loss, FormatNumber(held_out->perplexity)));
  } else if (const auto* resumed = std::get_if<job::Resumed>(&event)) {
    line_.PrintAbove(fmt::format("{}goes on after step {} from {}", prefix_, resumed->step, resumed->uri));
  } else if (const auto* transfer = std::get_if<job::CheckpointTransfer>(&event)) {
    line_.Update(fmt::format("{}{} {} took {}", prefix_, transfer->operation, transfer->repeat,
                             FormatSeconds(transfer->seconds)));
  } else if (const auto* part = std::get_if<job::ConnectorStep>(&event)) {
    line_.PrintAbove(fmt::format("{}{} took {}", prefix_, part->step, FormatSeconds(part->seconds)));
  } else if (const auto* saved = std::get_if<job::Saved>(&event)) {
    line_.PrintAbove(fmt::format("{}saved to {}", prefix_, saved->path));
  }
}

std::string LiveProgress::Rate(const job::Step& step) {
  return fmt::format("{} {}", FormatNumber(explore::RateOf(step)), step.real_tokens > 0 ? "tokens/s" : "images/s");
}

void LiveProgress::OnStep(const job::Step& step) {
  pace_.OnStep(step);
  const bool last = step.step == pace_.planned_steps();
  if (!IsTerminal(stderr) && !last && step.step != 1 && pace_.train_seconds() - last_plain_line_ < kPlainLineSeconds) {
    return;
  }
  last_plain_line_ = pace_.train_seconds();
  const int64_t peak = std::max({step.forward_peak_bytes, step.backward_peak_bytes, step.optimizer_peak_bytes});
  if (step.skipped) {
    line_.PrintAbove(fmt::format("{}step {} skipped: its gradients overflow at a loss scale of {}", prefix_, step.step,
                                 step.loss_scale));
  }
  // Libraries tell neither what they plan nor their tensors' memory.
  const bool is_planned = pace_.planned_steps() > 0;
  line_.Update(fmt::format("{}step {}{}  loss {:.4f}  {}{}{}", prefix_, step.step,
                           is_planned ? fmt::format("/{}", pace_.total_steps()) : "", step.loss, Rate(step),
                           peak > 0 ? "  " + FormatBytes(static_cast<double>(peak)) : "",
                           is_planned ? fmt::format("  {} left", FormatSeconds(pace_.SecondsLeft())) : ""));
}

}  // namespace assay::cli
