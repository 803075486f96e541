#include "engine/train/pipeline.h"

#include <utility>

#include "engine/shard/pipeline_schedule.h"

namespace assay::engine {

at::Tensor Pipeline::receive(Communicator& group, int64_t images, int from, std::string_view what) {
  const VitConfig& config = model_.config();
  const at::Tensor flat = group.allocate(images * config.tokens() * config.hidden_size, model_.residual_dtype());
  group.recv(flat, from, what)->wait();
  return flat.view({-1, config.hidden_size});
}

/// A message that its receiver did not take yet holds its buffer. By the order of turns the receiver has taken all but
/// as many as there are stages, so that waiting for the one before those costs nothing.
void Pipeline::send(Communicator& group, const at::Tensor& tensor, int to, std::string_view what,
                    std::deque<WorkPtr>& under_way) {
  if (static_cast<int64_t>(under_way.size()) >= stages()) {
    under_way.front()->wait();
    under_way.pop_front();
  }
  under_way.push_back(group.send(tensor.detach().contiguous().view(-1), to, what));
}

void Pipeline::wait_for_sends() {
  for (std::deque<WorkPtr>* under_way : {&sent_activations_, &sent_gradients_}) {
    for (const WorkPtr& work : *under_way) {
      work->wait();
    }
    under_way->clear();
  }
}

void Pipeline::run_forward(const ImageBatch& batch, int64_t micro_batches, int64_t images) {
  const auto stage = static_cast<int>(this->stage());
  InFlight micro;
  if (!model_.begins_model()) {
    micro.input = receive(*stages_, images, stage - 1, "activations").requires_grad_();
  }
  micro.output = model_.forward(model_.begins_model() ? batch.pixels_BCHW : micro.input);
  if (model_.ends_model()) {
    const at::Tensor loss = Vit::loss_of(micro.output, batch.labels_B);
    loss_sum_ += loss.item<double>();
    micro.output = loss / static_cast<double>(micro_batches);
  } else {
    send(*stages_, micro.output, stage + 1, "activations", sent_activations_);
  }
  in_flight_.push_back(std::move(micro));
}

void Pipeline::run_backward(ShardEngine& engine, int64_t images, bool last, bool no_sync) {
  const auto stage = static_cast<int>(this->stage());
  const InFlight micro = std::move(in_flight_.front());
  in_flight_.pop_front();
  if (model_.ends_model()) {
    engine.backward(micro.output, last, no_sync);
  } else {
    engine.backward_from(micro.output, receive(*back_, images, stage + 1, "gradients of activations"), last, no_sync);
  }
  if (!model_.begins_model()) {
    send(*back_, micro.input.grad(), stage - 1, "gradients of activations", sent_gradients_);
  }
}

double Pipeline::train(ShardEngine& engine, const BatchSource& batch_of, int64_t micro_batches, int64_t images,
                       bool no_sync, PhaseMeter& meter, StepUse& use) {
  loss_sum_ = 0;
  for (const PipelineTurn& turn : one_forward_one_backward(stage(), stages(), micro_batches)) {
    if (turn.kind == PipelineTurn::Kind::kForward) {
      const ImageBatch batch = batch_of(turn.micro_batch);
      meter.measure("forward", use.forward, [&] { run_forward(batch, micro_batches, images); });
    } else {
      const bool last = turn.micro_batch + 1 == micro_batches;
      meter.measure("backward", use.backward, [&] { run_backward(engine, images, last, no_sync); });
    }
  }
  wait_for_sends();
  return loss_sum_ / static_cast<double>(micro_batches);
}

at::Tensor Pipeline::logits(const at::Tensor& pixels_BCHW, int64_t images) {
  const auto stage = static_cast<int>(this->stage());
  const at::Tensor output =
      model_.forward(model_.begins_model() ? pixels_BCHW : receive(*stages_, images, stage - 1, "activations"));
  if (model_.ends_model()) {
    return output;
  }
  send(*stages_, output, stage + 1, "activations", sent_activations_);
  wait_for_sends();
  return {};
}

}  // namespace assay::engine
