#include "engine/train/vit_pipeline.h"

namespace assay::engine {

VitPipeline::VitPipeline(Vit& model, Communicator* stages, Communicator* back)
    : model_(model),
      pipeline_({.begins_model = model.begins_model(),
                 .ends_model = model.ends_model(),
                 .hidden = model.config().hidden_size,
                 .dtype = model.residual_dtype(),
                 .ranks = stages,
                 .back = back}) {}

std::vector<at::Tensor> VitPipeline::train(Updater& updater, const BatchSource& batch_of, int64_t micro_batches,
                                           int64_t images, PhaseMeter& meter, StepUse& use) {
  const double factor = updater.loss_scale() / static_cast<double>(micro_batches * updater.data_ranks());
  ImageBatch batch;
  std::vector<at::Tensor> losses;
  const PipelineWork work{
      .micro_batches = micro_batches,
      .load = [&](int64_t micro) { batch = batch_of(micro); },
      .tokens = [&](int64_t) { return images * model_.config().tokens(); },
      .forward =
          [&](int64_t, const at::Tensor& input) {
            const at::Tensor output = model_.forward(model_.begins_model() ? batch.pixels_BCHW : input);
            if (!model_.ends_model()) {
              return output;
            }
            at::Tensor loss = Vit::loss_of(output, batch.labels_B);
            losses.push_back(loss.detach());
            return loss;
          },
      .backward =
          [&](int64_t micro, const at::Tensor& output, const at::Tensor& gradient) {
            const bool last = micro + 1 == micro_batches;
            gradient.defined() ? updater.backward_from(output, gradient, last) : updater.backward(output, factor, last);
          }};
  pipeline_.train(work, meter, use);
  return losses;
}

at::Tensor VitPipeline::logits(const at::Tensor& pixels_BCHW, int64_t images) {
  return pipeline_.forward(images * model_.config().tokens(), [&](const at::Tensor& input) {
    return model_.forward(model_.begins_model() ? pixels_BCHW : input);
  });
}

}  // namespace assay::engine
