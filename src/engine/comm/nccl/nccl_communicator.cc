#include "engine/comm/nccl/nccl_communicator.h"

#ifdef ASSAY_WITH_NCCL

#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>

#include <exception>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "base/text.h"
#include "engine/comm/base_communicator.h"

namespace assay::engine {
namespace {

using Nccl = c10d::ProcessGroupNCCL;
using NcclWork = c10::intrusive_ptr<c10d::Work>;

c10d::ReduceOp reduce_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return c10d::ReduceOp::SUM;
    case ReduceOp::kAverage:
      return c10d::ReduceOp::AVG;
    case ReduceOp::kMax:
      return c10d::ReduceOp::MAX;
  }
  return c10d::ReduceOp::SUM;
}

/// What the constructor of one rank's side of a group needs.
struct NcclSeat {
  int rank = 0;
  int size = 1;
  std::string name = "";
  c10::intrusive_ptr<c10d::Store> store = {};
  std::shared_ptr<Rendezvous> rendezvous = {};  ///< kept while its store is needed
  CommOptions options = {};
};

c10::intrusive_ptr<Nccl> make_nccl(const NcclSeat& seat) {
  auto options = Nccl::Options::create();
  options->timeout = std::chrono::milliseconds(static_cast<int64_t>(seat.options.deadline_seconds * 1000));
  return c10::make_intrusive<Nccl>(seat.store, seat.rank, seat.size, options);
}

/// A collective on NCCL's stream: wait() makes the current stream wait for it.
class StreamWork final : public Work {
 public:
  StreamWork(NcclWork work, std::string where) : work_(std::move(work)), where_(std::move(where)) {}
  StreamWork(const StreamWork&) = delete;
  StreamWork& operator=(const StreamWork&) = delete;
  ~StreamWork() override {
    try {
      wait();
    } catch (const std::exception&) {
      // Who did not wait did not want to know; the group's next call says it.
    }
  }

  void wait() override {
    if (!std::exchange(waited_, true)) {
      failure_ = failure_of_wait();
    }
    if (failure_) {
      throw CommError(fmt::format("{} failed: {}", where_, *failure_));
    }
  }

 private:
  /// c10d rethrows what its watchdog has met, of whatever type.
  std::optional<std::string> failure_of_wait() {
    try {
      work_->wait();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    } catch (const std::exception& error) {
      return error.what();
    }
    return std::nullopt;
  }

  NcclWork work_;
  std::string where_;
  bool waited_ = false;
  std::optional<std::string> failure_;
};

class NcclCommunicator final : public BaseCommunicator {
 public:
  explicit NcclCommunicator(NcclSeat seat)
      : BaseCommunicator(seat.rank, seat.size), seat_(std::move(seat)), nccl_(make_nccl(seat_)) {}

  std::string_view backend() const override { return "nccl"; }

  at::Tensor allocate(int64_t elements, at::ScalarType dtype) override {
    const auto device = c10::Device(c10::kCUDA, c10::cuda::current_device());
    return at::empty({elements}, at::TensorOptions().dtype(dtype).device(device));
  }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override {
    NcclSeat seat = seat_;
    seat.rank = new_rank(members, name);
    seat.size = static_cast<int>(members.size());
    seat.name = std::string(name);
    const std::string prefix = fmt::format("group {} {} of {}", ++groups_, name, members.front());
    seat.store = c10::make_intrusive<c10d::PrefixStore>(prefix, seat_.store);
    return as_split(std::make_unique<NcclCommunicator>(std::move(seat)));
  }

 protected:
  WorkPtr start(Call call) override {
    const std::string where = fmt::format("rank {}, in {}", rank(), place_of(call));
    try {
      return std::make_unique<StreamWork>(launch(call), where);
    } catch (const c10::Error& error) {
      throw CommError(fmt::format("{} failed: {}", where, error.what_without_backtrace()));
    }
  }

 private:
  NcclWork launch(Call& call) {
    std::vector<at::Tensor> buffers{call.full};
    switch (call.kind) {
      case CallKind::kAllGather:
        return nccl_->_allgather_base(call.full, call.shard);
      case CallKind::kReduceScatter: {
        c10d::ReduceScatterOptions options;
        options.reduceOp = reduce_op(call.op);
        return nccl_->_reduce_scatter_base(call.shard, call.full, options);
      }
      case CallKind::kAllReduce: {
        c10d::AllreduceOptions options;
        options.reduceOp = reduce_op(call.op);
        return nccl_->allreduce(buffers, options);
      }
      case CallKind::kBroadcast: {
        c10d::BroadcastOptions options;
        options.rootRank = call.peer;
        return nccl_->broadcast(buffers, options);
      }
      case CallKind::kSend:
        return nccl_->send(buffers, call.peer, 0);
      case CallKind::kRecv:
        return nccl_->recv(buffers, call.peer, 0);
      case CallKind::kBarrier:
        return nccl_->barrier();
    }
    return {};
  }

  NcclSeat seat_;
  c10::intrusive_ptr<Nccl> nccl_;
  int groups_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> connect_nccl(std::shared_ptr<Rendezvous> rendezvous, const CommOptions& options) {
  const RankEnvironment& environment = rendezvous->environment();
  rendezvous->exchange("nccl", "");
  return std::make_unique<NcclCommunicator>(NcclSeat{.rank = environment.rank,
                                                     .size = environment.world_size,
                                                     .store = rendezvous->store(),
                                                     .rendezvous = rendezvous,
                                                     .options = options});
}

}  // namespace assay::engine

#else

namespace assay::engine {

std::unique_ptr<Communicator> connect_nccl(std::shared_ptr<Rendezvous> /*rendezvous*/, const CommOptions& /*options*/) {
  throw CommError("this build has no NCCL: build against a CUDA libtorch with NCCL's headers, or use shm or gloo");
}

}  // namespace assay::engine

#endif
