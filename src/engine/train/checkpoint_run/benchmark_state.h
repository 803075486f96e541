// What a checkpoint benchmark saves and loads: the parts of it that know a format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/comm/communicator.h"
#include "engine/comm/rank_environment.h"
#include "job/checkpoint_plan.h"
#include "job/event.h"
#include "storage/transfer/observer.h"

namespace assay::engine {

/// All ranks make the same calls. Not safe to use from two threads. Throws StatusError and CommError.
class BenchmarkState {
 public:
  virtual ~BenchmarkState() = default;

  /// Of all ranks' tensors.
  virtual int64_t bytes() const = 0;
  /// Makes the state that of training step `step`; nothing where no training is part of the benchmark.
  virtual std::optional<job::Step> advance(int64_t step) = 0;
  /// Saves the state as the checkpoint of `step`. Returns when that is published: the seconds that a training would
  /// have waited.
  virtual double save(int64_t step) = 0;
  /// Where those that it is held against are given the memory to load into, takes it, and touches all of it.
  virtual void prepare_load() = 0;
  virtual void load(int64_t step) = 0;
  /// Throws where what was loaded is not, to the bit, what was saved; the memory for it is given back.
  virtual void verify() = 0;
  /// Nothing where there is none.
  virtual void remove(int64_t step) = 0;
};

/// Of format "dcp". `plan` and `world` (null: there is one rank) outlive it; `observer` sees its requests.
std::unique_ptr<BenchmarkState> make_sharded_state(const job::CheckpointPlan& plan, Communicator* world,
                                                   std::shared_ptr<storage::RequestObserver> observer);
/// Of format "ckpt".
std::unique_ptr<BenchmarkState> make_single_file_state(const job::CheckpointPlan& plan,
                                                       std::shared_ptr<storage::RequestObserver> observer);

}  // namespace assay::engine
