#include "launch/batch_queue.h"

#include <chrono>

#include "base/text.h"

namespace assay::launch {

void BatchLook::Begin(BatchQueue& queue, const std::string& job) {
  if (!under_way_.valid()) {
    under_way_ = std::async(std::launch::async, [&queue, job] {
      const double start = MonotonicSeconds();
      Result<BatchState> state = queue.Look(job);
      return Answer{std::move(state), MonotonicSeconds() - start};
    });
  }
}

std::optional<BatchLook::Answer> BatchLook::Take() {
  if (!under_way_.valid() || under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return std::nullopt;
  }
  return under_way_.get();
}

}  // namespace assay::launch
