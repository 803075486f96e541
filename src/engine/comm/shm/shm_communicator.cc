#include "engine/comm/shm/shm_communicator.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <sched.h>

#include <cstring>
#include <future>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.h"
#include "engine/comm/base_communicator.h"
#include "engine/comm/sequencer.h"
#include "engine/comm/shm/arena.h"
#include "engine/comm/shm/collectives.h"
#include "engine/comm/shm/meeting.h"
#include "engine/comm/shm/messages.h"

namespace assay::engine {
namespace {

/// With one core a rank, a thread beside the caller would only take the caller's time.
bool wants_thread(Execution execution, int ranks) {
  if (execution != Execution::kAuto) {
    return execution == Execution::kThread;
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) >= 2 * ranks;
}

/// What the constructor of one rank's side of a group needs.
struct GroupSeat {
  int rank;
  std::vector<int> machine_ranks;  ///< of the members
  std::string name;                ///< empty: all ranks
  SharedMapping control;           ///< empty: the job's
  std::shared_ptr<const JobWatch> job;
  std::shared_ptr<ArenaSet> arenas;
  Execution execution;
  bool serves_larger;  ///< takes ConnectionErrors

  int size() const { return static_cast<int>(machine_ranks.size()); }
  ControlBlock block() const { return {control.bytes().empty() ? job->control.bytes() : control.bytes(), size()}; }
};

class ShmCommunicator final : public ShmGroup {
 public:
  explicit ShmCommunicator(GroupSeat seat)
      : ShmGroup(seat.rank, seat.size()),
        seat_(std::move(seat)),
        meeting_(seat_.block(), seat_.rank, seat_.machine_ranks, seat_.name, seat_.job, seat_.serves_larger),
        collectives_(seat_.rank, seat_.size(), seat_.arenas, meeting_),
        messages_(seat_.rank, seat_.size(), seat_.arenas, meeting_, meter()),
        sequencer_(std::in_place, wants_thread(seat_.execution, static_cast<int>(seat_.arenas->peers.size()))) {}

  ~ShmCommunicator() override {
    sequencer_.reset();  // carries out what is queued
    meeting_.leave();
  }

  std::string_view backend() const override { return "shm"; }

  at::Tensor allocate(int64_t elements, at::ScalarType dtype) override {
    return seat_.arenas->own->allocate(elements, dtype);
  }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override {
    return split_for(members, name, seat_.execution, /*serves_larger=*/false);
  }
  std::unique_ptr<ShmGroup> split_for(const std::vector<int>& members, std::string_view name, Execution execution,
                                      bool serves_larger) override;
  void abandon(const CommError& error) override { meeting_.record(error); }
  void give_up(const std::string& line) override {
    const auto& publish = seat_.job->outside.publish;
    meeting_.record(CommError(publish ? publish(line, {}) : line));
  }

 protected:
  WorkPtr start(Call call) override {
    if (call.kind == CallKind::kSend) {
      return messages_.send(std::move(call));
    }
    if (call.kind == CallKind::kRecv) {
      return messages_.recv(std::move(call));
    }
    // The task must not keep the buffers once its Work is done.
    return sequencer_->run(std::packaged_task<void()>([this, call = std::move(call)]() mutable {
      const Call own = std::exchange(call, {});
      const CallMeter::Beginning beginning = meter()->begin_busy();
      collectives_.run(own);
      meter()->add_busy(own, beginning);
    }));
  }

 private:
  GroupSeat seat_;
  Meeting meeting_;
  ShmCollectives collectives_;
  ShmMessages messages_;
  std::optional<Sequencer> sequencer_;
};

/// What members of a new group must agree on, and where its first member's control segment is.
struct SplitOffer {
  SegmentAddress control;
  uint64_t members_hash;
};

uint64_t hash_of(const std::vector<int>& members) {
  uint64_t hash = members.size();
  for (const int member : members) {
    hash = hash * 1000003 + static_cast<uint64_t>(member);
  }
  return hash;
}

std::unique_ptr<ShmGroup> ShmCommunicator::split_for(const std::vector<int>& members, std::string_view name,
                                                     Execution execution, bool serves_larger) {
  const int rank = new_rank(members, name);
  FileDescriptor segment = create_segment("assay-group", ControlBlock::bytes_for(static_cast<int>(members.size())));
  const SplitOffer own{.control = address_of(segment), .members_hash = hash_of(members)};
  const at::Tensor shard = at::empty({static_cast<int64_t>(sizeof(own))}, at::kByte);
  const at::Tensor full = at::empty({shard.numel() * size()}, at::kByte);
  std::memcpy(shard.data_ptr(), &own, sizeof(own));
  constexpr std::string_view kLabel = "the making of groups";
  all_gather(full, shard, kLabel)->wait();
  std::vector<SplitOffer> offers(static_cast<size_t>(size()));
  std::memcpy(offers.data(), full.data_ptr(), full.nbytes());
  GroupSeat seat{.rank = rank,
                 .machine_ranks = {},
                 .name = std::string(name),
                 .control = SharedMapping(),
                 .job = seat_.job,
                 .arenas = seat_.arenas,
                 .execution = execution,
                 .serves_larger = serves_larger};
  for (const int member : members) {
    if (offers[static_cast<size_t>(member)].members_hash != own.members_hash) {
      meeting_.fail(fmt::format("group {}: ranks {} and {} do not name the same members", name,
                                meeting_.job_rank(this->rank()), meeting_.job_rank(member)));
    }
    seat.machine_ranks.push_back(meeting_.machine_rank(member));
  }
  const int first = members.front();
  seat.control = SharedMapping(
      open_segment(offers[static_cast<size_t>(first)].control, fmt::format("rank {}", meeting_.job_rank(first))));
  barrier(kLabel);
  return as_split<ShmGroup>(std::make_unique<ShmCommunicator>(std::move(seat)));
}

}  // namespace

ShmOffer::ShmOffer(int size, const CommOptions& options)
    : arena_(create_segment("assay-arena", static_cast<size_t>(options.arena_bytes > 0 ? options.arena_bytes
                                                                                       : default_arena_bytes(size)))),
      control_(create_segment("assay-control", ControlBlock::bytes_for(size))) {}

ShmAddresses ShmOffer::addresses(int job_rank) const {
  return {.pid = ::getpid(), .job_rank = job_rank, .arena = address_of(arena_), .control = address_of(control_)};
}

std::unique_ptr<ShmGroup> connect_shm(int rank, const std::vector<ShmAddresses>& all, const ShmOffer& own,
                                      const CommOptions& options, ShmOutside outside) {
  const int size = static_cast<int>(all.size());
  const bool has_other_machines = static_cast<bool>(outside.settle);
  TORCH_CHECK(size <= kMaxRanks, size, " ranks on one machine: at most ", kMaxRanks, " can share memory");
  auto arenas = std::make_shared<ArenaSet>();
  arenas->own = std::make_shared<Arena>(SharedMapping(own.arena()));
  arenas->own_rank = rank;
  std::vector<pid_t> pids;
  std::vector<int> job_ranks;
  for (int peer = 0; peer < size; ++peer) {
    const ShmAddresses& addresses = all[static_cast<size_t>(peer)];
    pids.push_back(static_cast<pid_t>(addresses.pid));
    job_ranks.push_back(static_cast<int>(addresses.job_rank));
    const std::string owner = fmt::format("rank {}", addresses.job_rank);
    arenas->peers.push_back(peer == rank ? SharedMapping() : SharedMapping(open_segment(addresses.arena, owner)));
  }
  SharedMapping control(open_segment(all.front().control, fmt::format("rank {}", all.front().job_rank)));
  FailureRecord* failure = &ControlBlock(control.bytes(), size).failure();
  std::vector<int> machine_ranks(static_cast<size_t>(size));
  std::iota(machine_ranks.begin(), machine_ranks.end(), 0);
  return std::make_unique<ShmCommunicator>(GroupSeat{
      .rank = rank,
      .machine_ranks = std::move(machine_ranks),
      .name = "",
      .control = SharedMapping(),
      .job = std::shared_ptr<const JobWatch>(new JobWatch{std::move(control), failure,
                                                          PeerWatch(std::move(pids), std::move(job_ranks)), options,
                                                          spins_for(size), std::move(outside)}),
      .arenas = std::move(arenas),
      .execution = options.execution,
      .serves_larger = has_other_machines,
  });
}

std::vector<std::unique_ptr<Communicator>> make_thread_group(int size, const CommOptions& options) {
  std::vector<ShmOffer> offers;
  std::vector<ShmAddresses> all;
  for (int rank = 0; rank < size; ++rank) {
    offers.emplace_back(size, options);
    all.push_back(offers.back().addresses(rank));
  }
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(connect_shm(rank, all, offers[static_cast<size_t>(rank)], options));
  }
  return ranks;
}

}  // namespace assay::engine
