#include "engine/comm/gloo/gloo_communicator.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "engine/comm/gloo/gloo_collectives.h"
#include "engine/comm/own_address.h"
#include "engine/comm/sequencer.h"

namespace assay::engine {
namespace {

/// Those of the collectives, and kNobodySends, lie below.
constexpr int kMessageTag = 16;

constexpr std::string_view kGroups = "the making of groups";

using Gloo = c10d::ProcessGroupGloo;
using GlooWork = c10::intrusive_ptr<c10d::Work>;

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

/// Waits for all members, which are on their way: not as long as for machines that may be given out one by one.
c10::intrusive_ptr<Gloo> make_gloo(const GlooJob& job, const GlooMembers& members) {
  constexpr double kLeastSeconds = 10;
  const std::chrono::milliseconds start = to_milliseconds(std::max(job.options.deadline_seconds, kLeastSeconds));
  auto options = Gloo::Options::create(start);
  if (const char* network = std::getenv("GLOO_SOCKET_IFNAME"); network != nullptr) {
    options->devices.push_back(Gloo::createDeviceForInterface(network));
  } else {
    // The name that a machine has for itself often stands for a loopback address, which c10d would take.
    const std::string address = job.losses->hosts().one_system() ? "127.0.0.1" : job.address;
    options->devices.push_back(address.empty() ? Gloo::createDefaultDevice() : Gloo::createDeviceForHostname(address));
  }
  const auto store = c10::make_intrusive<c10d::PrefixStore>(members.key, job.store);
  try {
    return c10::make_intrusive<Gloo>(store, members.rank, members.size(), options);
  } catch (const std::exception& error) {
    job.losses->report();
    throw CommError(job.losses->find(
        {.members = members.world_ranks,
         .suspects = members.world_ranks,
         .where = members.name.empty() ? "the making of connections" : "the making of group " + members.name,
         .reason = error.what()}));
  }
}

class GlooCommunicator final : public BaseCommunicator {
 public:
  GlooCommunicator(std::shared_ptr<const GlooJob> job, GlooMembers members, Execution execution)
      : BaseCommunicator(members.rank, members.size()),
        job_(std::move(job)),
        members_(std::move(members)),
        execution_(execution),
        gloo_(make_gloo(*job_, members_)),
        collectives_(gloo_, *job_->waits, job_->run, members_.rank, members_.world_ranks, members_.name),
        sequencer_(execution != Execution::kCaller) {
    job_->connections->add(gloo_);
  }

  std::string_view backend() const override { return "gloo"; }
  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override;
  void give_up(const std::string& line) override {
    keep_failure(job_->losses->publish(line));
    job_->connections->close_all();
  }

  /// The declarations we build against are not gloo's own: see that they fit before anything depends on them.
  void verify() {
    const at::Tensor value = at::full({3}, static_cast<float>(rank() + 1));
    all_reduce(value, ReduceOp::kSum, "start")->wait();
    const float sum = static_cast<float>(size() * (size() + 1)) / 2;
    if (!at::equal(value, at::full({3}, sum))) {
      throw CommError("the gloo of this libtorch does not add up: use shm, or the libtorch that assay was built for");
    }
    reset_stats();
  }

 protected:
  WorkPtr start(Call call) override;

 private:
  class Message;

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
  [[noreturn]] void fail(const Call& call, const std::string& reason, std::vector<int> suspects);

  std::shared_ptr<const GlooJob> job_;
  GlooMembers members_;
  Execution execution_;
  c10::intrusive_ptr<Gloo> gloo_;
  GlooCollectives collectives_;
  std::mutex mutex_;
  std::string failure_;  // of an earlier call; protected by mutex_
  int groups_ = 0;
  Sequencer sequencer_;  // last: its thread uses all of the above
};

/// A message under way in gloo's own threads. An announcement of its own goes before it: gloo ends the process of a
/// rank that a longer message comes to than it has room for.
class GlooCommunicator::Message final : public Work {
 public:
  Message(GlooCommunicator& owner, Call call) : owner_(owner), call_(std::move(call)) {
    owner_.guard(call_, [&] {
      const Announcement own = own_announcement();
      announcement_ = at::empty({static_cast<int64_t>(sizeof(own))}, at::kByte);
      std::memcpy(announcement_.data_ptr(), &own, sizeof(own));
      works_.push_back(start(announcement_, /*is_payload=*/false));
      if (sends()) {
        works_.push_back(start(call_.full, /*is_payload=*/true));
      }
    });
  }
  ~Message() override {
    try {
      wait();
    } catch (const std::exception&) {
      return;  // the group keeps the failure, and the next call throws it
    }
  }

  void wait() override {
    const std::vector<GlooWork> works = std::exchange(works_, {});
    if (works.empty()) {
      return;
    }
    const CallMeter::Beginning beginning = owner_.meter()->begin_busy();
    owner_.guard(call_, [&] {
      for (const GlooWork& work : works) {
        wait_for(work);
      }
      if (!sends()) {
        check_announced();
        wait_for(start(call_.full, /*is_payload=*/true));
      }
    });
    owner_.meter()->add_busy(call_, beginning);
  }

 private:
  bool sends() const { return call_.kind == CallKind::kSend; }
  Announcement own_announcement() const {
    Announcement own = announcement_of(call_);
    own.run = owner_.job_->run;
    return own;
  }
  void wait_for(const GlooWork& work) { owner_.job_->waits->wait(owner_.gloo_, call_.peer, *work); }

  /// Each message has tags of its own, so that they are told apart in whatever order they are waited for.
  GlooWork start(const at::Tensor& tensor, bool is_payload) {
    constexpr int64_t kDifferent = int64_t{1} << 28;
    const auto tag = static_cast<int>(kMessageTag + 2 * (call_.number % kDifferent) + (is_payload ? 1 : 0));
    std::vector<at::Tensor> buffers{tensor};
    return sends() ? owner_.gloo_->send(buffers, call_.peer, tag) : owner_.gloo_->recv(buffers, call_.peer, tag);
  }

  void check_announced() const {
    const Announcement own = own_announcement();
    Announcement announced;
    std::memcpy(&announced, announcement_.data_ptr(), sizeof(announced));
    check_same_run(own, announced, owner_.members_.world_ranks[static_cast<size_t>(call_.peer)]);
    if (announced.elements != own.elements || announced.dtype != own.dtype) {
      const auto rank_of = [&](int rank) { return owner_.members_.world_ranks[static_cast<size_t>(rank)]; };
      throw CommError(fmt::format("message {} from rank {} to rank {}: the one calls {}, the other {}", call_.number,
                                  rank_of(call_.peer), rank_of(owner_.rank()), describe(announced), describe(own)));
    }
  }

  GlooCommunicator& owner_;
  Call call_;
  at::Tensor announcement_;  ///< its own, or its sender's
  std::vector<GlooWork> works_;
};

WorkPtr GlooCommunicator::start(Call call) {
  if (call.kind == CallKind::kSend || call.kind == CallKind::kRecv) {
    return call.full.numel() == 0 ? finished_work() : std::make_unique<Message>(*this, std::move(call));
  }
  // The task must not keep the buffers once its Work is done.
  return sequencer_.run(std::packaged_task<void()>([this, call = std::move(call)]() mutable {
    const Call own = std::exchange(call, {});
    const CallMeter::Beginning beginning = meter()->begin_busy();
    guard(own, [&] { collectives_.run(own); });
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
    keep_failure(job_->losses->publish(error.what()));
    job_->connections->close_all();
    throw CommError(failure());
  } catch (const c10::OutOfMemoryError& error) {
    // Of this rank, not of a connection: the others must not take each other for lost.
    keep_failure(job_->losses->publish(members_.failed_line(call, error.what_without_backtrace())));
    job_->connections->close_all();
    throw;
  } catch (const PeerFailure& error) {
    fail(call, error.what(), {members_.world_ranks[static_cast<size_t>(error.peer())]});
  } catch (const std::exception& error) {
    fail(call, error.what(), members_.needed_for(call));
  }
}

void GlooCommunicator::fail(const Call& call, const std::string& reason, std::vector<int> suspects) {
  if (members_.serves_larger) {
    keep_failure(reason);
    throw ConnectionError(reason, std::move(suspects));
  }
  job_->losses->report();
  job_->connections->close_all();
  keep_failure(job_->losses->find({.members = members_.needed_for(call),
                                   .suspects = std::move(suspects),
                                   .where = members_.where(call),
                                   .reason = reason}));
  throw CommError(failure());
}

std::unique_ptr<Communicator> GlooCommunicator::split(const std::vector<int>& members, std::string_view name) {
  barrier(kGroups);  // who is lost is seen here, and not waited for as long as for a start
  GlooMembers group{.rank = new_rank(members, name),
                    .name = std::string(name),
                    .key = fmt::format("{}/group {} {} of {}", members_.key, ++groups_, name, members.front())};
  for (const int member : members) {
    group.world_ranks.push_back(members_.world_ranks[static_cast<size_t>(member)]);
  }
  return as_split(join_gloo(job_, std::move(group), execution_));
}

GlooJob job_of(c10::intrusive_ptr<c10d::Store> store, int rank, std::shared_ptr<const HostMap> hosts,
               const CommOptions& options, uint64_t run, bool ends_store) {
  auto losses = std::make_shared<LossBoard>(store, rank, std::move(hosts), ends_store);
  return {.store = std::move(store),
          .losses = std::move(losses),
          .waits = std::make_shared<MessageWaits>(to_milliseconds(options.deadline_seconds)),
          .connections = std::make_shared<OpenConnections>(),
          .options = options,
          .run = run};
}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

std::vector<int> GlooMembers::needed_for(const Call& call) const {
  if (call.kind == CallKind::kSend || call.kind == CallKind::kRecv) {
    return {world_ranks[static_cast<size_t>(rank)], world_ranks[static_cast<size_t>(call.peer)]};
  }
  return world_ranks;
}

std::string GlooMembers::where(const Call& call) const {
  return name.empty() ? place_of(call) : fmt::format("{} of group {}", place_of(call), name);
}

std::string GlooMembers::failed_line(const Call& call, const std::string& what) const {
  return fmt::format("rank {} failed in {}: {}", world_ranks[static_cast<size_t>(rank)], where(call),
                     what.substr(0, what.find('\n')));
}

std::unique_ptr<BaseCommunicator> join_gloo(std::shared_ptr<const GlooJob> job, GlooMembers members,
                                            Execution execution) {
  return std::make_unique<GlooCommunicator>(std::move(job), std::move(members), execution);
}

std::unique_ptr<Communicator> connect_gloo(std::shared_ptr<const GlooJob> job, int rank, int size) {
  const Execution execution = job->options.execution;
  auto communicator = std::make_unique<GlooCommunicator>(
      std::move(job), GlooMembers{.rank = rank, .world_ranks = all_ranks(size), .key = "gloo"}, execution);
  communicator->verify();
  return communicator;
}

std::shared_ptr<const GlooJob> make_gloo_job(c10::intrusive_ptr<c10d::Store> store, int rank,
                                             std::shared_ptr<const HostMap> hosts, const CommOptions& options,
                                             uint64_t run) {
  return std::make_shared<GlooJob>(
      job_of(std::move(store), rank, std::move(hosts), options, run, /*ends_store=*/false));
}

std::shared_ptr<const GlooJob> make_gloo_job(const std::shared_ptr<Rendezvous>& rendezvous,
                                             std::shared_ptr<const HostMap> hosts, const CommOptions& options) {
  const RankEnvironment& environment = rendezvous->environment();
  GlooJob job =
      job_of(rendezvous->store(), environment.rank, std::move(hosts), options, rendezvous->run(), rendezvous->serves());
  job.address = own_address_towards(environment.address, environment.port);
  job.place = rendezvous;
  return std::make_shared<GlooJob>(std::move(job));
}

std::vector<std::unique_ptr<Communicator>> make_gloo_thread_group(int size, const CommOptions& options) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto hosts =
      std::make_shared<HostMap>(std::vector<HostIdentity>(static_cast<size_t>(size), {.local_world_size = size}));
  std::vector<std::unique_ptr<Communicator>> ranks(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ranks[static_cast<size_t>(rank)] = connect_gloo(make_gloo_job(store, rank, hosts, options), rank, size);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return ranks;
}

}  // namespace assay::engine
