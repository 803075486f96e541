#include "engine/train/pipeline.h"

#include <utility>

#include "engine/shard/pipeline_schedule.h"

namespace assay::engine {

at::Tensor Pipeline::receive(Communicator& group, int64_t tokens, int64_t from, std::string_view what) {
  const at::Tensor flat = group.allocate(tokens * stage_.hidden, stage_.dtype);
  group.recv(flat, static_cast<int>(from), what)->wait();
  return flat.view({tokens, stage_.hidden});
}

/// A message that its receiver did not take yet holds its buffer. Before a stage sends again, what it has received
/// tells that the receiver has taken all but the last: waiting for the one before that costs nothing.
void Pipeline::send(Communicator& group, const at::Tensor& tensor, int64_t to, std::string_view what,
                    std::deque<WorkPtr>& under_way) {
  constexpr size_t kUnderWay = 2;
  if (under_way.size() >= kUnderWay) {
    under_way.front()->wait();
    under_way.pop_front();
  }
  under_way.push_back(group.send(tensor.detach().contiguous().view(-1), static_cast<int>(to), what));
}

void Pipeline::wait_for_sends() {
  for (std::deque<WorkPtr>* under_way : {&sent_activations_, &sent_gradients_}) {
    for (const WorkPtr& work : *under_way) {
      work->wait();
    }
    under_way->clear();
  }
}

void Pipeline::run_forward(const PipelineWork& work, int64_t micro_batch) {
  InFlight micro;
  if (!stage_.begins_model) {
    micro.input = receive(*stage_.ranks, work.tokens(micro_batch), stage() - 1, "activations").requires_grad_();
  }
  micro.output = work.forward(micro_batch, micro.input);
  if (!stage_.ends_model) {
    send(*stage_.ranks, micro.output, stage() + 1, "activations", sent_activations_);
  }
  in_flight_.push_back(std::move(micro));
}

void Pipeline::run_backward(const PipelineWork& work, int64_t micro_batch) {
  const InFlight micro = std::move(in_flight_.front());
  in_flight_.pop_front();
  at::Tensor gradient;
  if (!stage_.ends_model) {
    gradient = receive(*stage_.back, work.tokens(micro_batch), stage() + 1, "gradients of activations");
  }
  work.backward(micro_batch, micro.output, gradient);
  if (!stage_.begins_model) {
    send(*stage_.back, micro.input.grad(), stage() - 1, "gradients of activations", sent_gradients_);
  }
}

void Pipeline::train(const PipelineWork& work, PhaseMeter& meter, StepUse& use) {
  for (const PipelineTurn& turn : one_forward_one_backward(stage(), stages(), work.micro_batches)) {
    const int64_t micro = turn.micro_batch;
    if (turn.kind == PipelineTurn::Kind::kBackward) {
      meter.measure_ahead("backward", use.backward, [&] { run_backward(work, micro); });
      continue;
    }
    if (work.load) {
      work.load(micro);
    }
    meter.measure_ahead("forward", use.forward, [&] { run_forward(work, micro); });
  }
  wait_for_sends();
}

at::Tensor Pipeline::forward(int64_t tokens, const std::function<at::Tensor(const at::Tensor& input)>& pass) {
  const at::Tensor output =
      pass(stage_.begins_model ? at::Tensor() : receive(*stage_.ranks, tokens, stage() - 1, "activations"));
  if (stage_.ends_model) {
    return output;
  }
  send(*stage_.ranks, output, stage() + 1, "activations", sent_activations_);
  wait_for_sends();
  return {};
}

}  // namespace assay::engine
