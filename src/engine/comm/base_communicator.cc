#include "engine/comm/base_communicator.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace assay::engine {
namespace {

class FinishedWork final : public Work {
 public:
  void wait() override {}
};

/// Counts the time that callers spend in wait().
class MeteredWork final : public Work {
 public:
  MeteredWork(WorkPtr work, CallName call, std::shared_ptr<CallMeter> meter)
      : work_(std::move(work)), call_(std::move(call)), meter_(std::move(meter)) {}

  void wait() override {
    meter_->expose(call_, [this] { work_->wait(); });
  }

 private:
  WorkPtr work_;
  CallName call_;
  std::shared_ptr<CallMeter> meter_;
};

void check_buffer(const at::Tensor& buffer, const Call& call) {
  TORCH_CHECK(buffer.defined() && buffer.dim() == 1 && buffer.is_contiguous(), to_string(call.kind), " of ", call.label,
              ": a buffer must be a contiguous tensor of one dimension");
  const at::ScalarType dtype = buffer.scalar_type();
  TORCH_CHECK(dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf || dtype == at::kDouble ||
                  (dtype == at::kByte && !call.reduces()),
              to_string(call.kind), " of ", call.label, ": ", dtype, " is not supported",
              call.reduces() ? " (float32, bfloat16, float16, float64)" : "");
}

void check_shard(const Call& call, int size) {
  check_buffer(call.full, call);
  check_buffer(call.shard, call);
  TORCH_CHECK(call.full.scalar_type() == call.shard.scalar_type(), to_string(call.kind), " of ", call.label,
              ": the shard is of ", call.shard.scalar_type(), ", the whole of ", call.full.scalar_type());
  TORCH_CHECK(call.full.numel() == call.shard.numel() * size, to_string(call.kind), " of ", call.label, ": ", size,
              " shards of ", call.shard.numel(), " elements do not make a whole of ", call.full.numel());
}

}  // namespace

WorkPtr finished_work() {
  return std::make_unique<FinishedWork>();
}

BaseCommunicator::BaseCommunicator(int rank, int size)
    : rank_(rank), size_(size), sent_(static_cast<size_t>(size)), received_(static_cast<size_t>(size)) {
  TORCH_CHECK(size >= 1 && rank >= 0 && rank < size, "rank ", rank, " is not one of ", size, " ranks");
}

at::Tensor BaseCommunicator::allocate(int64_t elements, at::ScalarType dtype) {
  return at::empty({elements}, at::TensorOptions().dtype(dtype));
}

WorkPtr BaseCommunicator::begin(Call call) {
  const CallKind kind = call.kind;
  const bool message = kind == CallKind::kSend || kind == CallKind::kRecv;
  if (message) {
    auto& numbers = kind == CallKind::kSend ? sent_ : received_;
    call.number = ++numbers[static_cast<size_t>(call.peer)];
  } else {
    call.number = ++collectives_;
    call.step_of = step_of_;
  }
  meter_->add_call(call);
  CallName name{kind, call.label, call.bytes()};
  // A collective that runs on the calling thread is done, and paid for, when start() returns.
  WorkPtr work;
  meter_->expose(name, [&] { work = start(std::move(call)); });
  return std::make_unique<MeteredWork>(std::move(work), std::move(name), meter_);
}

void BaseCommunicator::check_peer(int peer, const Call& call) const {
  TORCH_CHECK(peer >= 0 && peer < size_, to_string(call.kind), " of ", call.label, ": rank ", peer, " is not one of ",
              size_, " ranks");
}

int BaseCommunicator::new_rank(const std::vector<int>& members, std::string_view name) const {
  TORCH_CHECK(!members.empty() && members.front() >= 0 && members.back() < size_ &&
                  std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) == members.end(),
              "group ", name, ": members must be different ranks below ", size_, ", in ascending order");
  const auto self = std::find(members.begin(), members.end(), rank_);
  TORCH_CHECK(self != members.end(), "group ", name, ": rank ", rank_, " is not among its members");
  return static_cast<int>(self - members.begin());
}

WorkPtr BaseCommunicator::all_gather(const at::Tensor& full, const at::Tensor& shard, std::string_view label) {
  Call call{.kind = CallKind::kAllGather, .full = full, .shard = shard, .label = std::string(label)};
  check_shard(call, size_);
  return begin(std::move(call));
}

WorkPtr BaseCommunicator::reduce_scatter(const at::Tensor& shard, const at::Tensor& full, ReduceOp op,
                                         std::string_view label) {
  Call call{.kind = CallKind::kReduceScatter, .op = op, .full = full, .shard = shard, .label = std::string(label)};
  check_shard(call, size_);
  return begin(std::move(call));
}

WorkPtr BaseCommunicator::all_reduce(const at::Tensor& buffer, ReduceOp op, std::string_view label) {
  Call call{.kind = CallKind::kAllReduce, .op = op, .full = buffer, .label = std::string(label)};
  check_buffer(buffer, call);
  return begin(std::move(call));
}

WorkPtr BaseCommunicator::broadcast(const at::Tensor& buffer, int root, std::string_view label) {
  Call call{.kind = CallKind::kBroadcast, .full = buffer, .peer = root, .label = std::string(label)};
  check_buffer(buffer, call);
  check_peer(root, call);
  return begin(std::move(call));
}

WorkPtr BaseCommunicator::send(const at::Tensor& buffer, int to, std::string_view label) {
  Call call{.kind = CallKind::kSend, .full = buffer, .peer = to, .label = std::string(label)};
  check_buffer(buffer, call);
  check_peer(to, call);
  TORCH_CHECK(to != rank_, "send of ", label, ": rank ", rank_, " sends to itself");
  return begin(std::move(call));
}

WorkPtr BaseCommunicator::recv(const at::Tensor& buffer, int from, std::string_view label) {
  Call call{.kind = CallKind::kRecv, .full = buffer, .peer = from, .label = std::string(label)};
  check_buffer(buffer, call);
  check_peer(from, call);
  TORCH_CHECK(from != rank_, "recv of ", label, ": rank ", rank_, " receives from itself");
  return begin(std::move(call));
}

void BaseCommunicator::barrier(std::string_view label) {
  begin({.kind = CallKind::kBarrier, .label = std::string(label)})->wait();
}

}  // namespace assay::engine
