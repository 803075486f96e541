// What the tests of this module share.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/checkpoint/run_folder.h"
#include "engine/shard/patient_work.h"

namespace assay::engine::testing {

class TestWork : public WorkTogether {
 public:
  TestWork(Communicator* world, std::string what, std::function<void()> work)
      : work_(world, c10::kCPU, std::move(what), std::move(work)) {}

  bool meet(std::chrono::milliseconds pause) override {
    if (!work_.meet(pause)) {
      return false;
    }
    if (work_.error() != nullptr) {
      std::rethrow_exception(work_.error());
    }
    if (!work_.is_done()) {
      throw CommError("another rank failed");
    }
    return true;
  }

 private:
  PatientWork work_;
};

/// The ranks of `world`; null: one.
inline CheckpointRanks ranks_of(Communicator* world) {
  return {.world = world, .start = [world](std::string what, MostWork, bool, std::function<void()> work) {
            return std::make_unique<TestWork>(world, std::move(what), std::move(work));
          }};
}

}  // namespace assay::engine::testing
