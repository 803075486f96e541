#include "engine/comm/hierarchy/hierarchical_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <utility>

#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/hierarchy/hierarchical_collectives.h"
#include "engine/comm/sequencer.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/shm/shm_rendezvous.h"

namespace assay::engine {
namespace {

/// What the constructor of one rank's side of a group needs.
struct HierarchySeat {
  GlooMembers members;
  std::unique_ptr<ShmGroup> intra;  ///< the members on this machine; runs on the thread that calls
  std::shared_ptr<const GlooJob> gloo;
};

std::vector<int> machines_of(const HierarchySeat& seat) {
  std::vector<int> machines;
  for (const int rank : seat.members.world_ranks) {
    machines.push_back(seat.gloo->losses->hosts().machine_of(rank));
  }
  return machines;
}

GlooMembers part_of(const GlooMembers& members, const std::string& part) {
  GlooMembers parts = members;
  parts.key = fmt::format("{}/{}", members.key, part);
  parts.serves_larger = true;
  return parts;
}

class HierarchicalCommunicator final : public BaseCommunicator {
 public:
  explicit HierarchicalCommunicator(HierarchySeat seat)
      : BaseCommunicator(seat.members.rank, seat.members.size()),
        seat_(std::move(seat)),
        layout_(machines_of(seat_), rank()),
        messages_(join_gloo(seat_.gloo, part_of(seat_.members, "messages"), Execution::kCaller)),
        owners_(join_owners()),
        collectives_(layout_, *seat_.intra, pointers_of(owners_)),
        sequencer_(seat_.gloo->options.execution != Execution::kCaller) {}

  std::string_view backend() const override { return "shm+gloo"; }
  at::Tensor allocate(int64_t elements, at::ScalarType dtype) override {
    return seat_.intra->allocate(elements, dtype);
  }
  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override;
  void give_up(const std::string& line) override;

 protected:
  WorkPtr start(Call call) override;

 private:
  using Owners = std::vector<std::unique_ptr<BaseCommunicator>>;
  class Message;

  Owners join_owners() const;
  static std::vector<BaseCommunicator*> pointers_of(const Owners& owners);
  WorkPtr start_message(Call call);
  std::unique_ptr<Communicator> make_group(const std::vector<int>& members, std::string_view name);
  /// The members on this rank's machine, by their ranks there.
  std::vector<int> members_here(const std::vector<int>& members) const;
  int machines_among(const std::vector<int>& members) const;

  /// Runs `body`; ends this machine's ranks, and finds out who is to blame, when it fails.
  void guard(const Call& call, const std::function<void()>& body);
  std::string failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void keep_failure(const std::string& line);
  [[noreturn]] void fail(const std::string& line);

  HierarchySeat seat_;
  NodeLayout layout_;
  std::unique_ptr<BaseCommunicator> messages_;
  Owners owners_;  ///< by slice; null where this rank owns none
  HierarchicalCollectives collectives_;
  std::mutex mutex_;
  std::string failure_;  // of an earlier call; protected by mutex_
  int groups_ = 0;
  Sequencer sequencer_;  // last: its thread uses all of the above
};

/// All ranks join the groups in one order.
HierarchicalCommunicator::Owners HierarchicalCommunicator::join_owners() const {
  Owners all(static_cast<size_t>(layout_.slices));
  for (int slice = 0; slice < layout_.slices; ++slice) {
    if (layout_.owner(layout_.node, slice) != layout_.local) {
      continue;
    }
    GlooMembers owners = part_of(seat_.members, fmt::format("slice {}", slice));
    owners.rank = layout_.node;
    owners.world_ranks.clear();
    for (int machine = 0; machine < layout_.machines(); ++machine) {
      const auto local = static_cast<size_t>(layout_.owner(machine, slice));
      const auto rank = static_cast<size_t>(layout_.nodes[static_cast<size_t>(machine)][local]);
      owners.world_ranks.push_back(seat_.members.world_ranks[rank]);
    }
    all[static_cast<size_t>(slice)] = join_gloo(seat_.gloo, std::move(owners), Execution::kCaller);
  }
  return all;
}

std::vector<BaseCommunicator*> HierarchicalCommunicator::pointers_of(const Owners& owners) {
  std::vector<BaseCommunicator*> pointers;
  for (const std::unique_ptr<BaseCommunicator>& each : owners) {
    pointers.push_back(each.get());
  }
  return pointers;
}

/// A message that one of the two ways carries.
class HierarchicalCommunicator::Message final : public Work {
 public:
  Message(HierarchicalCommunicator& owner, Call call, WorkPtr work)
      : owner_(owner), call_(std::move(call)), work_(std::move(work)) {}
  ~Message() override {
    try {
      wait();
    } catch (const std::exception&) {
      return;  // the group keeps the failure, and the next call throws it
    }
  }

  void wait() override {
    if (const WorkPtr work = std::exchange(work_, nullptr)) {
      const CallMeter::Beginning beginning = owner_.meter()->begin_busy();
      owner_.guard(call_, [&] { work->wait(); });
      owner_.meter()->add_busy(call_, beginning);
    }
  }

 private:
  HierarchicalCommunicator& owner_;
  Call call_;
  WorkPtr work_;
};

WorkPtr HierarchicalCommunicator::start(Call call) {
  if (call.kind == CallKind::kSend || call.kind == CallKind::kRecv) {
    return start_message(std::move(call));
  }
  // The task must not keep the buffers once its Work is done.
  return sequencer_.run(std::packaged_task<void()>([this, call = std::move(call)]() mutable {
    const Call own = std::exchange(call, {});
    const CallMeter::Beginning beginning = meter()->begin_busy();
    guard(own, [&] { collectives_.run(own); });
    meter()->add_busy(own, beginning);
  }));
}

WorkPtr HierarchicalCommunicator::start_message(Call call) {
  const NodeLayout::Place peer = layout_.place_of(call.peer);
  const bool here = peer.machine == layout_.node;
  BaseCommunicator& way = here ? *seat_.intra : *messages_;
  const int to = here ? peer.local : call.peer;
  WorkPtr work;
  guard(call, [&] {
    work = call.kind == CallKind::kSend ? way.send(call.full, to, call.label) : way.recv(call.full, to, call.label);
  });
  return std::make_unique<Message>(*this, std::move(call), std::move(work));
}

void HierarchicalCommunicator::guard(const Call& call, const std::function<void()>& body) {
  if (const std::string earlier = failure(); !earlier.empty()) {
    throw CommError(earlier);
  }
  try {
    body();
  } catch (const ConnectionError& error) {
    // The others on this machine must not wait any longer for this rank, nor be taken for lost.
    seat_.intra->abandon(error);
    seat_.gloo->losses->report();
    seat_.gloo->connections->close_all();
    fail(seat_.gloo->losses->find({.members = seat_.members.needed_for(call),
                                   .suspects = error.suspects(),
                                   .where = seat_.members.where(call),
                                   .reason = error.what()}));
  } catch (const CommError& error) {
    give_up(error.what());
    throw CommError(failure());
  } catch (const c10::OutOfMemoryError& error) {
    give_up(seat_.members.failed_line(call, error.what_without_backtrace()));
    throw;
  }
}

void HierarchicalCommunicator::give_up(const std::string& line) {
  // Before the others on this machine leave their groups, so that nobody takes them for lost.
  keep_failure(seat_.gloo->losses->publish(line));
  seat_.intra->abandon(CommError(failure()));
  seat_.gloo->connections->close_all();
}

void HierarchicalCommunicator::keep_failure(const std::string& line) {
  const std::lock_guard lock(mutex_);
  failure_ = failure_.empty() ? line : failure_;
}

void HierarchicalCommunicator::fail(const std::string& line) {
  keep_failure(line);
  throw CommError(failure());
}

std::vector<int> HierarchicalCommunicator::members_here(const std::vector<int>& members) const {
  std::vector<int> here;
  for (const int member : members) {
    if (const NodeLayout::Place place = layout_.place_of(member); place.machine == layout_.node) {
      here.push_back(place.local);
    }
  }
  return here;
}

int HierarchicalCommunicator::machines_among(const std::vector<int>& members) const {
  std::vector<int> machines;
  for (const int member : members) {
    machines.push_back(layout_.place_of(member).machine);
  }
  return NodeLayout(machines, 0).machines();
}

std::unique_ptr<Communicator> HierarchicalCommunicator::split(const std::vector<int>& members, std::string_view name) {
  std::unique_ptr<Communicator> group;
  // In turn with the collectives: making a group takes some of them.
  sequencer_
      .run(std::packaged_task<void()>([&] {
        const Call making{.kind = CallKind::kBarrier, .label = "the making of groups"};
        guard(making, [&] {
          collectives_.run(making);  // who is lost is seen here, and not waited for as long as for a start
          group = make_group(members, name);
        });
      }))
      ->wait();
  return group;
}

std::unique_ptr<Communicator> HierarchicalCommunicator::make_group(const std::vector<int>& members,
                                                                   std::string_view name) {
  GlooMembers group{.rank = new_rank(members, name),
                    .name = std::string(name),
                    .key = fmt::format("{}/group {} {} of {}", seat_.members.key, ++groups_, name, members.front())};
  for (const int member : members) {
    group.world_ranks.push_back(seat_.members.world_ranks[static_cast<size_t>(member)]);
  }
  const Execution wanted = seat_.gloo->options.execution;
  const int machines = machines_among(members);
  // All of this machine's ranks do this together, whatever group they will be in.
  auto intra = seat_.intra->split_for(members_here(members), name, machines == 1 ? wanted : Execution::kCaller,
                                      /*serves_larger=*/machines > 1);
  if (machines == 1) {
    return as_split(std::move(intra));
  }
  if (machines == static_cast<int>(members.size())) {
    return as_split(join_gloo(seat_.gloo, std::move(group), wanted));
  }
  return as_split(std::make_unique<HierarchicalCommunicator>(
      HierarchySeat{.members = std::move(group), .intra = std::move(intra), .gloo = seat_.gloo}));
}

std::unique_ptr<Communicator> join_all(int rank, int size, std::unique_ptr<ShmGroup> machine,
                                       std::shared_ptr<const GlooJob> gloo) {
  GlooMembers all{.rank = rank, .key = "all"};
  all.world_ranks.resize(static_cast<size_t>(size));
  std::iota(all.world_ranks.begin(), all.world_ranks.end(), 0);
  return std::make_unique<HierarchicalCommunicator>(
      HierarchySeat{.members = std::move(all), .intra = std::move(machine), .gloo = std::move(gloo)});
}

ShmOutside outside_of(const GlooJob& gloo) {
  return {.place = gloo.place,
          .publish = [losses = gloo.losses](const std::string& line,
                                            const std::vector<int>& lost) { return losses->publish(line, lost); },
          .leave =
              [losses = gloo.losses, connections = gloo.connections] {
                losses->know();
                connections->close_all();
              },
          .settle =
              [losses = gloo.losses, connections = gloo.connections](const SeenFailure& failure) {
                losses->report();
                connections->close_all();
                return losses->find(failure);
              }};
}

/// For the part within a machine, which runs on the thread of the whole.
CommOptions options_within(CommOptions options) {
  options.execution = Execution::kCaller;
  return options;
}

}  // namespace

std::unique_ptr<Communicator> connect_hierarchical(std::shared_ptr<Rendezvous> rendezvous,
                                                   std::shared_ptr<const HostMap> hosts, const CommOptions& options) {
  const RankEnvironment& environment = rendezvous->environment();
  auto gloo = make_gloo_job(rendezvous, hosts, options);
  auto machine = connect_machine(*rendezvous, *hosts, options_within(options), outside_of(*gloo));
  return join_all(environment.rank, environment.world_size, std::move(machine), std::move(gloo));
}

std::vector<std::unique_ptr<Communicator>> make_hierarchical_thread_group(const std::vector<int>& machine_of,
                                                                          const CommOptions& options) {
  std::vector<HostIdentity> identities;
  for (const int machine : machine_of) {
    identities.push_back({.name = "here",
                          .group = fmt::format("{}", machine),
                          .local_world_size = static_cast<int>(std::ranges::count(machine_of, machine))});
  }
  const auto hosts = std::make_shared<const HostMap>(identities);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const int size = static_cast<int>(machine_of.size());
  std::vector<std::unique_ptr<Communicator>> ranks(machine_of.size());
  std::vector<std::thread> threads;
  for (int machine = 0; machine < hosts->machines(); ++machine) {
    const std::vector<int>& here = hosts->ranks_of(machine);
    std::vector<ShmOffer> offers;
    std::vector<ShmAddresses> all;
    for (const int rank : here) {
      offers.emplace_back(static_cast<int>(here.size()), options);
      all.push_back(offers.back().addresses(rank));
    }
    for (size_t local = 0; local < here.size(); ++local) {
      const int rank = here[local];
      auto gloo = make_gloo_job(store, rank, hosts, options);
      auto group = connect_shm(static_cast<int>(local), all, offers[local], options_within(options), outside_of(*gloo));
      threads.emplace_back([&ranks, rank, size, group = std::move(group), gloo = std::move(gloo)]() mutable {
        ranks[static_cast<size_t>(rank)] = join_all(rank, size, std::move(group), std::move(gloo));
      });
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return ranks;
}

}  // namespace assay::engine
