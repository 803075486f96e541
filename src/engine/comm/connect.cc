#include "engine/comm/connect.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/local_communicator.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "engine/comm/rendezvous.h"
#include "engine/comm/shm/shm_communicator.h"

namespace assay::engine {
namespace {

std::unique_ptr<Communicator> connect_over_shm(const RankEnvironment& environment, const CommOptions& options) {
  if (!environment.one_machine()) {
    throw CommError(fmt::format("shm joins ranks of one machine, but only {} of {} ranks are on this one: use gloo",
                                environment.local_world_size, environment.world_size));
  }
  const auto rendezvous = std::make_shared<Rendezvous>(environment, options);
  const ShmOffer offer(environment.world_size, options);
  const ShmAddresses own = offer.addresses();
  std::string bytes(sizeof(own), '\0');
  std::memcpy(bytes.data(), &own, sizeof(own));
  std::vector<ShmAddresses> all;
  for (const std::string& other : rendezvous->exchange("shm", bytes)) {
    TORCH_CHECK(other.size() == sizeof(own), "ranks of different programs cannot share memory");
    std::memcpy(&all.emplace_back(), other.data(), sizeof(own));
  }
  auto communicator = connect_shm(environment.rank, all, offer, options, rendezvous);
  // Afterwards nobody needs the segments' addresses.
  communicator->barrier("start");
  return communicator;
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
  if (backend == "auto") {
    if (environment.world_size == 1) {
      return make_self_communicator();
    }
    backend = environment.one_machine() ? "shm" : "gloo";
  }
  if (backend == "shm") {
    return connect_over_shm(environment, options);
  }
  if (backend == "gloo") {
    return connect_gloo(std::make_shared<Rendezvous>(environment, options), options);
  }
  if (backend == "nccl") {
    return connect_nccl(std::make_shared<Rendezvous>(environment, options), options);
  }
  throw CommError(fmt::format("unknown communicator '{}': choose auto, shm, gloo or nccl", backend));
}

Result<CommOptions> read_comm_options(CommOptions options) {
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
