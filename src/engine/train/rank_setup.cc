#include "engine/train/rank_setup.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "engine/comm/connect.h"
#include "engine/comm/gather_text.h"
#include "engine/comm/host_map.h"
#include "engine/model/status_error.h"
#include "engine/train/device.h"

namespace assay::engine {

RankEnvironment environment_of(const job::ParallelPlan& plan) {
  RankEnvironment environment = value_or_throw(read_rank_environment());
  if (environment.world_size != plan.number_ranks) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("the plan is for {} rank{}, but WORLD_SIZE says {}: start as many as the plan has",
                    plan.number_ranks, plan.number_ranks == 1 ? "" : "s", environment.world_size)));
  }
  return environment;
}

c10::Device select_rank_device(const std::string& device, const RankEnvironment& environment) {
  c10::Device selected = select_device(device);
  if (selected.is_cuda()) {
    selected = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(environment.local_rank));
    use_device(selected);
  }
  return selected;
}

void set_rank_threads(int64_t threads, const RankEnvironment& environment) {
  // A launcher that says a number has shared the cores already.
  const bool shares = threads == 0 && environment.local_world_size > 1 && std::getenv("OMP_NUM_THREADS") == nullptr;
  set_threads(shares ? std::max<int64_t>(1, at::get_num_threads() / environment.local_world_size) : threads);
}

std::unique_ptr<Communicator> join_ranks(const job::ParallelPlan& plan, const RankEnvironment& environment,
                                         c10::Device device) {
  CommOptions wanted;
  // The last stage waits for a forward of each before it, the first for the backwards too.
  const int64_t turns = plan.knobs.pp_size > 1 ? 2 * plan.knobs.pp_size : 1;
  wanted.deadline_seconds = static_cast<double>(turns) * plan.timeout_seconds;
  const CommOptions options = value_or_throw(read_comm_options(wanted));
  return connect_ranks(environment, device.is_cuda() && environment.world_size > 1 ? "nccl" : "auto", options);
}

int64_t groups_on_machine(Communicator* world, const RankEnvironment& environment) {
  if (world == nullptr || world->size() == 1) {
    return 1;
  }
  std::vector<HostIdentity> hosts;
  for (const std::string& text : gather_text(*world, to_text(own_host(environment)), "the machines of all ranks")) {
    hosts.push_back(parse_host(text));
  }
  return HostMap(hosts).machines_on_system_of(world->rank());
}

}  // namespace assay::engine
