#include "engine/comm/rank_environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace assay::engine {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// The number in variable `name`, which must be in [smallest, below).
Result<int> number(const char* name, int smallest, int below) {
  const std::optional<std::string> text = variable(name);
  if (!text) {
    return Status::InvalidArgument(
        fmt::format("{} is not set, though other variables say that this is a rank of several: start ranks with "
                    "assay or torchrun, which set all of them",
                    name));
  }
  int value = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || rest != end || value < smallest || value >= below) {
    return Status::InvalidArgument(
        fmt::format("{}={}: must be a number from {} to {}", name, *text, smallest, below - 1));
  }
  return value;
}

Result<int> number_or(const char* name, int fallback, int smallest, int below) {
  return variable(name) ? number(name, smallest, below) : fallback;
}

Status read_meeting_place(RankEnvironment& environment) {
  const std::optional<std::string> address = variable("MASTER_ADDR");
  if (!address || address->empty()) {
    return Status::InvalidArgument("MASTER_ADDR is not set: ranks do not know where to meet");
  }
  environment.address = *address;
  constexpr int kPorts = 65536;
  ASSAY_ASSIGN_OR_RETURN(environment.port, number("MASTER_PORT", 1, kPorts));
  environment.group = variable("GROUP_RANK").value_or("");
  environment.job = variable("TORCHELASTIC_RUN_ID").value_or("");
  environment.restart = variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
  environment.store_is_served = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return Status::Ok();
}

}  // namespace

Result<RankEnvironment> read_rank_environment() {
  RankEnvironment environment;
  if (!variable("RANK") && !variable("WORLD_SIZE")) {
    return environment;
  }
  constexpr int kMostRanks = 1 << 20;
  ASSAY_ASSIGN_OR_RETURN(environment.world_size, number("WORLD_SIZE", 1, kMostRanks));
  const int size = environment.world_size;
  ASSAY_ASSIGN_OR_RETURN(environment.rank, number("RANK", 0, size));
  if (size > 1) {
    // Without it nobody knows which ranks share a machine, and thereby memory and GPUs.
    ASSAY_ASSIGN_OR_RETURN(environment.local_world_size, number("LOCAL_WORLD_SIZE", 1, size + 1));
  }
  ASSAY_ASSIGN_OR_RETURN(
      environment.local_rank,
      number_or("LOCAL_RANK", environment.rank % environment.local_world_size, 0, environment.local_world_size));
  if (size > 1) {
    ASSAY_RETURN_IF_ERROR(read_meeting_place(environment));
  }
  return environment;
}

}  // namespace assay::engine
