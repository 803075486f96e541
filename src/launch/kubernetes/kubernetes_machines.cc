#include "launch/kubernetes/kubernetes_machines.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "launch/kubernetes/kubernetes_job.h"

namespace assay::launch {
namespace {

using nlohmann::json;

/// Why `nodes` can never take `job`; nothing where they can.
std::optional<std::string> LackingOf(const json& nodes, const json& job) {
  const Resources asked = AskedBy(job);
  const Capacity capacity = CapacityOf(nodes, asked);
  const int64_t machines = MachinesOf(job);
  if (capacity.fitting >= machines) {
    return std::nullopt;
  }
  std::vector<std::string> amounts;
  for (const auto& [name, amount] : asked) {
    amounts.push_back(fmt::format("{} {} (the most is {})", name, amount, capacity.largest.at(name)));
  }
  return fmt::format("{} of the cluster's machines have what each of {} needs: {}", capacity.fitting, machines,
                     Join(amounts, ", "));
}

}  // namespace

std::optional<std::string> KubernetesMachines::Lacking(const json& job) {
  constexpr double kLookSeconds = 60;
  const double now = MonotonicSeconds();
  std::optional<std::string> lacking;
  for (const double not_before : {now - kLookSeconds, now}) {
    const std::shared_ptr<const json> nodes = Look(not_before);
    lacking = nodes ? LackingOf(*nodes, job) : std::nullopt;
    if (!lacking) {
      break;
    }
  }
  return lacking;
}

std::shared_ptr<const json> KubernetesMachines::Look(double not_before) {
  const std::lock_guard lock(mutex_);
  if (!looked_at_ || *looked_at_ < not_before) {
    looked_at_ = MonotonicSeconds();
    Result<json> nodes = list_();
    seen_ = nodes.ok() ? std::make_shared<const json>(*std::move(nodes)) : nullptr;
  }
  return seen_;
}

}  // namespace assay::launch
