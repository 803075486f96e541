// The training of a vision transformer on images, and its evaluation.
#pragma once

#include <vector>

#include "engine/train/event_writer.h"
#include "engine/train/task.h"
#include "engine/train/vit_session.h"

namespace assay::engine {

/// A data rank's part of a batch goes through the stages of its pipeline; the loss is the mean over all images. Writes
/// an event for each evaluation.
class VitTask : public Task {
 public:
  /// All outlive this.
  VitTask(const job::VitPlan& plan, VitSession& session, EventWriter& events, c10::Device device)
      : plan_(plan), session_(session), events_(events), device_(device) {}

  TaskStep train(int64_t step, Updater& updater, PhaseMeter& meter, StepUse& use, job::Step& event) override;
  ReadAhead* read_ahead() override { return session_.batches->read_ahead(); }
  std::optional<double> step_over(int64_t step, int64_t counted, bool last, PhaseMeter& meter) override;

 private:
  ImageBatch batch_of(int64_t step, int64_t micro, PhaseMeter& meter, StepUse& use);
  bool counts();
  void evaluate(int64_t epoch, int64_t step, PhaseMeter& meter);
  void add_batch(int64_t begin, int64_t end, std::vector<double>& totals);

  const job::VitPlan& plan_;
  VitSession& session_;
  EventWriter& events_;
  c10::Device device_;
};

}  // namespace assay::engine
