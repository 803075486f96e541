#include "engine/comm/connect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/hierarchy/hierarchical_communicator.h"
#include "engine/comm/local_communicator.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "engine/comm/rendezvous.h"
#include "engine/comm/shm/shm_rendezvous.h"

namespace assay::engine {
namespace {

/// All ranks have found the same fault: none goes, with the store that it may serve, before all have seen it.
void wait_for_others(Rendezvous& rendezvous) {
  try {
    rendezvous.exchange("fault seen", "");
  } catch (const CommError&) {
    return;  // whoever serves the store has seen that all had come
  }
}

std::shared_ptr<const HostMap> meet(Rendezvous& rendezvous) {
  std::vector<HostIdentity> hosts;
  for (const std::string& text : rendezvous.exchange("host", to_text(own_host(rendezvous.environment())))) {
    hosts.push_back(parse_host(text));
  }
  try {
    return std::make_shared<const HostMap>(hosts);
  } catch (const CommError&) {
    wait_for_others(rendezvous);
    throw;
  }
}

/// The one that serves ranks of these machines best.
std::string_view choose(const HostMap& hosts, int ranks) {
  if (hosts.machines() == 1) {
    return "shm";
  }
  return hosts.machines() == ranks ? "gloo" : "shm+gloo";
}

std::unique_ptr<Communicator> connect_over_cpu(const RankEnvironment& environment, std::string_view backend,
                                               const CommOptions& options) {
  const auto rendezvous = std::make_shared<Rendezvous>(environment, options);
  const std::shared_ptr<const HostMap> hosts = meet(*rendezvous);
  if (backend == "auto") {
    backend = choose(*hosts, environment.world_size);
  }
  if (backend == "gloo") {
    return connect_gloo(make_gloo_job(rendezvous, hosts, options), environment.rank, environment.world_size);
  }
  if (backend == "shm+gloo") {
    return connect_hierarchical(rendezvous, hosts, options);
  }
  if (hosts->machines() > 1) {
    throw CommError(fmt::format("shm joins ranks of one machine, but these are on {}: use auto", hosts->machines()));
  }
  return connect_machine(*rendezvous, *hosts, options, {.place = rendezvous, .publish = nullptr});
}

/// A positive number of seconds out of variable `name`.
Status read_seconds(const char* name, double& seconds) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return Status::Ok();
  }
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value > 0)) {
    return Status::InvalidArgument(fmt::format("{}={}: must be a number of seconds above 0", name, text));
  }
  seconds = value;
  return Status::Ok();
}

}  // namespace

std::unique_ptr<Communicator> connect_ranks(const RankEnvironment& environment, std::string_view backend,
                                            const CommOptions& options) {
  if (backend == "auto" && environment.world_size == 1) {
    return make_self_communicator();
  }
  if (backend == "nccl") {
    return connect_nccl(std::make_shared<Rendezvous>(environment, options), options);
  }
  constexpr std::array<std::string_view, 4> kOverCpu = {"auto", "shm", "gloo", "shm+gloo"};
  if (std::ranges::find(kOverCpu, backend) == kOverCpu.end()) {
    throw CommError(fmt::format("unknown communicator '{}': choose auto, shm, gloo, shm+gloo or nccl", backend));
  }
  return connect_over_cpu(environment, backend, options);
}

Result<CommOptions> read_comm_options(CommOptions options) {
  ASSAY_RETURN_IF_ERROR(read_seconds("ASSAY_COMM_START_TIMEOUT", options.start_seconds));
  ASSAY_RETURN_IF_ERROR(read_seconds("ASSAY_COMM_TIMEOUT", options.deadline_seconds));
  ASSAY_RETURN_IF_ERROR(read_seconds("ASSAY_COMM_STOPPED_TIMEOUT", options.stopped_seconds));
  if (const char* thread = std::getenv("ASSAY_COMM_THREAD"); thread != nullptr) {
    if (std::strcmp(thread, "0") != 0 && std::strcmp(thread, "1") != 0) {
      return Status::InvalidArgument(fmt::format("ASSAY_COMM_THREAD={}: must be 0 or 1", thread));
    }
    options.execution = *thread == '1' ? Execution::kThread : Execution::kCaller;
  }
  return options;
}

}  // namespace assay::engine
