// Work of checkpoints on every rank, beside what the ranks do.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>
#include <utility>

#include "engine/checkpoint/run_folder.h"
#include "engine/shard/patient_work.h"
#include "engine/train/rank_agreement.h"

namespace assay::engine {

/// PatientWork that throws as do_on_all_ranks() does.
class SharedWork : public WorkTogether {
 public:
  SharedWork(Communicator* world, c10::Device device, const std::string& what, std::function<void()> work,
             Patience patience)
      : world_(world), what_(what), work_(world, device, what, std::move(work), std::move(patience)) {}

  bool meet(std::chrono::milliseconds pause) override {
    const bool is_over = work_.meet(pause);
    if (is_over) {
      throw_unless_done(work_, world_, what_);
    }
    return is_over;
  }

 private:
  Communicator* world_;
  std::string what_;
  PatientWork work_;
};

}  // namespace assay::engine
