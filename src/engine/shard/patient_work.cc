#include "engine/shard/patient_work.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>

namespace assay::engine {
namespace {

constexpr std::chrono::milliseconds kFirstPause(10);
constexpr std::chrono::milliseconds kLongestPause(50);

/// How far a rank is; all ranks are as far as the one with the largest number.
enum class Progress { kDone = 0, kBusy = 1, kFailed = 2 };

Progress agree(const ShardContext& context, Progress own) {
  const at::Tensor progress = at::full({1}, static_cast<double>(own), at::kDouble).to(context.device);
  for (Communicator* group : {context.groups.shard, context.groups.replicate}) {
    if (group != nullptr && group->size() > 1) {
      group->all_reduce(progress, ReduceOp::kMax, "progress of all ranks' work")->wait();
    }
  }
  return static_cast<Progress>(progress.item<double>());
}

Progress progress_after(std::future<std::exception_ptr>& work, std::chrono::milliseconds pause,
                        std::exception_ptr& error) {
  if (work.valid() && work.wait_for(pause) != std::future_status::ready) {
    return Progress::kBusy;
  }
  if (work.valid()) {
    error = work.get();
  }
  return error == nullptr ? Progress::kDone : Progress::kFailed;
}

}  // namespace

void run_patiently(const ShardContext& context, const std::function<void()>& work) {
  std::exception_ptr error;
  std::future<std::exception_ptr> running = std::async(std::launch::async, [&work]() -> std::exception_ptr {
    try {
      work();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  });
  Progress all = Progress::kBusy;
  for (auto pause = kFirstPause; all == Progress::kBusy; pause = std::min(2 * pause, kLongestPause)) {
    all = agree(context, progress_after(running, pause, error));
  }
  if (error != nullptr) {
    std::rethrow_exception(error);
  }
  if (all == Progress::kFailed) {
    throw CommError("another rank could not do its part of what all wait for: its own line says why");
  }
}

}  // namespace assay::engine
