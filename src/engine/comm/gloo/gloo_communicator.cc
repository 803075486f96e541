#include "engine/comm/gloo/gloo_communicator.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "base/text.h"
#include "engine/comm/announcement.h"
#include "engine/comm/base_communicator.h"
#include "engine/comm/gloo/missing_ranks.h"
#include "engine/comm/kernels/reduction.h"
#include "engine/comm/sequencer.h"

namespace assay::engine {
namespace {

constexpr int kCollectiveTag = 1;
constexpr int kMessageTag = 2;
/// Of one peer's part, in flight at a time: what reductions need beside the buffers.
constexpr int64_t kTileBytes = int64_t{4} << 20;

using Gloo = c10d::ProcessGroupGloo;
using GlooWork = c10::intrusive_ptr<c10d::Work>;

/// What the constructor of one rank's side of a group needs.
struct GlooSeat {
  int rank = 0;
  std::vector<int> world_ranks = {};
  std::string name = "";  ///< empty: all ranks
  c10::intrusive_ptr<c10d::Store> store = {};
  c10::intrusive_ptr<c10d::Store> world_store = {};  ///< of all groups together: who failed
  std::shared_ptr<Rendezvous> rendezvous = {};       ///< kept while its store is needed
  bool one_machine = true;
  CommOptions options = {};

  int size() const { return static_cast<int>(world_ranks.size()); }
};

c10::intrusive_ptr<Gloo> make_gloo(const GlooSeat& seat) {
  const std::chrono::milliseconds deadline(static_cast<int64_t>(seat.options.deadline_seconds * 1000));
  auto options = seat.one_machine ? Gloo::Options::create(deadline) : Gloo::Options::create_default(deadline);
  if (seat.one_machine) {
    options->devices.push_back(Gloo::createDeviceForHostname("127.0.0.1"));
  }
  return c10::make_intrusive<Gloo>(seat.store, seat.rank, seat.size(), options);
}

/// A buffer cut into one part a rank; the last parts may be shorter, or empty.
struct Parts {
  at::Tensor full;
  int64_t length;

  at::Tensor of(int rank) const {
    const int64_t begin = std::min(rank * length, full.numel());
    return full.narrow(0, begin, std::min(length, full.numel() - begin));
  }
};

at::Tensor tile_of(const at::Tensor& part, int64_t tile, int64_t begin) {
  const int64_t first = std::min(begin, part.numel());
  return part.narrow(0, first, std::min(tile, part.numel() - first));
}

class GlooCommunicator final : public BaseCommunicator {
 public:
  explicit GlooCommunicator(GlooSeat seat)
      : BaseCommunicator(seat.rank, seat.size()),
        seat_(std::move(seat)),
        gloo_(make_gloo(seat_)),
        sequencer_(seat_.options.execution != Execution::kCaller) {}

  std::string_view backend() const override { return "gloo"; }
  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override;

  /// The declarations we build against are not gloo's own: see that they fit before anything depends on them.
  void verify() {
    const at::Tensor value = at::full({3}, static_cast<float>(rank() + 1));
    all_reduce(value, ReduceOp::kSum, "start")->wait();
    const float sum = static_cast<float>(size() * (size() + 1)) / 2;
    if (!at::equal(value, at::full({3}, sum))) {
      throw CommError("the gloo of this libtorch does not add up: use shm, or the libtorch that assay was built for");
    }
  }

 protected:
  WorkPtr start(Call call) override;

 private:
  class Message;

  void run(const Call& call);
  void check_same(const Call& call);
  void all_gather_parts(const Parts& parts);
  void reduce_parts(const Call& call, const Parts& parts, const at::Tensor& own);
  void all_reduce_buffer(const Call& call);

  void send_to(int peer, at::Tensor tensor, std::vector<GlooWork>& works);
  void receive_from(int peer, at::Tensor tensor, std::vector<GlooWork>& works);
  int world_rank(int rank) const { return seat_.world_ranks[static_cast<size_t>(rank)]; }
  std::string failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void keep_failure(const std::string& text) {
    const std::lock_guard lock(mutex_);
    failure_ = failure_.empty() ? text : failure_;
  }
  /// Runs `body`, and turns what gloo throws into an error that names the missing ranks.
  void guard(const Call& call, const std::function<void()>& body);

  GlooSeat seat_;
  c10::intrusive_ptr<Gloo> gloo_;
  std::mutex mutex_;
  std::string failure_;  // of an earlier call; protected by mutex_
  int groups_ = 0;
  Sequencer sequencer_;  // last: its thread uses all of the above
};

/// A message under way in gloo's own threads.
class GlooCommunicator::Message final : public Work {
 public:
  Message(GlooCommunicator& owner, Call call, GlooWork work)
      : owner_(owner), call_(std::move(call)), work_(std::move(work)) {}
  ~Message() override {
    try {
      wait();
    } catch (const std::exception&) {
      return;  // the group keeps the failure, and the next call throws it
    }
  }

  void wait() override {
    if (GlooWork work = std::exchange(work_, {})) {
      const CallMeter::Beginning beginning = owner_.meter()->begin_busy();
      owner_.guard(call_, [&] { work->wait(); });
      owner_.meter()->add_busy(call_, beginning);
    }
  }

 private:
  GlooCommunicator& owner_;
  Call call_;
  GlooWork work_;
};

WorkPtr GlooCommunicator::start(Call call) {
  if (call.kind == CallKind::kSend || call.kind == CallKind::kRecv) {
    if (call.full.numel() == 0) {
      return finished_work();
    }
    std::vector<at::Tensor> buffers{call.full};
    GlooWork work;
    guard(call, [&] {
      work = call.kind == CallKind::kSend ? gloo_->send(buffers, call.peer, kMessageTag)
                                          : gloo_->recv(buffers, call.peer, kMessageTag);
    });
    return std::make_unique<Message>(*this, std::move(call), std::move(work));
  }
  // The task must not keep the buffers once its Work is done.
  return sequencer_.run(std::packaged_task<void()>([this, call = std::move(call)]() mutable {
    const Call own = std::exchange(call, {});
    const CallMeter::Beginning beginning = meter()->begin_busy();
    guard(own, [&] { run(own); });
    meter()->add_busy(own, beginning);
  }));
}

void GlooCommunicator::guard(const Call& call, const std::function<void()>& body) {
  if (const std::string earlier = failure(); !earlier.empty()) {
    throw CommError(earlier);
  }
  try {
    body();
  } catch (const CommError& error) {
    keep_failure(error.what());
    throw;
  } catch (const std::exception& error) {
    const std::string where =
        seat_.name.empty() ? place_of(call) : fmt::format("{} of group {}", place_of(call), seat_.name);
    keep_failure(describe_loss(seat_.world_store, world_rank(seat_.rank), seat_.world_ranks, where, error.what()));
    throw CommError(failure());
  }
}

void GlooCommunicator::check_same(const Call& call) {
  const Announcement own = announcement_of(call);
  at::Tensor mine = at::empty({static_cast<int64_t>(sizeof(own))}, at::kByte);
  at::Tensor all = at::empty({mine.numel() * size()}, at::kByte);
  std::memcpy(mine.data_ptr(), &own, sizeof(own));
  gloo_->_allgather_base(all, mine)->wait();
  std::vector<Announcement> announced(static_cast<size_t>(size()));
  std::memcpy(announced.data(), all.data_ptr(), all.nbytes());
  for (int rank = 1; rank < size(); ++rank) {
    const Announcement& other = announced[static_cast<size_t>(rank)];
    if (!same_call(announced[0], other)) {
      throw CommError(fmt::format("the ranks do not call the same in collective {}{}: {}", call.number,
                                  seat_.name.empty() ? "" : " of group " + seat_.name,
                                  describe_difference(world_rank(0), announced[0], world_rank(rank), other)));
    }
  }
}

void GlooCommunicator::run(const Call& call) {
  check_same(call);
  switch (call.kind) {
    case CallKind::kAllGather: {
      const Parts parts{.full = call.full, .length = call.shard.numel()};
      if (const at::Tensor own = parts.of(rank()); own.data_ptr() != call.shard.data_ptr()) {
        own.copy_(call.shard);
      }
      return all_gather_parts(parts);
    }
    case CallKind::kReduceScatter:
      return reduce_parts(call, {.full = call.full, .length = call.shard.numel()}, call.shard);
    case CallKind::kAllReduce:
      return all_reduce_buffer(call);
    case CallKind::kBroadcast: {
      std::vector<at::Tensor> buffers{call.full};
      gloo_->broadcast(buffers, {.rootRank = call.peer})->wait();
      return;
    }
    default:
      return;
  }
}

void GlooCommunicator::send_to(int peer, at::Tensor tensor, std::vector<GlooWork>& works) {
  if (tensor.numel() > 0) {
    std::vector<at::Tensor> buffers{std::move(tensor)};
    works.push_back(gloo_->send(buffers, peer, kCollectiveTag));
  }
}

void GlooCommunicator::receive_from(int peer, at::Tensor tensor, std::vector<GlooWork>& works) {
  if (tensor.numel() > 0) {
    std::vector<at::Tensor> buffers{std::move(tensor)};
    works.push_back(gloo_->recv(buffers, peer, kCollectiveTag));
  }
}

/// Straight into place: c10d's own all-gather goes through a buffer of the whole.
void GlooCommunicator::all_gather_parts(const Parts& parts) {
  std::vector<GlooWork> works;
  for (int step = 1; step < size(); ++step) {
    receive_from((rank() + size() - step) % size(), parts.of((rank() + size() - step) % size()), works);
    send_to((rank() + step) % size(), parts.of(rank()), works);
  }
  for (const GlooWork& work : works) {
    work->wait();
  }
}

/// c10d's own reduce-scatter is an all-reduce of a copy. Here every rank gets the peers' values of its part, a tile at
/// a time, and combines them in order of rank, as over shared memory.
void GlooCommunicator::reduce_parts(const Call& call, const Parts& parts, const at::Tensor& own) {
  const int64_t tile =
      std::min(kTileBytes / static_cast<int64_t>(call.full.element_size()), std::max<int64_t>(parts.length, 1));
  const at::Tensor received = at::empty({size() * tile}, call.full.options());
  for (int64_t begin = 0; begin < parts.length; begin += tile) {
    std::vector<GlooWork> works;
    const at::Tensor mine = tile_of(parts.of(rank()), tile, begin);
    for (int step = 1; step < size(); ++step) {
      const int from = (rank() + size() - step) % size();
      const int to = (rank() + step) % size();
      receive_from(from, received.narrow(0, from * tile, mine.numel()), works);
      send_to(to, tile_of(parts.of(to), tile, begin), works);
    }
    for (const GlooWork& work : works) {
      work->wait();
    }
    std::vector<const void*> sources;
    for (int peer = 0; peer < size(); ++peer) {
      sources.push_back(peer == rank() ? mine.data_ptr() : received.narrow(0, peer * tile, mine.numel()).data_ptr());
    }
    void* destination = tile_of(own, tile, begin).data_ptr();
    reduce({.sources = sources.data(),
            .source_count = size(),
            .destinations = &destination,
            .destination_count = 1,
            .scale = call.op == ReduceOp::kAverage ? 1.0 / size() : 1.0,
            .maximum = call.op == ReduceOp::kMax},
           call.full.scalar_type(), mine.numel());
  }
}

/// gloo's all-reduce is the fastest way for sums of whole numbers' width; it adds 16-bit values in 16 bits, and its
/// maximum may drop NaN.
void GlooCommunicator::all_reduce_buffer(const Call& call) {
  if (call.full.element_size() >= 4 && call.op != ReduceOp::kMax) {
    std::vector<at::Tensor> buffers{call.full};
    gloo_->allreduce(buffers)->wait();
    if (call.op == ReduceOp::kAverage) {
      buffers[0].mul_(1.0 / size());
    }
    return;
  }
  const Parts parts{.full = call.full, .length = (call.full.numel() + size() - 1) / size()};
  reduce_parts(call, parts, parts.of(rank()));
  all_gather_parts(parts);
}

std::unique_ptr<Communicator> GlooCommunicator::split(const std::vector<int>& members, std::string_view name) {
  GlooSeat seat = seat_;
  seat.rank = new_rank(members, name);
  seat.name = std::string(name);
  seat.world_ranks.clear();
  for (const int member : members) {
    seat.world_ranks.push_back(world_rank(member));
  }
  const std::string prefix = fmt::format("group {} {} of {}", ++groups_, name, members.front());
  seat.store = c10::make_intrusive<c10d::PrefixStore>(prefix, seat_.store);
  return as_split(std::make_unique<GlooCommunicator>(std::move(seat)));
}

std::vector<int> first_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

std::unique_ptr<Communicator> connect_gloo(std::shared_ptr<Rendezvous> rendezvous, const CommOptions& options) {
  const RankEnvironment& environment = rendezvous->environment();
  GlooSeat seat{.rank = environment.rank,
                .world_ranks = first_ranks(environment.world_size),
                .store = rendezvous->store(),
                .world_store = rendezvous->store(),
                .rendezvous = rendezvous,
                .one_machine = environment.one_machine(),
                .options = options};
  // Waits for every rank, so that one that does not come is named.
  rendezvous->exchange("gloo", "");
  auto communicator = std::make_unique<GlooCommunicator>(std::move(seat));
  communicator->verify();
  return communicator;
}

std::vector<std::unique_ptr<Communicator>> make_gloo_thread_group(int size, const CommOptions& options) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::unique_ptr<Communicator>> ranks(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ranks[static_cast<size_t>(rank)] = std::make_unique<GlooCommunicator>(GlooSeat{
          .rank = rank, .world_ranks = first_ranks(size), .store = store, .world_store = store, .options = options});
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return ranks;
}

}  // namespace assay::engine
