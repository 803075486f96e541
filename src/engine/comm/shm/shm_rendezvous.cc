#include "engine/comm/shm/shm_rendezvous.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace assay::engine {

std::unique_ptr<ShmGroup> connect_machine(Rendezvous& rendezvous, const HostMap& hosts, const CommOptions& options,
                                          ShmOutside outside) {
  const int rank = rendezvous.environment().rank;
  const std::vector<int>& here = hosts.ranks_of(hosts.machine_of(rank));
  const ShmOffer offer(static_cast<int>(here.size()), options);
  const ShmAddresses own = offer.addresses(rank);
  std::string bytes(sizeof(own), '\0');
  std::memcpy(bytes.data(), &own, sizeof(own));
  const std::vector<std::string> offered = rendezvous.exchange("shm", bytes);
  std::vector<ShmAddresses> all;
  for (const int peer : here) {
    const std::string& other = offered[static_cast<size_t>(peer)];
    TORCH_CHECK(other.size() == sizeof(own), "ranks of different programs cannot share memory");
    std::memcpy(&all.emplace_back(), other.data(), sizeof(own));
  }
  const auto local = static_cast<int>(std::ranges::find(here, rank) - here.begin());
  auto machine = connect_shm(local, all, offer, options, std::move(outside));
  // Afterwards nobody needs the segments' addresses.
  machine->barrier("start");
  return machine;
}

}  // namespace assay::engine
