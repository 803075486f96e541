#include "engine/train/memory_need.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/comm/gather_text.h"
#include "engine/train/failure.h"
#include "measure/machine.h"

namespace assay::engine {
namespace {

/// Of what is foretold, this much is needed for sure.
constexpr double kSureShare = 0.95;

std::string text_of(int64_t bytes) {
  return FormatBytes(static_cast<double>(bytes));
}

bool exceeds(int64_t needed, int64_t room) {
  return kSureShare * static_cast<double>(needed) > static_cast<double>(room);
}

/// "weights 15.0 GiB, gradients 15.0 GiB, ...": of one rank.
std::string parts_of(const MemoryPhase& phase) {
  const job::MemoryLedger& ledger = phase.ledger;
  const std::pair<std::string_view, int64_t> parts[] = {
      {"weights", ledger.parameters_bytes},
      {"gradients", ledger.gradients_bytes},
      {"weights that the optimizer updates", ledger.master_bytes},
      {"moments", ledger.moments_bytes},
      {"offloaded states", ledger.host_bytes},
      {"buckets", ledger.buckets_bytes},
      {"activations", ledger.activations_bytes},
      {"the copy that checkpoints are written from", phase.copy_bytes},
      {"temporaries", ledger.temporaries_bytes - phase.copy_bytes}};
  std::vector<std::string> texts;
  for (const auto& [name, bytes] : parts) {
    if (bytes > 0) {
      texts.push_back(fmt::format("{} {}", name, text_of(bytes)));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string advice_for(const job::TunePlan& plan, const MemoryPhase& phase) {
  std::vector<std::string_view> ways;
  if (phase.copy_bytes > 0) {
    ways.emplace_back("--checkpoint-writer sync");
  }
  if (plan.method == "full") {
    ways.emplace_back("LoRA");
  }
  if (plan.batch_size > 1) {
    ways.emplace_back("a smaller batch");
  }
  if (plan.gradient_checkpointing == "off") {
    ways.emplace_back("gradient checkpointing");
  }
  const std::string_view last =
      plan.plugin == "FULL_SHARD" ? "more machines" : "FULL_SHARD over more ranks or machines";
  return ways.empty() ? std::string(last) : fmt::format("{} or {}", fmt::join(ways, ", "), last);
}

}  // namespace

job::MemoryNeed memory_need(const CausalLmForecast& forecast, int64_t ranks) {
  const measure::MemoryRoom room = measure::FindMemoryRoom();
  const MemoryPhase& highest = forecast.highest_of_machine();
  return {.ranks = ranks,
          .tensor_bytes = highest.tensor_bytes,
          .mapped_bytes = highest.mapped_bytes,
          .free_bytes = room.free_bytes,
          .total_bytes = room.total_bytes};
}

std::string why_it_cannot_fit(const job::TunePlan& plan, const CausalLmForecast& forecast,
                              const job::MemoryNeed& need) {
  const MemoryPhase& highest = forecast.highest();
  const int64_t of_rank = highest.ledger.peak_bytes;
  if (plan.memory_budget_bytes > 0 && exceeds(of_rank, plan.memory_budget_bytes)) {
    return fmt::format("{} needs {} ({}), and the memory budget is {}: use {}, or raise the budget",
                       plan.number_ranks > 1 ? "each rank" : "this", text_of(of_rank), parts_of(highest),
                       text_of(plan.memory_budget_bytes), advice_for(plan, highest));
  }
  const int64_t of_machine = need.tensor_bytes + need.mapped_bytes;
  if (need.free_bytes > 0 && exceeds(of_machine, need.free_bytes)) {
    return fmt::format("this needs {} ({}{}), and the machine has {} free of {}: use {}", text_of(of_machine),
                       need.ranks > 1 ? fmt::format("each of {} ranks: ", need.ranks) : "",
                       parts_of(forecast.highest_of_machine()), text_of(need.free_bytes), text_of(need.total_bytes),
                       advice_for(plan, forecast.highest_of_machine()));
  }
  return "";
}

void refuse_together(const std::string& why, Communicator* world) {
  std::vector<std::string> of_ranks = {why};
  if (world != nullptr && world->size() > 1) {
    of_ranks = gather_text(*world, why, "whether the run fits");
  }
  const auto refused = std::ranges::find_if(of_ranks, [](const std::string& reason) { return !reason.empty(); });
  if (!why.empty()) {
    throw CannotFit(why);
  }
  if (refused != of_ranks.end()) {
    throw CannotFit(fmt::format("rank {} has no room: {}", refused - of_ranks.begin(), *refused));
  }
}

}  // namespace assay::engine
